package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

func TestRestartGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, skillScript("first", "Is there before."))
	args := []string{"--platform-url", "off", "--state-dir", stateDir}

	s := startSidecar(t, w, args...)
	before := must(s.Skills(t.Context(), "", false))(t)
	s.eventsAre(t, 1)
	s.stops(t)

	s = startSidecar(t, w, args...)
	same, err := s.Skills(t.Context(), "", false)
	if err != nil || same.SnapshotVersion != before.SnapshotVersion || same.Digest != before.Digest {
		t.Errorf("the same tree has version %d after a restart, %d before (%v)", same.SnapshotVersion, before.SnapshotVersion, err)
	}
	s.eventsAre(t, 1, 2)
	s.process.kill()

	s = startSidecar(t, w, args...)
	killed, err := s.Skills(t.Context(), "", false)
	if err != nil || killed.SnapshotVersion <= before.SnapshotVersion || killed.Digest != before.Digest {
		t.Errorf("after a kill the version is %d, %d before: what was served last is not known (%v)", killed.SnapshotVersion, before.SnapshotVersion, err)
	}
	s.eventsAre(t, 1, 2, 3)
	s.terminate(t)

	writeIn(t, w, skillScript("second", "Comes while nobody looks."))
	s = startSidecar(t, w, args...)
	after, err := s.Skills(t.Context(), "", false)
	if err != nil || after.SnapshotVersion <= killed.SnapshotVersion {
		t.Errorf("another tree has version %d after a restart, %d before (%v)", after.SnapshotVersion, killed.SnapshotVersion, err)
	}

	s.eventsAre(t, 1, 2, 3, 4) // one for each start
}

// eventsAre waits until the journal has events with these numbers.
func (s *sidecarUnderTest) eventsAre(t *testing.T, want ...uint64) {
	t.Helper()
	eventually(t, "the journal has the events", func() error {
		var seqs []uint64
		err := s.Events(t.Context(), client.EventQuery{}, func(e pannier.Event) error {
			seqs = append(seqs, e.Seq)
			return nil
		})
		if err != nil || !slices.Equal(seqs, want) {
			return fmt.Errorf("events %v, %v", seqs, err)
		}
		return nil
	})
}

func TestSecondSidecarOnOneStateIsRefused(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	cmd := exec.Command(binary, "run", "--workspace", w, "--workspace-id", testWorkspaceID, "--state-dir", stateDir,
		"--socket", filepath.Join(shortDir(t), "s"), "--platform-url", "off")
	cmd.Env = cleanEnviron()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUnknown || !strings.Contains(string(out), "another sidecar keeps the state") || !strings.Contains(string(out), "hint: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestStateThatCanNotBeUsedIsTold(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", filepath.Join(w, "config.yaml"))
	h, err := s.Health(t.Context())
	if err != nil || h.Status != pannier.HealthFailing || !strings.Contains(fmt.Sprint(h.Conditions), "state_in_memory") || !strings.Contains(fmt.Sprint(h.Conditions), pannier.ReasonStateLost) {
		t.Errorf("health %+v, %v", h, err)
	}
}

func TestKilledSidecarLeavesTheNewestCardToTheNext(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	w, stateDir := newWorkspace(t), t.TempDir()
	args := []string{"--platform-url", "http://" + platform.addr, "--platform-token-file", tokenFile(t), "--state-dir", stateDir}
	s := startSidecar(t, w, args...)
	s.write(t, skillScript("unsent", "Never reached the platform."))
	s.listed(t, "unsent")
	s.process.kill()
	platform.up(t)
	s = startSidecar(t, w, args...)
	s.acknowledged(t)
	got := platform.received()
	if len(got) != 1 || !strings.Contains(got[0], "Never reached the platform.") {
		t.Errorf("the platform got %q, want the newest card alone", got)
	}
	s.terminate(t)
	s = startSidecar(t, w, args...)
	s.acknowledged(t)
	if again := platform.received(); len(again) != 1 {
		t.Errorf("a restart with an unchanged tree pushed %d cards more", len(again)-1)
	}
}

// TestRestartKeepsWhatWasFound restarts over skills that are described by their files, which are read in the background.
func TestRestartKeepsWhatWasFound(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, `
mkdir -p skills/calc/tools skills/seo
printf 'from langchain_core.tools import tool\n\n@tool\ndef add(a: int, b: int) -> int:\n    """Adds two numbers."""\n    return a + b\n' > skills/calc/tools/calc.py
printf -- '---\nname: seo\n---\n\n# Write pages\n' > skills/seo/SKILL.md`)
	args := []string{"--platform-url", "http://" + platform.addr, "--platform-token-file", tokenFile(t), "--state-dir", stateDir}
	start := func() (*sidecarUnderTest, pannier.List) {
		s := startSidecar(t, w, args...)
		list, err := s.Skills(t.Context(), "", false) // before the files are read again
		if err != nil {
			t.Fatal(err)
		}
		return s, list
	}
	s, _ := start()
	s.serves(t, "calc", "Adds two numbers.")
	s.serves(t, "seo", "Write pages")
	s.acknowledged(t)
	before := must(s.Skills(t.Context(), "", false))(t)
	pushed := len(platform.received())
	for range 2 {
		s.terminate(t)
		var first pannier.List
		s, first = start()
		s.hasFingerprint(t, "calc")
		s.hasFingerprint(t, "seo")
		after, err := s.Skills(t.Context(), "", false)
		s.acknowledged(t)
		if now := len(platform.received()); err != nil || first.SnapshotVersion != before.SnapshotVersion || after.Digest != before.Digest || after.SnapshotVersion != before.SnapshotVersion || now != pushed {
			t.Errorf("version %d, then %d, digest %s, %d cards; before %d, %s, %d (%v)", first.SnapshotVersion, after.SnapshotVersion, after.Digest, now, before.SnapshotVersion, before.Digest, pushed, err)
		}
	}

	s.terminate(t)
	writeIn(t, w, `printf -- '---\nname: seo\n---\n\n# Sell pages\n' > skills/seo/SKILL.md; rm -r skills/calc`)
	s, first := start()
	if len(first.Skills) != 1 || first.Skills[0].Description == "Write pages" {
		t.Errorf("a skill is described by what another SKILL.md had: %+v", first.Skills)
	}
	s.serves(t, "seo", "Sell pages")
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	follower := command("events", "--follow", "--json", "--types", "skill_catalog_updated,skill_loaded", "--socket", s.socket)
	out := &lockedBuffer{}
	follower.Stdout, follower.Stderr = out, out
	need(t, follower.Start())
	ended := make(chan error, 1)
	go func() { ended <- follower.Wait() }()
	t.Cleanup(func() { follower.Process.Kill(); <-ended; ended <- nil })

	s.write(t, skillScript("told", "Makes an event."))
	seen(t, out, `"added":["told"]`)
	must(s.Content(t.Context(), "told"))(t)
	seen(t, out, `"type":"skill_loaded"`)
	for line := range strings.Lines(out.String()) {
		var e pannier.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq == 0 || e.WorkspaceID != testWorkspaceID || e.Time.IsZero() {
			t.Errorf("event %s: %v", line, err)
		}
	}
	// The end of the sidecar ends the stream, and does not wait for it.
	s.stops(t)
	<-ended
	ended <- nil
}

func TestReaderThatWasAwayTooLongGetsTheWhole(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	s.write(t, skillScript("kept", "Is in the catalog."))
	s.listed(t, "kept")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first pannier.Event
	// A number that the journal never gave away is one of a journal that is lost.
	s.Events(ctx, client.EventQuery{After: 1 << 40, Follow: true}, func(e pannier.Event) error {
		first = e
		cancel()
		return nil
	})
	data, _ := json.Marshal(first.Data)
	if first.Type != pannier.EventCatalogUpdated || !bytes.Contains(data, []byte(`"added":["kept"]`)) {
		t.Errorf("the first event is %+v", first)
	}
}
