package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pannier"
)

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
