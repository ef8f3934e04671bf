package watcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/watcher"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

func TestDebounce(t *testing.T) {
	const ms, s, never = time.Millisecond, time.Second, -1
	tests := []struct {
		name                       string
		settle, quiet, maxWait     time.Duration
		scanned, first, last, told time.Duration
		want                       time.Duration
	}{
		{"isolated change waits for settle", 50 * ms, 2 * s, 5 * s, 0, 10 * s, 10 * s, 10 * s, 10*s + 50*ms},
		{"isolated burst waits for its end", 50 * ms, 2 * s, 5 * s, 0, 10 * s, 11 * s, 10 * s, 11*s + 50*ms},
		{"exactly debounce after a scan is isolated", 50 * ms, 2 * s, 5 * s, 8 * s, 10 * s, 10 * s, 10 * s, 10*s + 50*ms},
		{"soon after a scan waits for debounce", 50 * ms, 2 * s, 5 * s, 9 * s, 10 * s, 10 * s, 10 * s, 12 * s},
		{"before the scan was over too", 50 * ms, 2 * s, 5 * s, 11 * s, 10 * s, 10 * s, 10 * s, 12 * s},
		{"noise after a scan ends at max-wait", 50 * ms, 2 * s, 5 * s, 9 * s, 10 * s, 14 * s, 10 * s, 15 * s},
		{"noise that settles never ends at max-wait", 50 * ms, 2 * s, 5 * s, 0, 10 * s, 15*s - ms, 10 * s, 15 * s},
		{"a change apart from what is only looked at once more", 50 * ms, 2 * s, 5 * s, 9 * s, 10 * s, 11 * s, 11 * s, 11*s + 50*ms},
		{"a change with what is only looked at once more", 50 * ms, 2 * s, 5 * s, 9 * s, 9500 * ms, 10 * s, 10 * s, 12 * s},
		{"what is only looked at once more", 50 * ms, 2 * s, 5 * s, 9 * s, 10 * s, 10 * s, never, 10*s + 50*ms},
		{"the same with no settle", 0, 2 * s, 5 * s, 9 * s, 10 * s, 10 * s, never, 12 * s},
		{"no settle", 0, 2 * s, 5 * s, 0, 10 * s, 10 * s, 10 * s, 12 * s},
		{"nothing waits", 0, 0, 0, 0, 10 * s, 10 * s, 10 * s, 10 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := at(tt.told)
			if tt.told == never {
				told = time.Time{}
			}
			got := watcher.Due(tt.settle, tt.quiet, tt.maxWait, at(tt.scanned), at(tt.first), told, at(tt.last))
			if got != at(tt.want) {
				t.Errorf("due %v after the epoch, want %v", got.Sub(epoch), tt.want)
			}
		})
	}
}

func TestLedgerKeepsWhatComesDuringAnOffer(t *testing.T) {
	var l watcher.Ledger
	l.Dirty("/a", at(1))
	first := l.Offer()
	l.Dirty("/b", at(2))
	l.Delivered(at(3))
	second := l.Offer()
	want := []pannier.Batch{
		{Seq: 1, Dirs: []string{"/a"}, Trigger: pannier.TriggerEvent, Since: at(1)},
		{Seq: 2, Dirs: []string{"/b"}, Trigger: pannier.TriggerEvent, Since: at(2)},
	}
	if diff := cmp.Diff(want, []pannier.Batch{first, second}); diff != "" {
		t.Error(diff)
	}
}

func TestLedgerPutsWithdrawnOfferTogetherAgain(t *testing.T) {
	var l watcher.Ledger
	l.Dirty("/a", at(1))
	taken := l.Offer()
	l.Dirty("/b", at(2))
	l.Dirty("/a", at(3))
	l.Withdraw()
	want := pannier.Batch{Seq: 1, Dirs: []string{"/a", "/b"}, Trigger: pannier.TriggerEvent, Since: at(1)}
	if diff := cmp.Diff(want, l.Offer()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"/a"}, taken.Dirs); diff != "" {
		t.Errorf("a batch changed after it was made: %s", diff)
	}
}

func TestLedgerTellsGravestTrigger(t *testing.T) {
	order := []pannier.Trigger{
		pannier.TriggerResync, pannier.TriggerEvent, pannier.TriggerStart,
		pannier.TriggerManual, pannier.TriggerError, pannier.TriggerOverflow,
	}
	for i, grave := range order {
		for _, mild := range order[:i] {
			for _, pair := range [][]pannier.Trigger{{grave, mild}, {mild, grave}} {
				var l watcher.Ledger
				l.All(pair[0], at(1))
				l.All(pair[1], at(2))
				if got := l.Offer().Trigger; got != grave {
					t.Errorf("%v: trigger %s, want %s", pair, got, grave)
				}
			}
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	var l watcher.Ledger
	for i := range watcher.MaxDirty {
		l.Dirty(fmt.Sprintf("/%d", i), at(1))
	}
	if b := l.Offer(); b.Full || len(b.Dirs) != watcher.MaxDirty {
		t.Fatalf("full %v with %d directories, want all %d", b.Full, len(b.Dirs), watcher.MaxDirty)
	}
	l.Dirty("/one-more", at(2))
	l.Withdraw()
	want := pannier.Batch{Seq: 1, Full: true, Trigger: pannier.TriggerEvent, Since: at(1)}
	if diff := cmp.Diff(want, l.Offer()); diff != "" {
		t.Error(diff)
	}
}

// TestLedgerRescan asks at every moment that there is, and checks that the batch that was promised is full and is handed
// over after the call.
func TestLedgerRescan(t *testing.T) {
	const moments = 7
	for moment := range moments {
		t.Run(fmt.Sprint(moment), func(t *testing.T) { testRescanAt(t, moment) })
	}
}

func testRescanAt(t *testing.T, moment int) {
	var (
		l        watcher.Ledger
		offered  pannier.Batch
		taken    []pannier.Batch
		promised uint64
		before   int
	)
	offer := func() { offered = l.Offer() }
	deliver := func() { taken = append(taken, offered); l.Delivered(at(10)) }
	steps := []func(){
		func() { l.Dirty("/a", at(1)) }, offer, func() { l.Dirty("/b", at(2)) }, l.Withdraw, offer, deliver, func() {},
	}
	for i, step := range steps {
		if i == moment {
			promised, before = l.Rescan(at(9)), len(taken)
		}
		step()
	}
	for _, ok := l.Due(); ok; _, ok = l.Due() {
		offer()
		deliver()
	}
	if promised <= uint64(before) || promised > uint64(len(taken)) {
		t.Fatalf("promised %d when %d batches were taken; in the end it were %d", promised, before, len(taken))
	}
	if b := taken[promised-1]; !b.Full || b.Trigger != pannier.TriggerManual {
		t.Errorf("the promised batch is %+v, want a full manual one", b)
	}
}
