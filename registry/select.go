package registry

import (
	"fmt"
	"math"

	"pannier"
)

// unranked is the rank of a skill that config.yaml does not list.
const unranked = math.MaxInt

// choice is a skill with its place in the list of config.yaml, or unranked. Without a list every skill is selected, and
// all ranks are 0.
type choice struct {
	skill *pannier.Skill
	rank  int
}

// choose matches the list of config.yaml, entry by entry, to the paths below the roots and, where none is called so, to
// the folders. A skill that several entries match has the place of the first. An entry that matches nothing is a
// problem and no more.
func choose(skills []*pannier.Skill, w pannier.Workspace) (choices []choice, missing []pannier.Problem) {
	choices = make([]choice, len(skills))
	for i, skill := range skills {
		choices[i].skill = skill
	}
	if !w.Listed {
		return choices, nil
	}
	places := make(map[string]int, len(w.Skills))
	for i := len(w.Skills) - 1; i >= 0; i-- {
		places[w.Skills[i]] = i
	}
	isPath, matched := make([]bool, len(w.Skills)), make([]bool, len(w.Skills))
	for i, skill := range skills {
		choices[i].rank = unranked
		if place, ok := places[skill.PathBelowRoot]; ok {
			choices[i].rank, isPath[place], matched[place] = place, true, true
		}
	}
	for i, skill := range skills {
		if place, ok := places[skill.Folder]; ok && !isPath[place] {
			choices[i].rank, matched[place] = min(choices[i].rank, place), true
		}
	}
	for i, name := range w.Skills {
		if !matched[i] && places[name] == i {
			missing = append(missing, pannier.Problem{
				Code: "config.skill_missing", Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Field: "skills",
				Message: fmt.Sprintf("the list under skills names %q, and there is no such folder below a root", name),
				Hint:    "add the skill's folder, or remove the entry; it is found without a restart",
			})
		}
	}
	return choices, missing
}
