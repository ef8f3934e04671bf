package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNoiseBesideASkill has a log grow beside a skill, an editor's backup come and go in the root, and a skill that is written all
// the time, by another process, while another skill is edited. Each edit is served soon.
func TestNoiseBesideASkill(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]string{
		"log":    "echo line >> skills/noisy/run.log",
		"backup": "echo text > skills/.swp; mv skills/.swp skills/notes~; rm skills/notes~",
		"skill":  "echo more >> skills/noisy/SKILL.md",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := oneSkill(t)
			writeIn(t, w, "mkdir skills/noisy; sed 's/^name: .*/name: noisy/' skills/one/SKILL.md > skills/noisy/SKILL.md")
			s := startFault(t, w, "--settle", "100ms", "--debounce", "2s", "--max-wait", "3s", "--resync", "0")
			s.serves(t, "one", number(0))
			busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do "+noise+"; sleep 0.03; done")
			busy.Dir = w
			if err := busy.Start(); err != nil {
				t.Fatal(err)
			}
			defer busy.Wait()
			defer busy.Process.Kill()
			var worst time.Duration
			for n := range 3 {
				text, err := os.ReadFile(filepath.Join(w, "skills/one/SKILL.md"))
				if err != nil {
					t.Fatal(err)
				}
				edited := strings.ReplaceAll(string(text), number(n), number(n+1))
				if err := os.WriteFile(filepath.Join(w, "skills/one/SKILL.md"), []byte(edited), 0o600); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				s.serves(t, "one", number(n+1))
				worst = max(worst, time.Since(began))
			}
			if worst > 2*time.Second { // far more than it takes, far less than max_wait
				t.Errorf("an edit was served after %v", worst)
			}
		})
	}
}
