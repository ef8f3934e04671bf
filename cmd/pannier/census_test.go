package main

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
)

func TestSkillsThatAreNotReachedAreTold(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("near", "Is found.")+strings.ReplaceAll(skillScript("far", "Lies too deep."), "skills/", "skills/a/b/c/")+
		strings.ReplaceAll(skillScript("inner", "Lies in a skill."), "skills/", "skills/near/more/"))
	s := startSidecar(t, w, "--platform-url", "off", "--max-depth", "2")
	eventually(t, "health tells of the skills", func() error {
		h, err := s.Health(t.Context())
		if err != nil {
			return err
		}
		told := fmt.Sprint(h.Conditions)
		if h.Status != pannier.HealthDegraded || !strings.Contains(told, "root_unreached_skills") || !strings.Contains(told, "root_nested_skills") {
			return fmt.Errorf("%s: %s", h.Status, told)
		}
		return nil
	})
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
