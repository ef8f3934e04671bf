package main

import (
	"bytes"
	"strings"
	"testing"

	"pannier"
)

// TestExampleTools runs an agent that calls a tool of a skill: not offered before it is allowed, answered from the sandbox
// afterwards, and told to the model when it fails.
func TestExampleTools(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	forEachExample(t, func(t *testing.T, e example) {
		w := reportWorkspace(t)
		s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", t.TempDir())
		turn := func(text string) (said, noted string) {
			t.Helper()
			cmd := e.command(s.socket, e.dir+"/"+e.tools, text)
			var out, notes bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &notes
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, &out, &notes)
			}
			return out.String(), notes.String()
		}
		s.refusedBy(t, pannier.ToolNotAllowed)
		if said, _ := turn("/skill:repo-review now"); said != "there is no tool for this turn\n" {
			t.Errorf("before it is allowed: %s", said)
		}
		s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
		s.refusedBy(t, "")
		said, noted := turn("/skill:repo-review now")
		if said != "the tool answered: report\n{}\n" || !strings.Contains(noted, "# offered: skill__repo-review__run-report\n# called: skill__repo-review__run-report\n") {
			t.Errorf("said %q, noted\n%s", said, noted)
		}
		if !strings.Contains(noted, "a stub model") {
			t.Errorf("it does not say that its model is none:\n%s", noted)
		}
		writeReport(t, w, "echo broken; exit 3\n")
		if said, _ := turn("/skill:repo-review now"); strings.Contains(said, "broken") || strings.Contains(said, "report\n") {
			t.Errorf("a changed script has run: %s", said)
		}
		s.refusedBy(t, pannier.ToolNotAllowed)
		s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
		s.refusedBy(t, "")
		if said, _ := turn("/skill:repo-review now"); !strings.HasPrefix(said, "the tool answered: failed: ") || !strings.Contains(said, pannier.ToolFailed) || !strings.Contains(said, "broken") {
			t.Errorf("a tool that fails: %s", said)
		}
	})
}
