package main

import (
	"bytes"
	"strings"
	"testing"

	"pannier"
)

// TestInstallationsAreLiveWhenAnswered, whatever the waits of the watcher are: the list that is asked for next shows each
// change, and the card of it reaches the platform.
func TestInstallationsAreLiveWhenAnswered(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t), "--state-dir", t.TempDir(),
		"--settle", "1m", "--debounce", "1m", "--delete-grace", "1m")
	put := func(slug, version string) func() (pannier.InstallResult, error) {
		return func() (pannier.InstallResult, error) {
			return s.Install(t.Context(), pannier.InstallRequest{Slug: slug}, pannier.InstallSource{Body: bytes.NewReader(archiveOf("it", version))})
		}
	}
	remove := pannier.RemoveRequest{Slug: "it"}
	for _, tt := range []struct {
		name   string
		do     func() (pannier.InstallResult, error)
		served string // the version; empty is none
	}{
		{"installed", put("", "1"), "1"},
		{"updated", put("it", "2"), "2"},
		{"rolled_back", func() (pannier.InstallResult, error) { return s.Rollback(t.Context(), remove) }, "1"},
		{"uninstalled", func() (pannier.InstallResult, error) { return s.Uninstall(t.Context(), remove) }, ""},
		{"installed", put("", "3"), "3"},
	} {
		result, err := tt.do()
		if err != nil || string(result.Status) != tt.name {
			t.Fatalf("%s: %+v, %v", tt.name, result, err)
		}
		s.servesNow(t, tt.served)
		s.acknowledged(t)
		cards := platform.received()
		if got := strings.Contains(cards[len(cards)-1], "Is moved, as "+tt.served+"."); got != (tt.served != "") {
			t.Errorf("%s: the platform has %s", tt.name, cards[len(cards)-1])
		}
	}
	s.hasEvent(t, pannier.EventInstallAdded, `"slug":"it"`)
	s.hasEvent(t, pannier.EventInstallReplaced, `"version":"2"`)
	s.hasEvent(t, pannier.EventInstallRolledBack, `"version":"1"`)
	s.hasEvent(t, pannier.EventInstallRemoved, `"slug":"it"`)
	s.runs(t, exitYes, "", "health")
}

// servesNow checks the list as it is, without waiting: the skill it has a version, or is not there.
func (s *sidecarUnderTest) servesNow(t *testing.T, version string) {
	t.Helper()
	list := must(s.Skills(t.Context(), "", true))(t)
	got := ""
	for _, e := range list.Skills {
		if e.Slug == "it" {
			got = e.Version
		}
	}
	if got != version {
		t.Errorf("version %q is served, want %q", got, version)
	}
}
