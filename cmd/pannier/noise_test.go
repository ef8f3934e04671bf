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
			s := startFault(t, w, "--settle", "100ms", "--debounce", "2s", "--resync", "0")
			s.serves(t, "one", number(0))
			busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do "+noise+"; sleep 0.03; done")
			busy.Dir = w
			need(t, busy.Start())
			defer busy.Wait()
			defer busy.Process.Kill()
			var worst time.Duration
			for n := range 3 {
				text := must(os.ReadFile(filepath.Join(w, "skills/one/SKILL.md")))(t)
				edited := strings.ReplaceAll(string(text), number(n), number(n+1))
				need(t, os.WriteFile(filepath.Join(w, "skills/one/SKILL.md"), []byte(edited), 0o600))
				began := time.Now()
				s.serves(t, "one", number(n+1))
				worst = max(worst, time.Since(began))
			}
			if worst > 2*time.Second { // far more than it takes, far less than the longest wait
				t.Errorf("an edit was served after %v", worst)
			}
		})
	}
}

// TestNoiseWithoutEndHoldsNoPush touches a skill without a pause. The first card waits for the longest wait, and health says that it is on its
// way. Later ones do not wait for the noise.
func TestNoiseWithoutEndHoldsNoPush(t *testing.T) {
	t.Parallel()
	const maxWait = 3 * time.Second
	w, file := oneSkill(t)
	writeIn(t, w, "mkdir skills/noisy; sed 's/^name: .*/name: noisy/' skills/one/SKILL.md > skills/noisy/SKILL.md")
	platform := newRecorder(t)
	platform.up(t)
	// On a busy machine the writer can pause for longer than the settle of 100 ms, and would not be noise without end.
	s := startSidecar(t, w, "--platform-url", "http://"+platform.addr, "--settle", "600ms", "--resync", "0")
	s.acknowledged(t)
	busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do touch skills/noisy/SKILL.md; sleep 0.02; done")
	busy.Dir = w
	need(t, busy.Start())
	defer busy.Wait()
	defer busy.Process.Kill()
	begun := time.Now()
	time.Sleep(2 * time.Second) // which is not what the next push waits for

	edit := func(n int) (waited time.Duration) {
		t.Helper()
		need(t, os.WriteFile(file, []byte(numbered("one", n)), 0o600))
		began := time.Now()
		s.serves(t, "one", number(n))
		h := must(s.Health(t.Context()))(t)
		if cards := platform.received(); !strings.Contains(cards[len(cards)-1], number(n)) && h.Push[0].Desired == h.Push[0].Acknowledged {
			t.Error("health says that the platform has the newest card, which waits")
		}
		s.acknowledged(t)
		return time.Since(began)
	}
	if took := edit(1); took < time.Second {
		t.Logf("the first card did not wait, but took %v", took)
	}
	time.Sleep(time.Until(begun.Add(2 * maxWait)))
	if took := edit(2); took > maxWait*2/3 {
		t.Errorf("a card was pushed %v after the edit, want it not to wait for the noise", took)
	}
}
