package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pannier"
)

// TestUnreadableIsNotPushed starts a sidecar where something can not be read that the sidecar before could: the platform
// keeps its card, health says why, and the card goes out once it can be read again.
func TestUnreadableIsNotPushed(t *testing.T) {
	for _, tt := range []struct{ name, breaks, mends, subject string }{
		{"a root", "chmod 0 skills", "chmod 755 skills", "skills"},
		{"a file in its place", "mv skills moved; touch skills", "rm skills; mv moved skills", "skills"},
		{"the workspace", "chmod 0 .", "chmod 755 .", "config.yaml"},
		{"config.yaml", "chmod 0 config.yaml", "chmod 644 config.yaml", "config.yaml"},
		{"the text of config.yaml", "cp config.yaml c; echo 'name: [' > config.yaml", "mv c config.yaml", "config.yaml"},
		{"each skill", "chmod 0 skills/*", "chmod 755 skills/*", "skills"},
		{"each SKILL.md", "chmod 0 skills/*/SKILL.md", "chmod 644 skills/*/SKILL.md", "skills"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, platform := workspaceWith(t, skillScript("one", "number 1")+skillScript("two", "number 2")), newRecorder(t)
			platform.up(t)
			args := []string{"--platform-url", "http://" + platform.addr, "--platform-token-file", tokenFile(t), "--state-dir", t.TempDir()}
			s := startUnprivileged(t, w, args...)
			s.acknowledged(t)
			s.terminate(t)
			before := len(platform.received())

			broken := exec.Command("sh", "-euc", tt.breaks)
			broken.Dir = w
			if out, err := broken.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			s = startUnprivileged(t, w, args...)
			c := s.tellsOf(t, "card_withheld")
			if c.Subject != tt.subject || c.Severity != pannier.SeverityError {
				t.Errorf("condition %+v, want %s", c, tt.subject)
			}
			// A change that the look sees leads to a card of its own, if any.
			need(t, s.Rescan(t.Context()))
			until(t, "a push would have come", func() bool { return s.metric(t, `pannier_scans_total{result="unchanged",trigger="resync"}`) >= 2 })
			if got := platform.received(); len(got) != before {
				t.Fatalf("the card of the platform was replaced by %s", got[len(got)-1])
			}

			if err := os.Chmod(w, 0o755); err != nil { // an ordinary user could not run the script there
				t.Fatal(err)
			}
			writeIn(t, w, tt.mends+"; sed -i 's/number 1/number 3/' skills/one/SKILL.md")
			eventually(t, "the card is pushed", func() error {
				got := platform.received()
				last := sentCard(got[len(got)-1])
				if !strings.Contains(string(last), "number 3") || skillsOf(t, last) != 2 || !strings.Contains(string(last), "Test desk") {
					return fmt.Errorf("%d cards, the last one %s", len(got), last)
				}
				return nil
			})
			if h, err := s.Health(t.Context()); err != nil || strings.Contains(fmt.Sprint(h.Conditions), "card.withheld") {
				t.Errorf("health %+v, %v", h, err)
			}
		})
	}
}

func skillsOf(t *testing.T, card json.RawMessage) int {
	t.Helper()
	var c struct{ Skills []any }
	need(t, json.Unmarshal(card, &c))
	return len(c.Skills)
}

// TestMissingIsPushed: what does not exist is no fault, and what was read once is served and pushed on.
func TestMissingIsPushed(t *testing.T) {
	t.Parallel()
	w, platform := workspaceWith(t, skillScript("one", "number 1")), newRecorder(t)
	platform.up(t)
	args := []string{"--platform-url", "http://" + platform.addr, "--platform-token-file", tokenFile(t)}
	s := startUnprivileged(t, w, args...)
	s.acknowledged(t)
	writeIn(t, w, "chmod 0 skills; printf 'name: Other desk\\n' > config.yaml")
	eventually(t, "the card is pushed with the skills that were read", func() error {
		got := platform.received()
		if last := sentCard(got[len(got)-1]); !strings.Contains(string(last), "Other desk") || skillsOf(t, last) != 1 {
			return fmt.Errorf("%s", last)
		}
		return nil
	})
	writeIn(t, w, "chmod 755 skills; rm -r skills config.yaml")
	eventually(t, "the card without skills is pushed", func() error {
		got := platform.received()
		if last := sentCard(got[len(got)-1]); skillsOf(t, last) != 0 {
			return fmt.Errorf("%s", last)
		}
		return nil
	})
	s.terminate(t)
	need(t, os.WriteFile(w+"/config.yaml", []byte("name: Third desk\n"), 0o600))
	s = startUnprivileged(t, w, args...)
	s.acknowledged(t)
	if got := platform.received(); !strings.Contains(got[len(got)-1], "Third desk") {
		t.Errorf("the last card is %s", got[len(got)-1])
	}
}

func TestMissingWorkspaceDoesNotEmptyTheCard(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	w := newWorkspace(t)
	s := startSidecar(t, w+"/not/yet", "--platform-url", "http://"+platform.addr)
	h, err := s.Health(t.Context())
	if err != nil || h.Status != pannier.HealthFailing || !strings.Contains(fmt.Sprint(h.Conditions), "workspace_missing") {
		t.Errorf("health %+v, %v", h, err)
	}
	// A mount comes whole.
	writeIn(t, w, "mkdir -p mount/yet; cp config.yaml mount/yet; (cd mount/yet; "+skillScript("late", "Comes with the mount.")+"); mv mount not")
	eventually(t, "the platform has a card", func() error {
		if len(platform.received()) == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	s.settled(t)
	for _, card := range platform.received() {
		if !strings.Contains(card, "Test desk") && !strings.Contains(card, "Comes with the mount.") {
			t.Errorf("the platform was sent %s", card)
		}
	}
}

// TestMisplacedFiles are those that a platform saves where nothing reads them. The command of the hint moves them.
func TestMisplacedFiles(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t))
	command := regexp.MustCompile("`([^`]+)`")
	for _, misplaced := range []string{
		"mkdir -p configs/skills/haiku && printf '%s\\n' --- 'name: haiku' 'description: Writes a haiku.' --- Do. > configs/skills/haiku/SKILL.md",
		"printf '%s\\n' --- 'name: NAME' 'description: Writes a haiku.' --- Do. > SKILL.md",
	} {
		s.toldNoMore(t, "workspace_misplaced")
		s.write(t, misplaced)
		s.tellsOf(t, "workspace_misplaced")
		h := must(s.Health(t.Context()))(t)
		for _, c := range h.Conditions {
			if c.Code != "workspace_misplaced" {
				continue
			}
			move := command.FindStringSubmatch(c.Hint)
			if move == nil || c.Severity != pannier.SeverityWarning {
				t.Fatalf("condition %+v", c)
			}
			s.write(t, move[1])
		}
	}
	s.toldNoMore(t, "workspace_misplaced")
	eventually(t, "both skills are listed", func() error {
		_, err := s.entry(t, "haiku")
		_, err2 := s.entry(t, "name")
		return errors.Join(err, err2)
	})
}
