package sidecar

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// faulty is a snapshot with broken skills, with malformed runtimes and with skills for another runtime.
func faulty(broken, malformed, skipped int) *pannier.Snapshot {
	s := &pannier.Snapshot{}
	add := func(kind string, n int, e pannier.Entry) {
		for i := range n {
			slug := fmt.Sprintf("%s-%03d", kind, i)
			e := e
			e.Skill = &pannier.Skill{Slug: slug, Path: "skills/" + slug, Runtimes: []string{"claude-code", "hermes"}}
			s.Entries = append(s.Entries, &e)
		}
	}
	problem := pannier.Problem{Code: "skill.frontmatter.syntax", Severity: pannier.SeverityError, Path: "p", Line: 3, Message: "no \x1b mapping", Hint: "mend it"}
	add("broken", broken, pannier.Entry{State: pannier.StateIneligible, Problems: []pannier.Problem{problem}})
	problem.Code, problem.Severity, problem.Message = pannier.CodeRuntimeValue, pannier.SeverityWarning, "not a name"
	add("malformed", malformed, pannier.Entry{State: pannier.StateEligible, Problems: []pannier.Problem{problem}})
	reasons := []pannier.Reason{{Code: pannier.ReasonRuntimeIncompatible, Subject: "langgraph", Remedy: "add it"}}
	add("skipped", skipped, pannier.Entry{State: pannier.StateIneligible, Reasons: reasons})
	add("unlisted", 1, pannier.Entry{State: pannier.StateUnlisted, Reasons: reasons, Problems: []pannier.Problem{problem}})
	return s
}

// linesOf returns the lines that logSkills writes.
func linesOf(before, after *pannier.Snapshot) []string {
	var text bytes.Buffer
	logSkills(hclog.New(&hclog.LoggerOptions{Output: &text, DisableTime: true}), before, after)
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// TestSkillLog: "the skill loader logs a Skipping skill ...: runtime=[...] not compatible with current=... line", and "A
// malformed value (e.g. runtime: 123) logs a warning and falls back to universal" (Molecule, "Runtime Compatibility").
func TestSkillLog(t *testing.T) {
	want := []string{
		`[WARN]  skill is broken: skill=broken-000 at=p:3 problem="no  mapping" hint="mend it"`,
		`[WARN]  runtime of a skill is malformed: skill=malformed-000 at=p:3 problem="not a name" hint="mend it"`,
		`[INFO]  skipping skill: skill=skipped-000 at=skills/skipped-000 problem="runtime=[claude-code, hermes] not compatible with current=langgraph" hint="add it"`,
	}
	if got := linesOf(nil, faulty(1, 1, 1)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := linesOf(faulty(1, 1, 1), faulty(1, 1, 1)); got[0] != "" {
		t.Errorf("the same again: %q", got)
	}
	if got := linesOf(faulty(0, 1, 1), faulty(1, 1, 1)); len(got) != 1 || got[0] != want[0] {
		t.Errorf("one more: %q", got)
	}
}

// TestSkillLogIsBounded gives broken and skipped skills an allowance each.
func TestSkillLogIsBounded(t *testing.T) {
	got := linesOf(nil, faulty(150, 30, 160))
	if len(got) != 2*(MaxSkillLines+1) || !strings.Contains(got[100], `more skills are broken: lines=80`) || !strings.Contains(got[201], `more skills are skipped: lines=60`) {
		t.Fatalf("%d lines, the last is %s", len(got), got[len(got)-1])
	}
	if !strings.Contains(got[99], "broken-099") || !strings.Contains(got[101], "skipped-000") {
		t.Errorf("what a person should mend is not first: %s, %s", got[99], got[101])
	}
}
