package watcher_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
	"pannier/watcher"
)

// insideEnv is set in a test that runs in namespaces of its own.
const insideEnv = "PANNIER_TEST_INSIDE"

// The limits of a user namespace.
const (
	maxInstances = "/proc/sys/user/max_inotify_instances"
	maxWatches   = "/proc/sys/user/max_inotify_watches"
)

// inNamespaces runs a test in a process of its own that is root in a user namespace and has its own mounts, so that limits
// and mounts are nobody else's, and needs no rights for that. It skips where the kernel does not let it.
func inNamespaces(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		test(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		t.Skipf("this kernel or container allows no namespaces: %v", err)
	}
	if _, reason, skipped := strings.Cut(string(out), "--- SKIP"); skipped {
		t.Skip(reason)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func limit(t *testing.T, what string, n int) {
	t.Helper()
	if err := os.WriteFile(what, fmt.Append(nil, n), 0); err != nil {
		t.Skipf("cannot set a limit: %v", err)
	}
}

func (l *live) untilMode(mode string) pannier.WatchHealth {
	l.t.Helper()
	var h pannier.WatchHealth
	l.until("mode "+mode, func() bool { h = l.Health(); return h.Mode == mode })
	return h
}

// TestUsedUpWatches goes from too few watches to enough and back.
func TestUsedUpWatches(t *testing.T) {
	inNamespaces(t, func(t *testing.T) {
		limit(t, maxWatches, 10)
		workspace, root := workspaceWithRoot(t)
		writer(t, fmt.Sprintf("skills %s 30", root))
		l := run(t, watcher.Auto, rules(workspace, root))
		h := l.untilMode("inotify+poll")
		if h.Watches != 32 || h.Polled != 22 || !containsAll(h.Problem, root, "and 21 more", "no space left", "fs.inotify.max_user_watches") {
			t.Errorf("health %+v, want 10 of 32 directories left to the kernel", h)
		}
		for i := range 30 {
			skill := filepath.Join(root, fmt.Sprintf("skill-%d", i))
			writer(t, "over "+skill+"/SKILL.md")
			l.untilDirty(skill)
		}
		writer(t, "mkdir "+root+"/new", "write "+root+"/new/SKILL.md")
		l.untilDirty(filepath.Join(root, "new"))

		limit(t, maxWatches, 1000)
		if h := l.untilMode("inotify"); h.Watches != 33 || h.Problem != "" || len(h.Reasons) != 0 {
			t.Errorf("health %+v, want all left to the kernel", h)
		}
		l.until("nothing polled", func() bool { return l.Health().Polled == 0 })
		for i := range 30 {
			l.forget()
			skill := filepath.Join(root, fmt.Sprintf("skill-%d", i))
			writer(t, "over "+skill+"/SKILL.md")
			l.untilDirty(skill)
		}

		limit(t, maxWatches, 10)
		writer(t, "mkdir "+root+"/newer", "write "+root+"/newer/SKILL.md")
		l.untilDirty(filepath.Join(root, "newer"))
		l.untilMode("inotify+poll")
	})
}

func TestUsedUpInstances(t *testing.T) {
	inNamespaces(t, func(t *testing.T) {
		limit(t, maxInstances, 0)
		workspace, root := workspaceWithRoot(t)
		l := run(t, watcher.Auto, rules(workspace, root))
		if h := l.untilMode("poll"); !containsAll(h.Problem, "too many open files", "fs.inotify.max_user_instances") {
			t.Errorf("health %+v, want it to tell of the limit", h)
		}
		writer(t, "mkdir "+root+"/one", "write "+root+"/one/SKILL.md")
		l.untilSeen(root + "/one/SKILL.md")
		limit(t, maxInstances, 10)
		if h := l.untilMode("inotify"); h.Watches != 3 || h.Problem != "" {
			t.Errorf("health %+v, want it mended", h)
		}
		l.forget()
		writer(t, "write "+root+"/one/SKILL.md")
		l.untilDirty(filepath.Join(root, "one"))
	})
}

// TestUsedUpFiles begins when no directory can be opened.
func TestUsedUpFiles(t *testing.T) {
	inNamespaces(t, func(t *testing.T) { // for a limit of its own
		workspace, root := workspaceWithRoot(t)
		writer(t, fmt.Sprintf("skills %s 30", root))
		var before unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		setFiles(t, unix.Rlimit{Cur: 3, Max: before.Max})
		l := run(t, watcher.Auto, rules(workspace, root))
		h := l.Health()
		setFiles(t, before)
		if h.Mode != "poll" || h.Watches != 2 || !containsAll(h.Problem, "too many open files", "ulimit -n") {
			t.Errorf("health %+v, want what needs no file polled, and the limit told", h)
		}
		if h := l.untilMode("inotify"); h.Problem != "" {
			t.Errorf("health %+v, want no problem", h)
		}
		l.until("all directories", func() bool { return l.Health().Watches == 32 })
		l.forget()
		writer(t, "write "+root+"/skill-7/SKILL.md")
		l.untilDirty(filepath.Join(root, "skill-7"))
	})
}

func setFiles(t *testing.T, limit unix.Rlimit) {
	t.Helper()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

// TestMountOverRoot mounts a file system over a root, of which the kernel tells nothing, and one that an overlay makes.
func TestMountOverRoot(t *testing.T) {
	inNamespaces(t, func(t *testing.T) {
		workspace, root := workspaceWithRoot(t)
		writer(t, "mkdir "+root+"/one")
		l := run(t, watcher.Poll, rules(workspace, root))
		lower, upper, work := realDir(t), realDir(t), realDir(t)
		writer(t, "mkdir "+lower+"/one")
		overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work)
		for _, m := range []struct{ kind, data string }{{"tmpfs", ""}, {"overlay", overlay}} {
			l.forget()
			if err := unix.Mount("none", root, m.kind, 0, m.data); err != nil {
				t.Skipf("cannot mount %s: %v", m.kind, err)
			}
			l.until("a full batch", func() bool { return l.full })
			if kind := fsx.RemoteKind(root); kind != "" {
				t.Errorf("%s is taken for %s", m.kind, kind)
			}
			writer(t, "mkdir "+root+"/one", "write "+root+"/one/SKILL.md")
			l.untilSeen(root + "/one/SKILL.md")
			l.forget()
			if err := unix.Unmount(root, 0); err != nil {
				t.Fatal(err)
			}
			l.until("a full batch", func() bool { return l.full })
			l.fence(workspace)
			writer(t, "write "+root+"/one/_meta.json")
			l.untilDirty(filepath.Join(root, "one"))
			clear(l.seen)
		}
	})
}

// TestOneDirectoryAtTwoPaths binds a skill to another path. The kernel tells of it by one of the two.
func TestOneDirectoryAtTwoPaths(t *testing.T) {
	inNamespaces(t, func(t *testing.T) {
		workspace, root := workspaceWithRoot(t)
		one, two := filepath.Join(root, "one"), filepath.Join(root, "two")
		writer(t, "mkdir "+one, "mkdir "+two)
		if err := unix.Mount(one, two, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("cannot bind: %v", err)
		}
		l := run(t, watcher.Auto, rules(workspace, root))
		if h := l.Health(); h.Mode != "inotify+poll" || h.Polled != 1 || !containsAll(h.Problem, "same directory", "list one of the two only") {
			t.Errorf("health %+v, want one of the two polled", h)
		}
		writer(t, "write "+one+"/SKILL.md")
		l.untilSeen(one+"/SKILL.md", two+"/SKILL.md")
		if err := unix.Unmount(two, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		l.untilMode("inotify")
		writer(t, "write "+two+"/SKILL.md")
		l.forget()
		l.untilDirty(two)
	})
}

// TestMountOverASkill mounts over a directory below a root, of which the kernel tells nothing, and takes it away again. From
// then on it is told of what happens there, once a resync or somebody who asks has made it look.
func TestMountOverASkill(t *testing.T) {
	for name, resync := range map[string]time.Duration{"resync": 500 * time.Millisecond, "rescan": 0} {
		t.Run(name, func(t *testing.T) {
			inNamespaces(t, func(t *testing.T) {
				workspace, root := workspaceWithRoot(t)
				skill, other, wanted := filepath.Join(root, "one"), realDir(t), realDir(t)
				writer(t, "mkdir "+skill+"/tools", "mkdir "+other+"/tools")
				o := liveOptions(t, watcher.Auto, rules(workspace, root))
				o.Resync = resync
				l := runWith(t, o, watcher.OpenNotify)
				l.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, skill, skill + "/tools", wanted}})
				tells := func(dirs ...string) {
					t.Helper()
					l.forget()
					if resync == 0 {
						l.Rescan()
					}
					l.until("a full batch", func() bool { return l.full })
					for _, dir := range dirs {
						l.until("the watch on "+dir, func() bool { writer(t, "write "+dir+"/_meta.json"); return l.dirs[dir] })
					}
				}
				tells(skill, skill+"/tools", wanted)
				for _, dir := range []string{skill, wanted} {
					if err := unix.Mount(other, dir, "", unix.MS_BIND, ""); err != nil {
						t.Skipf("cannot bind: %v", err)
					}
					tells(dir)
					if dir == skill {
						tells(dir + "/tools")
					}
					if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
						t.Fatal(err)
					}
					tells(dir)
				}
			})
		})
	}
}
