package watcher_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/watcher"
)

// TestClockJumps sets the clock to the time that it shows, which the kernel tells of as of any other: nothing of the machine is
// moved by more than a moment.
func TestClockJumps(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	w, err := watcher.New(liveOptions(t, watcher.Auto, rules(workspace, root)))
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, w)
	for range 2 { // each jump is told of, not the first alone
		setClock(t)
		l.until("a resync", func() bool { return l.full && l.why[pannier.TriggerResync] })
		l.forget()
		clear(l.why)
	}
}

func setClock(t *testing.T) {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		t.Fatal(err)
	}
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &now); err != nil {
		t.Skip("the clock can be set by root alone: ", err)
	}
}

// TestResyncAfterAJump has one at once, whatever the interval is, and the next after the interval.
func TestResyncAfterAJump(t *testing.T) {
	for name, interval := range map[string]time.Duration{"with resyncs": time.Hour, "without": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(o *watcher.Options, _ *bubble) { o.Resync = interval }, func(b *bubble) {
				b.jump()
				b.takeAfter(0, full(2, pannier.TriggerResync))
				if interval == 0 {
					return
				}
				last := time.Now()
				if got, took := b.take(), time.Since(last); got.Trigger != pannier.TriggerResync || took < interval*9/10 {
					t.Errorf("%+v after %v", got, took)
				}
			})
		})
	}
}
