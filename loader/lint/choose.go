package lint

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/yamldoc"
)

// unlisted is the rank of a skill that config.yaml does not list.
const unlisted = math.MaxInt

// choose returns what is to be judged: the skills that config.yaml lists, in its order, one for each entry that no skill
// fits, and the other skills by path.
func (a *auditor) choose(found []*pannier.Skill) []Skill {
	if a.Only != "" {
		found = slices.DeleteFunc(slices.Clone(found), func(s *pannier.Skill) bool { return s.PathBelowRoot != a.Only })
	}
	ranks, missing := rank(found, a.Workspace)
	type ranked struct {
		rank int
		Skill
	}
	var all []ranked
	for i, s := range found {
		all = append(all, ranked{ranks[i], Skill{Slug: s.Slug, Path: s.Path, Listed: ranks[i] != unlisted, read: s}})
	}
	var places map[string]place
	if len(missing) > 0 {
		places = entryPlaces(a.Rules.Workspace)
	}
	for _, i := range missing {
		all = append(all, ranked{i, a.absent(a.Workspace.Skills[i], places)})
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	skills := make([]Skill, len(all))
	for i := range all {
		skills[i] = all[i].Skill
	}
	return skills
}

// rank returns the place of each skill in the list of config.yaml, and which entries of it no skill fits. An entry is
// compared to the paths below the roots and, where no skill lies there, to the folders. Without a list all skills have
// the same place.
func rank(skills []*pannier.Skill, w pannier.Workspace) (ranks []int, missing []int) {
	ranks = make([]int, len(skills))
	if !w.Listed {
		return ranks, nil
	}
	for i := range ranks {
		ranks[i] = unlisted
	}
	for place, entry := range w.Skills {
		fits := func(name func(*pannier.Skill) string) (any bool) {
			for i, s := range skills {
				if name(s) == entry {
					ranks[i], any = min(ranks[i], place), true
				}
			}
			return any
		}
		if !fits(func(s *pannier.Skill) string { return s.PathBelowRoot }) && !fits(func(s *pannier.Skill) string { return s.Folder }) {
			missing = append(missing, place)
		}
	}
	return ranks, missing
}

// absent is the skill that an entry of config.yaml asks for, and that is not there.
func (a *auditor) absent(entry string, places map[string]place) Skill {
	slug := cmp.Or(pannier.Slugify(path.Base(entry)), pannier.FallbackSlug(entry))
	dir := entry
	if len(a.Rules.Roots) > 0 {
		dir = path.Join(a.Rules.Roots[0].Name, entry)
	}
	at := places[entry]
	return Skill{Slug: slug, Path: dir, Listed: true, Problems: []pannier.Problem{{
		Code: "audit.skill_missing", Severity: pannier.SeverityError, Path: pannier.WorkspaceFile, Line: at.line, Column: at.column, Field: "skills",
		Message: fmt.Sprintf("config.yaml lists %q, which has no SKILL.md", entry),
		Hint:    "add " + path.Join(dir, pannier.SkillFile) + ", or remove the entry",
	}}}
}

type place struct{ line, column int }

// maxConfigBytes is more than anybody writes into a config.yaml by hand.
const maxConfigBytes = 1 << 20

// entryPlaces returns where each entry of the list under `skills` stands in config.yaml, as far as that can be told: a
// problem without a line is still a problem.
func entryPlaces(workspace string) map[string]place {
	places := map[string]place{}
	text, _, err := fsx.ReadRegular(path.Join(workspace, pannier.WorkspaceFile), 0, maxConfigBytes)
	if err != nil {
		return places
	}
	doc, _, err := yamldoc.Parse(text)
	if err != nil {
		return places
	}
	for item := range doc.Get("skills").Items() {
		v := item
		if item.Kind() == yamldoc.Map {
			v = item.Get("name")
		}
		entry, _ := v.Text()
		entry = path.Clean(strings.TrimSpace(entry))
		if _, again := places[entry]; !again {
			places[entry] = place{v.Line(), v.Column()}
		}
	}
	return places
}
