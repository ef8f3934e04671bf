package lint

import (
	"slices"
	"strings"

	"pannier/loader/fields"

	"pannier"
)

// codeConflict is the rule for what one profile asks for and another forbids.
const codeConflict = "audit.profile_conflict"

// readersOf names the profiles that read a field at the top of the frontmatter only, which agentskills forbids.
func readersOf(field string) string {
	if f := fields.Named(field); f != nil {
		return strings.Join(f.Readers(), " and ")
	}
	return ""
}

// reconcile returns the problems of several profiles of one skill with each conflict between two of them as one problem, for
// information: no text of the field complies with both.
func reconcile(problems []pannier.Problem) []pannier.Problem {
	refused := slices.ContainsFunc(problems, func(p pannier.Problem) bool {
		return p.Field == "name" && strings.HasPrefix(p.Code, "strict.name.")
	})
	for i := range problems {
		p := &problems[i]
		readers := readersOf(p.Field)
		switch {
		case p.Code == "strict.field.unknown" && readers != "":
			p.Message = "profiles conflict: " + readers + " read this field here, agentskills forbids it"
			p.Hint = "keep the field if a platform that you need reads it, else remove it"
		case p.Code == "openclaw.name.snake_case" && !refused:
			p.Message = "profiles conflict: openclaw wants underscores in the name, agentskills forbids them"
			p.Hint = "keep the name, unless the skill is for OpenClaw alone; a name of one word fits both"
		default:
			continue
		}
		p.Code, p.Severity = codeConflict, pannier.SeverityInfo
	}
	return problems
}
