package registry

import (
	"fmt"
	"math"

	"pannier"
)

// unranked is the rank of a skill that config.yaml does not list.
const unranked = math.MaxInt

// selection says which skills config.yaml selects, and in which order.
type selection struct {
	listed   bool
	ranks    map[*pannier.Skill]int
	problems []pannier.Problem
}

// rank returns the place of a skill in the list, or unranked. Without a list every skill is selected.
func (s selection) rank(skill *pannier.Skill) int {
	if !s.listed {
		return 0
	}
	if rank, ok := s.ranks[skill]; ok {
		return rank
	}
	return unranked
}

// selectSkills matches the list of config.yaml, entry by entry, to the paths below the roots and, where none is called
// so, to the folders. An entry that matches nothing is a problem and no more.
func selectSkills(skills []*pannier.Skill, w pannier.Workspace) selection {
	if !w.Listed {
		return selection{}
	}
	byPath, byFolder := map[string][]*pannier.Skill{}, map[string][]*pannier.Skill{}
	for _, s := range skills {
		byPath[s.PathBelowRoot] = append(byPath[s.PathBelowRoot], s)
		byFolder[s.Folder] = append(byFolder[s.Folder], s)
	}
	sel := selection{listed: true, ranks: make(map[*pannier.Skill]int, len(w.Skills))}
	for i, name := range w.Skills {
		matches := byPath[name]
		if len(matches) == 0 {
			matches = byFolder[name]
		}
		if len(matches) == 0 {
			sel.problems = append(sel.problems, notThere(name))
		}
		for _, skill := range matches {
			if _, ok := sel.ranks[skill]; !ok {
				sel.ranks[skill] = i
			}
		}
	}
	return sel
}

func notThere(name string) pannier.Problem {
	return pannier.Problem{
		Code: "config.skill_missing", Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Field: "skills",
		Message: fmt.Sprintf("the list under skills names %q, and there is no such folder below a root", name),
		Hint:    "add the skill's folder, or remove the entry; it is found without a restart",
	}
}
