package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pannier"
	"pannier/publish/client"
)

// refusesChanges checks that nothing is answered as done that would be lost.
func (s *sidecarUnderTest) refusesChanges(t *testing.T, what string) {
	t.Helper()
	no := false
	_, err := s.SetPolicy(t.Context(), "two", "", pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: &no}})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != http.StatusServiceUnavailable || e.Code != "state.gone" {
		t.Errorf("%s: a policy is answered with %v", what, err)
	}
	for _, args := range [][]string{
		{"policy", "set", "two", "--enabled=false"}, {"environment", "--put"}, {"install", filepath.Join(s.workspace, "skills/two")},
	} {
		if out, code := s.run(args...); code == exitYes || !strings.Contains(out, "nothing was changed") || !strings.Contains(out, "hint: move the directory back, or restart") {
			t.Errorf("%s: %q: exit code %d\n%s", what, args, code, out)
		}
	}
	s.judged(t, "two", pannier.StateEligible, pannier.EnvironmentSidecar)
}

// TestStateThatGoes has the state directory deleted, moved and replaced under a running sidecar. What nobody would find any
// more is refused, and health tells of it, until the directory is back or the sidecar restarted.
func TestStateThatGoes(t *testing.T) {
	for name, tt := range map[string]struct{ goes, back string }{
		"deleted":                   {"rm -r s", ""},
		"deleted file":              {"rm s/*/state.db", ""},
		"deleted lock":              {"rm s/*/state.lock", ""},
		"moved":                     {"mv s t", "mv t s"},
		"replaced by an empty one":  {"mv s t; mkdir s", "rmdir s; mv t s"},
		"replaced by a copy":        {"mv s t; cp -a t s", "rm -r s; mv t s"},
		"replaced by a file":        {"mv s t; : > s", "rm s; mv t s"},
		"a link in its place":       {"mv s t; ln -s t s", "true"},
		"one of another's in place": {"mv s t; mkdir -p s/" + testWorkspaceID + "/audit; : > s/" + testWorkspaceID + "/state.db", "rm -r s; mv t s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := workspaceWith(t, skillScript("one", "One.")+skillScript("two", "Two.")), t.TempDir()
			args := []string{"--platform-url", "off", "--state-dir", filepath.Join(dir, "s")}
			s := startSidecar(t, w, args...)
			s.runs(t, exitYes, "", "policy", "set", "one", "--enabled=false")
			writeIn(t, dir, tt.goes)
			if tt.back != "true" {
				s.refusesChanges(t, name)
				s.alarms(t)
			}
			if tt.back != "" {
				writeIn(t, dir, tt.back)
				s.toldNoMore(t, "state_gone")
				s.keeps(t, "two")
			}
			s.stops(t)
			s = startSidecar(t, w, args...)
			s.keeps(t, "one")
			if tt.back != "" {
				s.judged(t, "two", pannier.StateDisabled, pannier.EnvironmentSidecar)
			}
			s.toldNoMore(t, "state_gone")
		})
	}
}

// keeps sets a policy, which is taken.
func (s *sidecarUnderTest) keeps(t *testing.T, slug string) {
	t.Helper()
	s.runs(t, exitYes, "", "policy", "set", slug, "--enabled=false")
	s.judged(t, slug, pannier.StateDisabled, pannier.EnvironmentSidecar)
}

// alarms checks that people are told.
func (s *sidecarUnderTest) alarms(t *testing.T) {
	t.Helper()
	if c := s.tellsOf(t, "state_gone"); c.Severity != pannier.SeverityError || !strings.Contains(c.Message, testWorkspaceID) {
		t.Errorf("condition %+v", c)
	}
	if n := s.metric(t, `pannier_health_conditions{code="state_gone"}`); n != 1 {
		t.Errorf("the metric is %v", n)
	}
	s.loggedOnce(t, "changes are refused, because they would be lost")
}

// TestStateThatIsGoneIsNotMadeAnew, neither for the audit log nor for the outbox: what comes back must find its place free.
func TestStateThatIsGoneIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	p := newOddPlatform(t, func(http.ResponseWriter, *http.Request) bool { return false })
	w, dir := workspaceWith(t, skillScript("two", "Two.")), t.TempDir()
	s := startSidecar(t, w, "--platform-url", p.server.URL, "--platform-token-file", tokenFile(t), "--state-dir", filepath.Join(dir, "s"))
	p.holds(t, "Two.")
	writeIn(t, dir, "mv s t")
	s.refusesChanges(t, "moved")
	s.write(t, skillScript("three", "Comes meanwhile."))
	p.holds(t, "Comes meanwhile.")
	if _, err := os.Lstat(filepath.Join(dir, "s")); err == nil {
		t.Error("there is a new state directory")
	}
	writeIn(t, dir, "mv -T t s")
	s.toldNoMore(t, "state_gone")
	s.write(t, skillScript("four", "Comes later."))
	p.holds(t, "Comes later.")
	s.keeps(t, "two")
}

// TestStateThatGoesToADiskThatHangs turns the link that the state directory is behind: whoever follows it waits, and nobody
// else does.
func TestStateThatGoesToADiskThatHangs(t *testing.T) {
	t.Parallel()
	d := mountDisk(t, map[string]string{"/" + testWorkspaceID + "/state.db": "", "/" + testWorkspaceID + "/state.lock": ""})
	w, dir := newWorkspace(t), t.TempDir()
	writeIn(t, dir, "mkdir t; ln -s t s")
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", filepath.Join(dir, "s"))
	if out, code := s.run("environment", "--put"); code != exitYes { // by then the database and the audit log are on the disk
		t.Fatalf("exit code %d\n%s", code, out)
	}
	s.hasEvent(t, pannier.EventCatalogUpdated, "") // and the journal, so that all that opens a file is the check of the place
	d.hang(t)
	writeIn(t, dir, "ln -s "+d.dir+" u; mv -T u s")
	eventually(t, "the state directory is looked at", d.lookedInto)
	for _, path := range []string{"/v1/health", "/livez", "/readyz", "/metrics"} {
		if status := s.status(t, path); status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
	}
	s.write(t, skillScript("one", "Comes meanwhile."))
	s.serves(t, "one", "Comes meanwhile.")
	s.endsWhileHanging(t, d)
}

// TestStateOnFullDisk fills the disk of the state directory, without a change by a client, and makes room again.
func TestStateOnFullDisk(t *testing.T) {
	t.Parallel()
	w, disk := newWorkspace(t), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a mount needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	writeIn(t, w, skillScript("one", "One.")+skillScript("two", "Two."))
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", filepath.Join(disk, "s"))
	within := func(bound time.Duration, what string, reached func(map[string]pannier.Condition) bool) {
		t.Helper()
		begun := time.Now()
		eventually(t, what, func() error {
			h, err := s.Health(t.Context())
			found := map[string]pannier.Condition{}
			for _, c := range h.Conditions {
				found[c.Code] = c
			}
			if err == nil && !reached(found) {
				err = fmt.Errorf("%+v", h.Conditions)
			}
			return err
		})
		if took := time.Since(begun); took > bound {
			t.Errorf("%s: after %v, want %v", what, took, bound)
		}
	}
	for _, changes := range []bool{false, true} {
		writeIn(t, disk, "dd if=/dev/zero of=filler bs=4096 status=none 2> /dev/null || true")
		within(10*time.Second, "health tells of the full disk", func(found map[string]pannier.Condition) bool {
			c := found["state_unwritable"]
			return c.Severity == pannier.SeverityError && c.Hint != ""
		})
		if n := s.metric(t, `pannier_health_conditions{code="state_unwritable"}`); n != 1 {
			t.Errorf("the metric is %v", n)
		}
		if changes {
			if out, code := s.run("policy", "set", "one", "--enabled=false"); code == exitYes {
				t.Errorf("a change on a full disk: %s", out)
			}
		}
		writeIn(t, disk, "rm filler")
		within(5*time.Second, "health tells of room", func(found map[string]pannier.Condition) bool {
			for _, code := range []string{"state_unwritable", "audit_unusable", "policy_unwritable"} {
				if _, ok := found[code]; ok {
					return false
				}
			}
			return true
		})
	}
	s.keeps(t, "two")
	if left, _ := filepath.Glob(filepath.Join(disk, "s/*/.try")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
