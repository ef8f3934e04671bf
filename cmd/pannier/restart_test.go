package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/client"
)

func TestRestartGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	w, stateDir := workspaceWith(t, skillScript("first", "Is there before.")), t.TempDir()
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
		need(t, err)
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

// TestVersionsOverKills kills a sidecar at any moment, and ends it now and then, while its workspace goes forth and back: no
// version is served for two digests, and none is served after a higher one.
func TestVersionsOverKills(t *testing.T) {
	t.Parallel()
	w, args := newWorkspace(t), []string{"--platform-url", "off", "--state-dir", shortDir(t), "--settle", "1ms", "--debounce", "1ms"}
	digests, newest := map[uint64]pannier.Digest{}, uint64(0)
	for life := range 12 {
		s := startSidecar(t, w, args...)
		for end := time.Now().Add(rand.N(300 * time.Millisecond)); time.Now().Before(end); {
			s.write(t, skillScript("one", fmt.Sprintf("Is number %d.", rand.N(3))))
			list := must(s.Skills(t.Context(), "", false))(t)
			if was, ok := digests[list.SnapshotVersion]; ok && was != list.Digest || list.SnapshotVersion < newest {
				t.Fatalf("life %d: version %d of %s follows version %d, and was %s", life, list.SnapshotVersion, list.Digest, newest, was)
			}
			newest = list.SnapshotVersion
			digests[newest] = list.Digest
		}
		if life%4 == 3 {
			s.terminate(t)
		} else {
			s.process.kill()
		}
	}
}

// TestReloadMetrics breaks config.yaml and repairs it. Operators alert on the two gauges as they know them from other servers.
func TestReloadMetrics(t *testing.T) {
	t.Parallel()
	const successful, success = "pannier_last_reload_successful", "pannier_last_reload_success_timestamp_seconds"
	workspace, _ := oneSkill(t)
	s := startFault(t, workspace)
	s.serves(t, "one", number(0))
	s.metricIs(t, successful, 1)
	s.write(t, "printf 'skills: [one\\n' > config.yaml")
	s.metricIs(t, successful, 0)
	before := s.metric(t, success)
	if before == 0 || before > s.metric(t, "pannier_last_scan_timestamp_seconds") {
		t.Errorf("%s is %v", success, before)
	}
	scanned := s.metric(t, "pannier_last_scan_timestamp_seconds")
	s.write(t, "printf -- '---\\nname: two\\ndescription: Is two.\\n---\\nDo it.\\n' > skills/one/SKILL.md")
	until(t, "another scan", func() bool { return s.metric(t, "pannier_last_scan_timestamp_seconds") != scanned })
	if got := s.metric(t, success); got != before {
		t.Errorf("%s has changed from %v to %v while config.yaml is broken", success, before, got)
	}
	s.write(t, "printf 'skills: [one]\\n' > config.yaml")
	s.metricIs(t, successful, 1)
	if got := s.metric(t, success); got <= before {
		t.Errorf("%s is %v after the repair, and was %v", success, got, before)
	}
}

// TestCollisionAtAStart has a collision that no change brings. Its warning is emitted at each start, once, and the catalog says which
// rule decided.
func TestCollisionAtAStart(t *testing.T) {
	t.Parallel()
	workspace := newWorkspace(t)
	writeIn(t, workspace, `mkdir -p skills/pdf skills/a/pdf
for d in skills/pdf skills/a/pdf; do printf -- '---\nname: pdf\ndescription: Is one.\n---\nDo it.\n' > $d/SKILL.md; done`)
	s := startFault(t, workspace)
	s.hasEvent(t, pannier.EventSkillWarning, `{"name":"pdf","kind":"skill.slug.shared","detail":"skills/pdf and skills/a/pdf claim the slug \"pdf\"; skills/pdf holds it"}`)
	s.hasEvent(t, pannier.EventCatalogUpdated, `"collisions":[{"slug":"pdf","winner":"skills/pdf","loser":"skills/a/pdf","rule":"depth"}]`)
	warnings := func() (n int) {
		for _, e := range s.all(t) {
			text := must(compactJSON(e.Data))(t)
			if e.Type == pannier.EventSkillWarning && strings.Contains(string(text), "skill.slug.shared") {
				n++
			}
		}
		return n
	}
	s.write(t, "sed -i 's/Is one/Is two/' skills/pdf/SKILL.md")
	s.hasEvent(t, pannier.EventCatalogUpdated, `"changed":["pdf"]`)
	if n := warnings(); n != 1 {
		t.Errorf("%d warnings of one collision", n)
	}
}

// listOnce starts a sidecar, returns its skills, and stops it.
func listOnce(t *testing.T, w, stateDir string) (skills []*pannier.Skill) {
	t.Helper()
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	list := must(s.Skills(t.Context(), "", true))(t)
	if code := s.terminate(t); code != exitYes {
		t.Errorf("exit code %d\n%s", code, s.log.String())
	}
	for _, e := range list.Skills { // fingerprints are known a moment later
		skills = append(skills, e.Skill)
	}
	return skills
}

// TestRestartWithParsedSkills restarts with what the process before has parsed, and with what is left of that.
func TestRestartWithParsedSkills(t *testing.T) {
	w, stateDir := workspaceWith(t, skillScript("first", "Is there before.")+skillScript("second", "So is this.")), t.TempDir()
	file := filepath.Join(stateDir, testWorkspaceID, "parsed.cache")
	want := listOnce(t, w, stateDir)
	inode := func() uint64 {
		st, _ := fsx.Lstat(file)
		return st.Ino
	}
	eventually(t, "all skills are restored", func() error { // files that were written two seconds ago are parsed again
		before := inode()
		if listOnce(t, w, stateDir); before == 0 || inode() != before {
			return errors.New("skills are parsed and kept")
		}
		return nil
	})
	kept := must(os.ReadFile(file))(t)
	put := func(content []byte) func() error {
		return func() error { return os.WriteFile(file, content, 0o600) }
	}
	tampered := append([]byte{}, kept...)
	tampered[len(tampered)/2] ^= 1
	for _, step := range []struct {
		name    string
		prepare func() error
		kept    bool // again
	}{
		{"nothing", func() error { return os.Remove(file) }, true},
		{"an empty file", put(nil), true},
		{"a part", put(kept[:len(kept)-100]), true},
		{"another byte", put(tampered), true},
		{"another version", put(append([]byte("pannier parsed skills 0\n"), kept...)), true},
		{"a directory", func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, false},
		{"no place for a new one", func() error { return errors.Join(os.Remove(file), os.Mkdir(file+".new", 0o700)) }, false},
	} {
		if err := step.prepare(); err != nil {
			t.Fatal(step.name, err)
		}
		before := inode()
		if diff := cmp.Diff(want, listOnce(t, w, stateDir)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", step.name, diff)
		}
		if now, err := os.ReadFile(file); step.kept && (err != nil || string(now) != string(kept)) {
			t.Errorf("%s: the file is not as it was: %v", step.name, err)
		} else if !step.kept && inode() != before {
			t.Errorf("%s: the file was written", step.name)
		}
	}
}
