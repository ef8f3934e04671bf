package lint

import (
	"fmt"
	"strings"

	"pannier"
)

// maxNamed bounds how many other skills a problem names.
const maxNamed = 3

// reportShared adds a problem to each skill whose slug another one has too: only one of them can be used. Outside of a workspace
// that is for information, because nothing says that all of them are used together.
func (a *auditor) reportShared(skills []Skill) {
	bySlug := map[string][]int{}
	for i := range skills {
		if skills[i].read != nil {
			bySlug[skills[i].Slug] = append(bySlug[skills[i].Slug], i)
		}
	}
	severity := pannier.SeverityInfo
	if a.inWorkspace() {
		severity = pannier.SeverityWarning
	}
	for i := range skills {
		s := &skills[i]
		sharing := bySlug[s.Slug]
		if s.read == nil || len(sharing) < 2 {
			continue
		}
		var others []string
		for _, other := range sharing[:min(len(sharing), maxNamed+1)] {
			if other != i && len(others) < maxNamed {
				others = append(others, skills[other].Path)
			}
		}
		named := strings.Join(others, ", ")
		if more := len(sharing) - 1 - len(others); more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		s.Problems = append(s.Problems, pannier.Problem{
			Code: "audit.slug_shared", Severity: severity, Path: s.read.FilePath(), Field: "slug",
			Message: fmt.Sprintf("the slug %q is also that of %s; only one of them can be used in a workspace", s.Slug, named),
			Hint:    "rename one of the folders, or give one another `slug:`",
		})
	}
}
