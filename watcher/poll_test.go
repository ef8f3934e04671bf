package watcher_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/internal/fsx"
	"pannier/watcher"
)

// pollWait is the longest that a change waits for the poller: the interval with its jitter.
const pollWait = 1100 * time.Millisecond

// inPollBubble runs a test under polling, after everything young was told once more.
func inPollBubble(t *testing.T, change func(*watcher.Options, *bubble), test func(b *bubble)) {
	t.Helper()
	inBubble(t, func(o *watcher.Options, b *bubble) {
		o.Mode = watcher.Poll
		edit(t, filepath.Join(b.skill, pannier.SkillFile))
		if change != nil {
			change(o, b)
		}
	}, func(b *bubble) {
		if len(b.kernels) > 0 {
			t.Error("the kernel was asked")
		}
		b.takeAll(time.Minute)
		test(b)
	})
}

func TestPollingFindsAChangeWithinItsInterval(t *testing.T) {
	inPollBubble(t, nil, func(b *bubble) {
		spread := make(map[time.Duration]bool)
		for range 20 {
			began := time.Now()
			edit(t, filepath.Join(b.skill, pannier.SkillFile))
			got := b.take()
			took := time.Since(began)
			if diff := cmp.Diff(b.event(b.seq, b.skill), got, ignoreSince); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
			if took < settle || took > pollWait+settle {
				t.Errorf("batch after %v, want it after one interval and %v at most", took, settle)
			}
			spread[took] = true
			if again := b.takeAll(time.Minute); len(again) != 1 || !slices.Equal(again[0].Dirs, []string{b.skill}) {
				t.Errorf("batches %+v, want the directory once more, when its stat is old", again)
			}
		}
		if len(spread) < 10 {
			t.Errorf("20 changes were found after %d different times", len(spread))
		}
		b.nothing(time.Hour)
	})
}

// TestPollingOnceMoreLeavesTheNextChangeIsolated changes a file right after what polling tells once more of the change before.
func TestPollingOnceMoreLeavesTheNextChangeIsolated(t *testing.T) {
	inPollBubble(t, nil, func(b *bubble) {
		for range 10 {
			edit(t, filepath.Join(b.skill, pannier.SkillFile))
			b.take()
			b.take() // once more
			began := time.Now()
			edit(t, filepath.Join(b.skill, pannier.SkillFile))
			b.take()
			if took := time.Since(began); took > pollWait+settle {
				t.Errorf("the next change came after %v, want it as soon as one that comes alone", took)
			}
			b.takeAll(time.Minute)
		}
	})
}

// TestPollingOnceMoreKeepsNoChangeWaiting makes a second change while what polling tells once more of the first is still to come.
func TestPollingOnceMoreKeepsNoChangeWaiting(t *testing.T) {
	two := func(b *bubble) string { return filepath.Join(b.root, "two") }
	inPollBubble(t, func(_ *watcher.Options, b *bubble) { mkdir(t, two(b)) }, func(b *bubble) {
		for range 10 {
			edit(t, filepath.Join(b.skill, pannier.SkillFile))
			b.take()
			began := time.Now()
			edit(t, filepath.Join(two(b), pannier.MetaFile))
			if b.untilTold(two(b)); time.Since(began) > pollWait+settle {
				t.Errorf("the second change came after %v, want it as soon as one that comes alone", time.Since(began))
			}
			b.takeAll(time.Minute)
		}
	})
}

func TestPollingWaitsForATreeThatMoves(t *testing.T) {
	inPollBubble(t, nil, func(b *bubble) {
		began := time.Now()
		edit(t, filepath.Join(b.skill, pannier.SkillFile))
		for time.Since(began) < 2*time.Second {
			b.nothing(settle / 2)
			edit(t, filepath.Join(b.skill, pannier.MetaFile))
		}
		got := b.take()
		if quiet := time.Since(began) - 2*time.Second; quiet > 2*settle {
			t.Errorf("batch %+v came %v after the tree was still, want it soon", got, quiet)
		}
	})
}

func TestPollingGoesOnBesideResyncs(t *testing.T) {
	inPollBubble(t, func(o *watcher.Options, _ *bubble) { o.Resync = 10 * time.Second }, func(b *bubble) {
		for range 50 {
			edit(t, filepath.Join(b.skill, pannier.SkillFile))
			if got := b.take(); got.Trigger != pannier.TriggerEvent {
				t.Errorf("batch %+v, want one that does not count as found by a resync alone", got)
			}
			b.takeAll(11 * time.Second)
		}
	})
}

func TestNoSuchMode(t *testing.T) {
	if _, err := watcher.New(watcher.Options{Rules: rules("/w"), Mode: "inotifi"}); err == nil {
		t.Error("no error")
	}
}

// The rest is on the disk, with another process as the writer.

func TestPollingSeesEveryKindOfChange(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	one, deep := filepath.Join(root, "one"), filepath.Join(root, "a", "b", "c")
	tests := []struct {
		name   string
		script []string
		want   []string
	}{
		{"edit in place", []string{"write " + one + "/SKILL.md"}, []string{one}},
		{"edit in place with the time put back", []string{"keep " + one + "/SKILL.md"}, []string{one}},
		{"edit of the identity", []string{"write " + one + "/_meta.json"}, []string{one}},
		{"rename over", []string{"over " + one + "/SKILL.md"}, []string{one}},
		{"rename over the identity", []string{"over " + one + "/_meta.json"}, []string{one}},
		{"write by another name", []string{"write " + workspace + "/hard"}, []string{one}},
		{"other case of the name", []string{"mv " + one + "/SKILL.md " + one + "/skill.md", "write " + one + "/skill.md"}, []string{one}},
		{"file removed", []string{"rm " + one + "/skill.md"}, []string{one}},
		{"new directories", []string{"mkdir " + deep, "write " + deep + "/SKILL.md"}, []string{root, filepath.Join(root, "a"), deep}},
		{"edit far below", []string{"over " + deep + "/SKILL.md"}, []string{deep}},
		{"renamed far below", []string{"mv " + deep + " " + deep + "2"}, []string{filepath.Dir(deep), deep, deep + "2"}},
		{"edit under the new name", []string{"write " + deep + "2/SKILL.md"}, []string{deep + "2"}},
		{"removed far below", []string{"rm " + deep + "2"}, []string{filepath.Dir(deep), deep + "2"}},
		{"removed tree", []string{"rm " + root + "/a"}, []string{root, filepath.Join(root, "a")}},
		{"configuration", []string{"write " + workspace + "/config.yaml"}, []string{workspace}},
		{"configuration replaced", []string{"over " + workspace + "/config.yaml"}, []string{workspace}},
		{"memory of the agent", []string{"write " + workspace + "/MEMORY.md"}, []string{workspace}},
	}
	writer(t, "mkdir "+one, "write "+one+"/SKILL.md", "write "+one+"/_meta.json", "write "+workspace+"/config.yaml",
		"hard "+one+"/SKILL.md "+workspace+"/hard")
	l := run(t, watcher.Poll, rules(workspace, root))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l.t = t
			l.forget()
			writer(t, tt.script...)
			for _, dir := range tt.want {
				l.untilDirty(dir)
			}
		})
	}
	if h := l.Health(); h.Mode != "poll" || h.Watches != 3 || h.Polled != 3 {
		t.Errorf("health %+v, want three directories polled", h)
	}
}

func TestPollingSeesWhatTheWorkspaceIsNot(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	l := run(t, watcher.Poll, rules(workspace, root))
	l.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root}, Entries: []string{"PROMPT.md"}})
	l.untilDirty(workspace)
	writer(t, "write "+workspace+"/PROMPT.md")
	l.forget()
	l.untilDirty(workspace)

	away := workspace + "-away"
	writer(t, "mv "+workspace+" "+away)
	l.until("no root", func() bool { return len(l.Health().Roots) == 0 })
	writer(t, "mv "+away+" "+workspace)
	l.until("the root again", func() bool { return len(l.Health().Roots) == 1 })
	l.forget()
	writer(t, "mkdir "+root+"/new", "write "+root+"/new/SKILL.md")
	l.untilDirty(filepath.Join(root, "new"))
}

// TestSwapOfAVolume does what a kubelet does with a ConfigMap, twice.
func TestSwapOfAVolume(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		one := filepath.Join(root, "one")
		writer(t, "mkdir "+root+"/..v0/one", "write "+root+"/..v0/one/SKILL.md",
			"link ..v0 "+root+"/..data", "link ..data/one "+one)
		l := run(t, mode, rules(workspace, root))
		for i := range 3 {
			old, now := fmt.Sprintf("%s/..v%d", root, i), fmt.Sprintf("%s/..v%d", root, i+1)
			l.Watch(pannier.WatchSet{Version: uint64(i + 1), Dirs: []string{root, one, old + "/one"}})
			l.fence(workspace)
			writer(t, "over "+old+"/one/SKILL.md")
			l.untilDirty(old + "/one")
			l.forget()
			writer(t, "mkdir "+now+"/one", "write "+now+"/one/SKILL.md", "relink "+filepath.Base(now)+" "+root+"/..data", "rm "+old)
			l.untilDirty(root)
		}
	})
}

func TestSkillThatIsALinkToAFile(t *testing.T) {
	inEachMode(t, func(t *testing.T, mode watcher.Mode) {
		workspace, root := workspaceWithRoot(t)
		target := realDir(t)
		one := filepath.Join(root, "one")
		writer(t, "mkdir "+one, "write "+target+"/pdf.md", "link "+target+"/pdf.md "+one+"/SKILL.md")
		l := run(t, mode, rules(workspace, root))
		l.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, one, target}})
		l.untilDirty(target)
		for range 3 {
			l.forget()
			writer(t, "write "+target+"/pdf.md")
			l.untilDirty(target)
		}
	})
}

// TestRemoteFileSystems has a stand-in for statfs, and a kernel that tells of nothing.
func TestRemoteFileSystems(t *testing.T) {
	for mode, want := range map[watcher.Mode]string{watcher.Auto: "inotify+poll", watcher.Inotify: "degraded"} {
		t.Run(string(mode), func(t *testing.T) {
			workspace, root := workspaceWithRoot(t)
			w, err := watcher.NewWith(liveOptions(t, mode, rules(workspace, root)), func() (watcher.Backend, error) { return newKernel(), nil })
			if err != nil {
				t.Fatal(err)
			}
			w.SetPollInterval(10 * time.Millisecond)
			w.SetRemoteKind(func(string) string { return "NFS" })
			l := begin(t, w)
			h := l.Health()
			if h.Mode != want || len(h.Reasons) != 2 || !containsAll(h.Reasons[1].Reason, root, "NFS") || h.Reasons[1].Root != "skills" {
				t.Errorf("health %+v, want mode %s with a reason for the root", h, want)
			}
			if mode == watcher.Inotify {
				if !containsAll(h.Problem, "NFS", "set watch to auto") || h.Polled != 0 {
					t.Errorf("health %+v, want it to say what to do", h)
				}
				return
			}
			if h.Problem != "" || h.Reasons[1].Severity != pannier.SeverityInfo {
				t.Errorf("health %+v, want no problem with what is as it should be", h)
			}
			one := filepath.Join(root, "one")
			writer(t, "mkdir "+one)
			l.untilDirty(one)
			writer(t, "write "+one+"/SKILL.md")
			l.untilSeen(one + "/SKILL.md")
		})
	}
}

func TestLocalFileSystemsAreTrusted(t *testing.T) {
	for _, path := range []string{t.TempDir(), "/dev/shm", "/proc", "/nowhere"} {
		if _, err := os.Stat(path); err == nil || path == "/nowhere" {
			if kind := fsx.RemoteKind(path); kind != "" {
				t.Errorf("%s is on %s", path, kind)
			}
		}
	}
}
