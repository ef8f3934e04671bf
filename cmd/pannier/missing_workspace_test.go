package main

import (
	"fmt"
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
