package main

import (
	"errors"
	"testing"

	"pannier"
)

func TestChangesGoLiveByPolling(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--watch", "poll", "--resync", "0")
	for _, text := range []string{"Writes a haiku.", "Writes two haiku.", "Writes three haiku."} {
		s.write(t, skillScript("haiku", text))
		eventually(t, text, func() error {
			e, err := s.entry(t, "haiku")
			if err == nil && e.Description != text {
				err = errors.New(e.Description)
			}
			return err
		})
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Watch.Mode != "poll" || h.Watch.Polled != h.Watch.Watches || h.Status != pannier.HealthOK {
		t.Errorf("health %+v, %v, want polling and nothing wrong with it", h, err)
	}
}
