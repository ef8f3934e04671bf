package watcher_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/watcher"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

// newPending returns what is given out at once.
func newPending() *watcher.Pending { return watcher.NewPending(0, 0) }

// TestUnitsSettle makes changes, and checks what is given out when.
func TestUnitsSettle(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	type given struct {
		at   time.Duration
		dirs []string
	}
	tests := []struct {
		name string
		make func(p *watcher.Pending)
		want []given
	}{
		{"a change waits for settle", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
		}, []given{{100 * ms, []string{"/r/a"}}}},
		{"a burst waits for its end", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.Change("/r/a", false, at(90*ms))
		}, []given{{190 * ms, []string{"/r/a"}}}},
		{"noise ends at max-wait", func(p *watcher.Pending) {
			for i := range 100 {
				p.Change("/r/a", false, at(time.Duration(i)*50*ms))
			}
		}, []given{{3 * s, []string{"/r/a"}}}},
		{"another unit keeps none waiting", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.Change("/r/b", false, at(50*ms))
			p.Change("/r/b", false, at(120*ms))
		}, []given{{100 * ms, []string{"/r/a"}}, {220 * ms, []string{"/r/b"}}}},
		{"a directory settles with all below it", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.Change("/r", true, at(50*ms))
			p.Change("/r/b/c", false, at(90*ms))
			p.Change("/s", false, at(95*ms))
		}, []given{{190 * ms, []string{"/r", "/r/a", "/r/b/c"}}, {215 * ms, []string{"/s"}}}},
		{"a directory settles with those above it", func(p *watcher.Pending) {
			p.Change("/r/g", true, at(0))
			p.Change("/r/g/a", false, at(10*ms))
			p.Change("/r", true, at(20*ms))
			p.Change("/r/g/b", false, at(60*ms))
		}, []given{{160 * ms, []string{"/r", "/r/g", "/r/g/a", "/r/g/b"}}}},
		{"what moves between units is one", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.Change("/r/b", false, at(0))
			p.Join("/r/a", "/r/b")
			p.Change("/r/b", false, at(80*ms))
		}, []given{{180 * ms, []string{"/r/a", "/r/b"}}}},
		{"two that were joined are covered by one", func(p *watcher.Pending) {
			p.Change("/r/g", true, at(0))
			p.Change("/s/h", true, at(0))
			p.Join("/r/g", "/s/h")
			p.Change("/s", true, at(50*ms))
			p.Change("/r/g/a", false, at(90*ms))
		}, []given{{190 * ms, []string{"/r/g", "/r/g/a", "/s", "/s/h"}}}},
		{"a check does not wait", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.Check("/r/b", true, at(10*ms))
		}, []given{{10 * ms, []string{"/r/b"}}, {100 * ms, []string{"/r/a"}}}},
		{"a check waits for a change and keeps none waiting", func(p *watcher.Pending) {
			p.Check("/r/a", true, at(0))
			p.Change("/r/a", false, at(10*ms))
			p.Check("/r/a", true, at(90*ms))
		}, []given{{110 * ms, []string{"/r/a"}}}},
		{"everything settles as one", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.All(pannier.TriggerError, false, at(50*ms))
			p.Change("/s", false, at(60*ms))
		}, []given{{160 * ms, nil}}},
		{"many scans are apart", func(p *watcher.Pending) {
			p.Change("/r/a", false, at(0))
			p.Change("/r/b", false, at(1*ms))
			p.Change("/r/c", false, at(24*ms))
			p.Change("/r/d", false, at(26*ms))
		}, []given{{100 * ms, []string{"/r/a"}}, {125 * ms, []string{"/r/b", "/r/c"}}, {150 * ms, []string{"/r/d"}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := watcher.NewPending(100*ms, 3*s)
			tt.make(p)
			var got []given
			for due, ok := p.Due(); ok; due, ok = p.Due() {
				got = append(got, given{due.Sub(epoch), p.Offer(due).Dirs})
				p.Delivered(due)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(given{})); diff != "" {
				t.Errorf("given out (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPendingKeepsWhatComesDuringAnOffer(t *testing.T) {
	p := newPending()
	p.Change("/a", false, at(1))
	first := p.Offer(at(1))
	p.Change("/b", false, at(2))
	p.Delivered(at(2))
	second := p.Offer(at(2))
	want := []pannier.Batch{
		{Seq: 1, Dirs: []string{"/a"}, Trigger: pannier.TriggerEvent, Since: at(1)},
		{Seq: 2, Dirs: []string{"/b"}, Trigger: pannier.TriggerEvent, Since: at(2)},
	}
	if diff := cmp.Diff(want, []pannier.Batch{first, second}); diff != "" {
		t.Error(diff)
	}
}

func TestPendingPutsWithdrawnOfferTogetherAgain(t *testing.T) {
	p := newPending()
	p.Change("/a", true, at(1))
	taken := p.Offer(at(1))
	p.Change("/b", false, at(2))
	p.Change("/a/x", false, at(3))
	p.Withdraw()
	want := pannier.Batch{Seq: 1, Dirs: []string{"/a", "/a/x", "/b"}, Trigger: pannier.TriggerEvent, Since: at(1)}
	if diff := cmp.Diff(want, p.Offer(at(3))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/a"}, taken.Dirs); diff != "" {
		t.Errorf("a batch changed after it was made: %s", diff)
	}
}

func TestPendingReportsGravestTrigger(t *testing.T) {
	order := []pannier.Trigger{
		pannier.TriggerResync, pannier.TriggerEvent, pannier.TriggerStart,
		pannier.TriggerManual, pannier.TriggerError, pannier.TriggerOverflow,
	}
	for i, grave := range order {
		for _, mild := range order[:i] {
			for _, pair := range [][]pannier.Trigger{{grave, mild}, {mild, grave}} {
				p := newPending()
				p.All(pair[0], false, at(1))
				p.All(pair[1], false, at(2))
				if got := p.Offer(at(2)).Trigger; got != grave {
					t.Errorf("%v: trigger %s, want %s", pair, got, grave)
				}
			}
		}
	}
}

func TestPendingIsBounded(t *testing.T) {
	p := newPending()
	for i := range watcher.MaxDirty {
		p.Change(fmt.Sprintf("/%d", i), false, at(1))
	}
	if b := p.Offer(at(1)); b.Full || len(b.Dirs) != watcher.MaxDirty {
		t.Fatalf("full %v with %d directories, want all %d", b.Full, len(b.Dirs), watcher.MaxDirty)
	}
	p.Change("/one-more", false, at(2))
	p.Withdraw()
	want := pannier.Batch{Seq: 1, Full: true, Trigger: pannier.TriggerEvent, Since: at(1)}
	if diff := cmp.Diff(want, p.Offer(at(2))); diff != "" {
		t.Error(diff)
	}
}

// TestPendingIsQuiet goes through the life of a change.
func TestPendingIsQuiet(t *testing.T) {
	p := newPending()
	quiet := func(seq uint64, want bool) {
		t.Helper()
		if got := p.Quiet(seq); got != want {
			t.Errorf("quiet up to %d: %t, want %t", seq, got, want)
		}
	}
	quiet(0, true)
	p.Change("/a", false, at(1))
	quiet(0, false)
	p.Offer(at(1))
	quiet(0, false)
	quiet(1, true) // the consumer has it, which nobody has recorded yet
	p.Delivered(at(1))
	quiet(0, false)
	quiet(1, true)
	p.RescanDirs(at(2), "/b")
	quiet(1, false)
}

// TestNoiseWithoutEndIsQuiet makes changes in one unit without a pause. After max-wait the tree counts as quiet in spite of it, until it has
// settled once. Another unit counts.
func TestNoiseWithoutEndIsQuiet(t *testing.T) {
	const ms = time.Millisecond
	p := watcher.NewPending(100*ms, 3*time.Second)
	var taken uint64
	quiet := func(now time.Duration, want bool) {
		t.Helper()
		if got := p.Quiet(taken); got != want {
			t.Errorf("after %v: quiet %t, want %t", now, got, want)
		}
	}
	noise := func(from, to time.Duration) {
		for now := from; now < to; now += 50 * ms {
			p.Change("/r/a", false, at(now))
			if due, _ := p.Due(); !due.After(at(now)) {
				taken = p.Offer(at(now)).Seq
				p.Delivered(at(now))
			}
		}
	}
	noise(0, 2*time.Second)
	quiet(2*time.Second, false)
	noise(2*time.Second, 10*time.Second)
	quiet(10*time.Second, true)
	p.Change("/r/b", false, at(10*time.Second))
	quiet(10*time.Second, false)
	now := 10*time.Second + 200*ms
	taken = p.Offer(at(now)).Seq
	p.Delivered(at(now))
	quiet(now, true)
	noise(now, now+ms) // a new burst, which may become quiet
	quiet(now, false)
}

// TestPendingRescan asks at every moment that there is, and checks that the batch that was promised is full and is handed
// over after the call.
func TestPendingRescan(t *testing.T) {
	const moments = 7
	for moment := range moments {
		t.Run(fmt.Sprint(moment), func(t *testing.T) { testRescanAt(t, moment) })
	}
}

func testRescanAt(t *testing.T, moment int) {
	var (
		p        = newPending()
		offered  pannier.Batch
		taken    []pannier.Batch
		promised uint64
		before   int
	)
	offer := func() { offered = p.Offer(at(10)) }
	deliver := func() { taken = append(taken, offered); p.Delivered(at(10)) }
	steps := []func(){
		func() { p.Change("/a", false, at(1)) }, offer, func() { p.Change("/b", false, at(2)) }, p.Withdraw, offer, deliver, func() {},
	}
	for i, step := range steps {
		if i == moment {
			promised, before = p.Rescan(at(9)), len(taken)
		}
		step()
	}
	for _, ok := p.Due(); ok; _, ok = p.Due() {
		offer()
		deliver()
	}
	kept := slices.IndexFunc(taken, func(b pannier.Batch) bool { return b.Seq == promised })
	if kept < before {
		t.Fatalf("promised %d when %d batches were taken, of %+v in the end", promised, before, taken)
	}
	if b := taken[kept]; !b.Full || b.Trigger != pannier.TriggerManual {
		t.Errorf("the promised batch is %+v, want a full manual one", b)
	}
}
