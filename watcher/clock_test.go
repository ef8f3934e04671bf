package watcher_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/watcher"
)

// TestClockJumps sets the clock by a nanosecond, which the kernel tells of as of any other jump: every sidecar on the machine then
// compares everything, those of the tests of other packages too. So it runs alone, with PANNIER_SET_CLOCK.
func TestClockJumps(t *testing.T) {
	if os.Getenv("PANNIER_SET_CLOCK") == "" {
		t.Skip("it sets the clock of the machine: set PANNIER_SET_CLOCK, and run nothing beside it")
	}
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

// setClock has the kernel set the clock forward by a nanosecond (adjtimex(2), ADJ_SETOFFSET).
func setClock(t *testing.T) {
	t.Helper()
	if _, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO, Time: unix.Timeval{Usec: 1}}); err != nil {
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

// script is a timer that does what a test wants, one call after the other, and then fails as if it were closed.
type script struct {
	t     *testing.T
	calls []call
}

type call struct {
	what string
	err  error
}

func (s *script) next(what string) error {
	if len(s.calls) == 0 {
		return os.ErrClosed
	}
	c := s.calls[0]
	s.calls = s.calls[1:]
	if c.what != what {
		s.t.Errorf("%s, want %s", what, c.what)
	}
	return c.err
}

func (s *script) Arm() error               { return s.next("arm") }
func (s *script) Read([]byte) (int, error) { return 0, s.next("read") }
func (s *script) Close() error             { return nil }

// TestJumpsThatFollowEachOther has some before the timer is armed, which says so and is armed nevertheless.
func TestJumpsThatFollowEachOther(t *testing.T) {
	jump, broken := unix.ECANCELED, unix.EIO
	for _, c := range []struct {
		name  string
		calls []call
		jumps int
		told  error
	}{
		{"one", []call{{"arm", nil}, {"read", jump}, {"arm", nil}}, 1, nil},
		{"before the first arming", []call{{"arm", jump}, {"read", jump}, {"arm", nil}}, 1, nil},
		{"before it is armed again", []call{{"arm", nil}, {"read", jump}, {"arm", jump}, {"arm", nil}, {"read", jump}, {"arm", nil}}, 3, nil},
		{"none, and no timer", []call{{"arm", broken}}, 0, broken},
		{"none, for it breaks", []call{{"arm", nil}, {"read", broken}}, 0, broken},
		{"one, and then it breaks", []call{{"arm", nil}, {"read", jump}, {"arm", broken}}, 1, broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, jumps, told := &script{t: t, calls: c.calls}, 0, error(nil)
			synctest.Test(t, func(*testing.T) {
				end := watcher.ListenToClock(s, func() { jumps++ }, func(err error) { told = err })
				synctest.Wait()
				end()
			})
			if jumps != c.jumps || told != c.told || len(s.calls) > 0 {
				t.Errorf("%d jumps, told %v, %d calls are left; want %d and %v", jumps, told, len(s.calls), c.jumps, c.told)
			}
		})
	}
}
