package loader

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"pannier"
)

// grace is what keeps a skill that has vanished from one root in the catalog for a while, because most of what vanishes is
// back a moment later: editors save by renames, deployments by removing and making anew, and volumes by swaps.
//
// It knows skills by their paths alone and lies between what the scans find and what the catalog shows, so that the scans
// themselves know nothing of it.
type grace struct {
	length time.Duration
	served bool // there was a catalog
	// shown is what the last catalog had of the root, but for what is held, by path. held are those that have vanished since.
	shown []*pannier.Skill
	held  map[string]vanished
}

// vanished is a skill that is gone from the disk.
type vanished struct {
	skill *pannier.Skill // as it was
	shown *pannier.Skill // as the catalog has it meanwhile
	since time.Time      // when the scan began that did not find it
}

// serve appends the skills of the tree to those of a catalog: what the scans have found, and what is in its grace. ownChanges are
// the directories that pannier itself has changed.
func (t *tree) serve(skills []*pannier.Skill, ownChanges []string) []*pannier.Skill {
	if t.unstable && t.grace.served {
		return t.grace.appendTo(skills, t.grace.shown)
	}
	from := len(skills)
	skills = t.appendSkills(skills)
	found := skills[from:]
	t.hold(found)
	if len(t.grace.held) != 0 {
		arrived := t.arrived(found)
		maps.DeleteFunc(t.grace.held, func(rel string, v vanished) bool {
			_, back := slices.BinarySearchFunc(found, rel, func(s *pannier.Skill, rel string) int { return strings.Compare(s.PathBelowRoot, rel) })
			_, moved := arrived[v.skill.Slug]
			return back || moved || t.removedByPannier(rel, ownChanges) || t.grace.over(v, t.began)
		})
	}
	if t.grace.served = true; !slices.Equal(t.grace.shown, found) {
		t.grace.shown = slices.Clone(found)
	}
	if len(t.grace.held) == 0 {
		return skills
	}
	return t.grace.appendTo(skills[:from], t.grace.shown)
}

// hold takes over what the catalog showed and this scan has not found.
func (t *tree) hold(found []*pannier.Skill) {
	i := 0
	for _, s := range t.grace.shown {
		for i < len(found) && found[i] != s && found[i].PathBelowRoot < s.PathBelowRoot {
			i++
		}
		if i < len(found) && (found[i] == s || found[i].PathBelowRoot == s.PathBelowRoot) {
			i++
			continue
		}
		if t.grace.held == nil {
			t.grace.held = make(map[string]vanished)
		}
		t.grace.held[s.PathBelowRoot] = vanished{skill: s, shown: deleting(s), since: t.began}
	}
}

// deleting returns a skill that is gone from the disk as the catalog has it meanwhile. Its Sum stays: it is the same skill, and
// whatever blocks it still does.
func deleting(gone *pannier.Skill) *pannier.Skill {
	s := *gone
	s.Deleting = true
	return &s
}

// arrived returns the slugs of the skills that lie where none was shown before. One that was there all the time, in the
// shadow of another with its slug, has not moved. Both lists are ordered by path.
func (t *tree) arrived(found []*pannier.Skill) map[string]struct{} {
	slugs := map[string]struct{}{}
	before := t.grace.shown
	for _, s := range found {
		for len(before) > 0 && before[0] != s && before[0].PathBelowRoot < s.PathBelowRoot {
			before = before[1:]
		}
		if len(before) == 0 || before[0] != s && before[0].PathBelowRoot != s.PathBelowRoot {
			slugs[s.Slug] = struct{}{}
		}
	}
	return slugs
}

// removedByPannier reports whether pannier itself removed what lay at a path: ownChanges has the directory or the one that holds it. The
// root itself does not count, because pannier changes it for every skill in it.
func (t *tree) removedByPannier(rel string, ownChanges []string) bool {
	dir := path.Join(t.root.Path, rel)
	around := path.Dir(dir)
	return slices.Contains(ownChanges, dir) || around != t.root.Path && slices.Contains(ownChanges, around)
}

// over reports whether the grace of a skill has ended when a scan began.
func (g *grace) over(v vanished, began time.Time) bool { return !began.Before(v.since.Add(g.length)) }

// appendTo appends found skills and those that are held, by path.
func (g *grace) appendTo(skills, found []*pannier.Skill) []*pannier.Skill {
	from := len(skills)
	skills = append(slices.Grow(skills, len(found)+len(g.held)), found...)
	for rel, v := range g.held {
		at, _ := slices.BinarySearchFunc(skills[from:], rel, func(s *pannier.Skill, rel string) int { return strings.Compare(s.PathBelowRoot, rel) })
		skills = slices.Insert(skills, from+at, v.shown)
	}
	return skills
}

// lastKnown returns the skill at a path as it was when it vanished, where it is held and could be used, or nil.
func (t *tree) lastKnown(rel string) *pannier.Skill {
	if v, ok := t.grace.held[rel]; ok && !v.skill.Broken {
		return v.skill
	}
	return nil
}

// unstablePause is how long after a scan of a root that did not hold still the next one is due at the latest.
const unstablePause = 100 * time.Millisecond

// revisit returns when the tree is to be scanned again although nothing has changed; zero is never.
func (t *tree) revisit() (at time.Time) {
	if t.unstable {
		at = t.began.Add(unstablePause)
	}
	for _, v := range t.grace.held {
		if due := v.since.Add(t.grace.length); at.IsZero() || due.Before(at) {
			at = due
		}
	}
	return at
}

// appendSkills appends the skills of the tree, ordered by path in bytes.
func (t *tree) appendSkills(skills []*pannier.Skill) []*pannier.Skill {
	from := len(skills)
	skills = t.top.appendSkills(skills)
	own := skills[from:]
	byPath := func(a, b *pannier.Skill) int { return strings.Compare(a.PathBelowRoot, b.PathBelowRoot) }
	if !slices.IsSortedFunc(own, byPath) {
		slices.SortFunc(own, byPath)
	}
	return skills
}
