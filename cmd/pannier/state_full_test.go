package main

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pannier"
)

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
