package watcher_test

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"pannier"
	"pannier/watcher"
)

func TestBackoff(t *testing.T) {
	var b watcher.Backoff
	now := epoch
	for i, want := range []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s} {
		b.Fail(now)
		if got := b.At().Sub(now); got < want*9/10 || got > want*11/10 {
			t.Errorf("try %d after %v, want %v give or take a tenth", i, got, want)
		}
		now = b.At()
	}
	b.Fail(now.Add(30 * s))
	if got := b.At().Sub(now.Add(30 * s)); got < 54*s {
		t.Errorf("try after %v, want what worked for half a minute only to wait as long as before", got)
	}
	now = now.Add(time.Hour)
	b.Fail(now)
	if got := b.At().Sub(now); got > 2*s {
		t.Errorf("try after %v, want the first delay after an hour that worked", got)
	}
}

// makeRefused makes a directory that the kernel refuses to watch.
func makeRefused(b *bubble) string {
	refused := filepath.Join(b.root, "refused")
	mkdir(b.t, refused)
	b.kernel().let(refused, syscall.ENOSPC)
	b.kernel().tell(refused)
	return refused
}

func TestRefusedDirectoryIsPolledUntilItIsHeard(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		refused := makeRefused(b)
		got := b.takeAfter(settle, pannier.Batch{Seq: 2, Dirs: []string{refused}, Trigger: pannier.TriggerEvent})
		h := b.Health()
		if h.Mode != "inotify+poll" || h.Polled != 1 || !containsAll(h.Problem, refused, "no space", "fs.inotify.max_user_watches", "polling") {
			t.Errorf("batch %+v, health %+v, want one that tells of %s", got, h, refused)
		}
		if len(h.Reasons) != 1 || h.Reasons[0].Root != "skills" || h.Reasons[0].Severity != pannier.SeverityWarning {
			t.Errorf("reasons %+v, want one for the root", h.Reasons)
		}
		b.takeAll(time.Minute)
		edit(b.t, filepath.Join(refused, "SKILL.md"))
		b.untilTold(refused)
		b.kernel().let(refused, nil)
		b.takeAll(2 * time.Minute)
		if h := b.Health(); h.Mode != "inotify" || h.Problem != "" || h.Watches != 4 || h.Polled != 0 || len(h.Reasons) != 0 {
			t.Errorf("health %+v, want it mended", h)
		}
		b.kernel().tell(refused + "/SKILL.md")
		b.takeAfter(settle, b.event(b.seq+1, refused))
	})
}

func TestRetriesOfRefusedDirectoriesAreFew(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		makeRefused(b)
		b.takeAll(time.Minute)
		before := b.kernel().asked()
		b.takeAll(time.Hour)
		if n := b.kernel().asked() - before; n < 50 || n > 70 {
			t.Errorf("asked %d times in an hour, want once a minute", n)
		}
	})
}

func TestRefusedDirectoryIsNotPolledWhereThatIsNotWanted(t *testing.T) {
	const resync = time.Minute
	change := func(o *watcher.Options, _ *bubble) { o.Mode, o.Resync = watcher.Inotify, resync }
	inBubble(t, change, func(b *bubble) {
		b.take()
		b.pass(time.Second)
		refused := makeRefused(b)
		b.takeAfter(settle, b.event(3, refused))
		h := b.Health()
		if h.Mode != "degraded" || h.Polled != 0 || !containsAll(h.Problem, refused, "no space", "fs.inotify.max_user_watches", "resync") {
			t.Errorf("health %+v, want one that tells of %s", h, refused)
		}
		b.kernel().let(refused, nil)
		b.takeAll(2 * resync)
		if h := b.Health(); h.Mode != "inotify" || h.Problem != "" || h.Watches != 4 || !b.kernel().watches(refused) {
			t.Errorf("health %+v, want it mended", h)
		}
	})
}

func TestNoBackendAtFirst(t *testing.T) {
	for mode, without := range map[watcher.Mode]string{watcher.Auto: "poll", watcher.Inotify: "degraded"} {
		t.Run(string(mode), func(t *testing.T) {
			change := func(o *watcher.Options, b *bubble) { o.Mode, b.openErr = mode, syscall.EMFILE }
			inBubble(t, change, func(b *bubble) {
				b.takeAll(time.Minute)
				if h := b.Health(); h.Mode != without || !containsAll(h.Problem, "fs.inotify.max_user_instances") {
					t.Errorf("health %+v, want it to tell of the limit", h)
				}
				b.letOpen(nil)
				b.takeAll(2 * time.Minute)
				if h := b.Health(); h.Mode != "inotify" || h.Watches != 3 || h.Polled != 0 || !slices.Equal(h.Roots, []string{"skills"}) {
					t.Errorf("health %+v, want everything armed", h)
				}
				b.kernel().tell(b.skill + "/SKILL.md")
				b.untilTold(b.skill)
			})
		})
	}
}

func TestBackendThatEndsIsReplaced(t *testing.T) {
	for mode, without := range map[watcher.Mode]string{watcher.Auto: "poll", watcher.Inotify: "degraded"} {
		t.Run(string(mode), func(t *testing.T) {
			inBubble(t, func(o *watcher.Options, _ *bubble) { o.Mode = mode }, func(b *bubble) {
				b.letOpen(syscall.ENFILE)
				if err := b.kernel().Close(); err != nil {
					t.Fatal(err)
				}
				b.takeAfter(settle, full(2, pannier.TriggerError))
				if h := b.Health(); h.Mode != without {
					t.Errorf("health %+v, want %s", h, without)
				}
				b.letOpen(nil)
				b.takeAll(2 * time.Minute)
				if h := b.Health(); h.Mode != "inotify" || h.Watches != 3 || h.Polled != 0 {
					t.Errorf("health %+v, want watching to go on", h)
				}
			})
		})
	}
}
