package sidecar

import (
	"slices"
	"strings"

	"pannier/internal/plain"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// MaxSkillLines bounds the lines that the log has on the skills of one snapshot, for faults and for skipped skills each.
const MaxSkillLines = 100

// skillLine is one line of the log on a skill.
type skillLine struct {
	level                    hclog.Level
	message                  string
	skill, place, what, hint string
}

// logSkills logs what is new in a snapshot: broken skills and malformed runtimes, which a person should mend, then the skills
// that the runtime of the workspace skips. before is nil for the first snapshot.
func logSkills(log hclog.Logger, before, after *pannier.Snapshot) {
	known := map[skillLine]bool{}
	if before != nil {
		for _, line := range skillLines(before) {
			known[line] = true
		}
	}
	lines := slices.DeleteFunc(skillLines(after), func(line skillLine) bool { return known[line] })
	slices.SortStableFunc(lines, func(a, b skillLine) int { return int(b.level) - int(a.level) })
	skipped := slices.IndexFunc(lines, func(line skillLine) bool { return line.level == hclog.Info })
	if skipped < 0 {
		skipped = len(lines)
	}
	logLines(log, lines[:skipped], "more skills are broken")
	logLines(log, lines[skipped:], "more skills are skipped")
}

// logLines logs at most [MaxSkillLines] lines of one level and the number of the others.
func logLines(log hclog.Logger, lines []skillLine, others string) {
	for _, line := range lines[:min(len(lines), MaxSkillLines)] {
		log.Log(line.level, line.message, "skill", line.skill, "at", line.place, "problem", line.what, "hint", line.hint)
	}
	if more := len(lines) - MaxSkillLines; more > 0 {
		log.Log(lines[0].level, others, "lines", more, "hint", `run "pannier list" to see all skills`)
	}
}

// skillLines returns the lines on a snapshot, by slug. Skills that are not in use by choice have none.
func skillLines(s *pannier.Snapshot) (lines []skillLine) {
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.State != pannier.StateEligible && e.State != pannier.StateIneligible {
			continue
		}
		if at := slices.IndexFunc(e.Problems, func(p pannier.Problem) bool { return p.Severity == pannier.SeverityError }); at >= 0 {
			lines = append(lines, problemLine(LogBroken, e, e.Problems[at]))
		}
		if at := slices.IndexFunc(e.Problems, func(p pannier.Problem) bool { return p.Code == pannier.CodeRuntimeValue }); at >= 0 {
			lines = append(lines, problemLine(LogMalformed, e, e.Problems[at]))
		}
		for _, r := range e.Reasons {
			if r.Code == pannier.ReasonRuntimeIncompatible {
				lines = append(lines, skillLine{
					hclog.Info, "skipping skill", e.Slug, plain.Text(e.Path),
					plain.Text("runtime=[" + strings.Join(e.Runtimes, ", ") + "] not compatible with current=" + r.Subject), plain.Text(r.Remedy),
				})
			}
		}
	}
	return lines
}

func problemLine(message string, e *pannier.Entry, p pannier.Problem) skillLine {
	return skillLine{hclog.Warn, message, e.Slug, plain.Text(p.Place()), plain.Text(p.Message), plain.Text(p.Hint)}
}
