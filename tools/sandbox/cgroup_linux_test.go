package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// needBound skips a test where no control group has a bound.
func needBound(t *testing.T, bound string) {
	t.Helper()
	needSandbox(t)
	if r := Support(); !slices.Contains(r.Bounds, bound) {
		t.Skipf("no control group bounds %s: %s", bound, r.Unbounded)
	}
}

// TestBoundsOfCalls has processes of a call exceed together what each of them may have.
func TestBoundsOfCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		bound, script string
		limits        Limits
	}{
		"processor time": {BoundProcessor, "for i in 1 2 3 4; do (while :; do :; done) & done; wait", Limits{CPUSeconds: 1}},
		"memory":         {BoundMemory, "for i in 1 2 3 4; do (head -c 60000000 /dev/zero | tail) & done; wait; sleep 1000", Limits{MemoryBytes: 100 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			needBound(t, tt.bound)
			withLayers(t, func(t *testing.T) {
				spec := shell(tt.script)
				spec.Limits = tt.limits
				exit, _ := runs(t, spec)
				if supported().whole && (exit.Exceeded != tt.bound || exit.Signal == 0) || exit.TimedOut {
					t.Errorf("%+v", exit)
				}
				if exit, out := runs(t, shell("echo ran")); exit.Exceeded != "" || out != "ran\n" {
					t.Errorf("the next call: %q, %+v", out, exit)
				}
			})
		})
	}
	t.Run("processes", func(t *testing.T) {
		needBound(t, BoundProcesses)
		withLayers(t, func(t *testing.T) {
			spec := shell("for i in $(seq 60); do sleep 1000 & done; echo all")
			spec.Limits.Processes = 20
			if _, out := runs(t, spec); strings.Contains(out, "all\n") {
				t.Errorf("%q", out)
			}
		})
	})
}

// TestGroupsAreRemoved when they are released, and when their process was killed; and others are made if they are gone.
func TestGroupsAreRemoved(t *testing.T) {
	needBound(t, BoundProcessor)
	t.Cleanup(Release)
	runs(t, shell("true"))
	g := sharedGroups()
	for _, spare := range g.spare {
		if procs, err := os.ReadFile(filepath.Join(spare.dir, "cgroup.procs")); err != nil || len(procs) > 0 {
			t.Errorf("processes %q, %v", procs, err)
		}
	}
	Release()
	if own, _ := ownGroup("/proc/self"); strings.HasPrefix(own, g.dir) {
		t.Skip("this process is in the control group")
	}
	if _, err := os.Stat(g.dir); err == nil {
		t.Errorf("%s is there after Release", g.dir)
	}

	base := filepath.Dir(g.dir)
	stale, err := os.MkdirTemp(base, groupPrefix)
	must(t, err)
	must(t, os.Mkdir(filepath.Join(stale, "1"), 0o755))
	left := exec.Command("/bin/sleep", "1000")
	must(t, left.Start())
	must(t, os.WriteFile(filepath.Join(stale, "1", "cgroup.procs"), []byte(strconv.Itoa(left.Process.Pid)), 0))
	runs(t, shell("true"))
	if err := left.Wait(); err == nil || left.ProcessState.ExitCode() != -1 {
		t.Errorf("the process that was left: %v", err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Errorf("%s is there after the next start", stale)
	}
	for _, spare := range sharedGroups().spare {
		must(t, os.Remove(spare.dir))
	}
	if exit, out := runs(t, shell("echo ran")); exit.Code != 0 || out != "ran\n" {
		t.Errorf("after the groups were removed: %q, %+v", out, exit)
	}
}

func TestOwnGroup(t *testing.T) {
	for name, tt := range map[string]struct{ cgroup, mounts, want string }{
		"a container": {"0::/\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "/sys/fs/cgroup"},
		"a service":   {"0::/system.slice/p.service\n", "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/system.slice/p.service"},
		"both":        {"4:memory:/a\n0::/b\n", "29 1 0:25 / /m rw - cgroup cgroup rw,memory\n30 23 0:26 / /u rw - cgroup2 cgroup rw\n", "/u/b"},
		"a part":      {"0::/docker/x/y\n", "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "/sys/fs/cgroup/y"},
		"elsewhere":   {"0::/../z\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", ""},
		"version 1":   {"4:memory:/a\n", "29 1 0:25 / /m rw - cgroup cgroup rw,memory\n", ""},
	} {
		proc := t.TempDir()
		must(t, os.WriteFile(filepath.Join(proc, "cgroup"), []byte(tt.cgroup), 0o644))
		must(t, os.WriteFile(filepath.Join(proc, "mountinfo"), []byte(tt.mounts), 0o644))
		if got, err := ownGroup(proc); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
