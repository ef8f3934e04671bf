package watcher_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/watcher"
)

// ownChanges is the batch of what pannier itself has changed.
func ownChanges(seq uint64, dirs ...string) pannier.Batch {
	return pannier.Batch{Seq: seq, Dirs: slices.Sorted(slices.Values(dirs)), OwnChanges: dirs, Trigger: pannier.TriggerManual}
}

func TestScanDirsIsAtOnce(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		if seq := b.ScanDirs(b.skill); seq != 2 {
			t.Errorf("promised %d, want 2", seq)
		}
		b.takeAfter(0, ownChanges(2, b.skill))
		b.nothing(time.Hour)
		b.kernel().tell(b.skill + "/SKILL.md") // is as isolated as before
		b.takeAfter(settle, b.event(3, b.skill))
	})
}

func TestScanDirsOvertakesWhatIsSettling(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		other := filepath.Join(b.root, "other")
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(settle / 2)
		seq, again := b.ScanDirs(other), b.ScanDirs(b.root, other)
		b.takeAfter(0, ownChanges(2, other, b.root))
		b.takeAfter(settle/2, b.event(3, b.skill))
		if seq != 2 || again != 2 {
			t.Errorf("promised %d and %d, want 2 twice", seq, again)
		}
		b.nothing(time.Hour)
	})
}

func TestScanDirsGoesWithWhatIsDue(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		other := filepath.Join(b.root, "other")
		seq, rescan := b.ScanDirs(other), b.Rescan()
		got := b.take()
		if !got.Full || !slices.Equal(got.OwnChanges, []string{other}) || got.Seq != seq || seq != rescan {
			t.Errorf("batch %+v, want the one of both, %d and %d", got, seq, rescan)
		}
		b.nothing(time.Hour)
	})
}

func TestScanDirsWhileBatchIsOnOffer(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		other := filepath.Join(b.root, "other")
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(time.Minute)
		if seq := b.ScanDirs(other); seq != 3 {
			t.Errorf("promised %d, want 3", seq)
		}
		got := b.take()
		want := pannier.Batch{Seq: 3, Dirs: []string{b.skill, other}, OwnChanges: []string{other}, Trigger: pannier.TriggerManual}
		slices.Sort(want.Dirs)
		if diff := cmp.Diff(want, got, ignoreSince); diff != "" {
			t.Errorf("batch (-want +got):\n%s", diff)
		}
		b.nothing(time.Hour)
	})
}

// TestPendingScanDirs asks at every moment that there is, and checks that the batch that was promised names the directory and is
// handed over after the call, and that no other mark is lost.
func TestPendingScanDirs(t *testing.T) {
	const moments = 8
	for moment := range moments {
		t.Run(fmt.Sprint(moment), func(t *testing.T) { testScanDirsAt(t, moment) })
	}
}

func testScanDirsAt(t *testing.T, moment int) {
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
		func() { p.Change("/a", false, at(1)) }, offer, func() { p.Change("/b", false, at(2)) }, p.Withdraw,
		func() { p.RescanDirs(at(3), "/mine") }, offer, deliver, func() {},
	}
	for i, step := range steps {
		if i == moment {
			promised, before = p.RescanDirs(at(9), "/own"), len(taken)
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
	if b := taken[kept]; b.Full || !slices.Contains(b.Dirs, "/own") || !slices.Contains(b.OwnChanges, "/own") {
		t.Errorf("the promised batch is %+v", b)
	}
	for _, dir := range []string{"/a", "/b", "/mine"} {
		if !slices.ContainsFunc(taken, func(b pannier.Batch) bool { return slices.Contains(b.Dirs, dir) }) {
			t.Errorf("%s was lost in %+v", dir, taken)
		}
	}
}

func TestManyScanDirsAreBounded(t *testing.T) {
	p := newPending()
	for i := range watcher.MaxDirty + 1 {
		p.RescanDirs(at(1), fmt.Sprintf("/%d", i))
	}
	if b := p.Offer(at(1)); !b.Full || len(b.Dirs) > 0 || len(b.OwnChanges) != watcher.MaxDirty {
		t.Errorf("full %v, %d directories, %d sure", b.Full, len(b.Dirs), len(b.OwnChanges))
	}
}

func TestRevisit(t *testing.T) {
	grace := func(seq uint64) pannier.Batch { return pannier.Batch{Seq: seq, Trigger: pannier.TriggerGrace} }
	inBubble(t, nil, func(b *bubble) {
		b.RevisitAt(time.Now().Add(time.Minute))
		b.takeAfter(time.Minute, grace(2))
		b.nothing(time.Hour)

		b.RevisitAt(time.Now().Add(time.Minute))
		b.RevisitAt(time.Time{})
		b.nothing(time.Hour)

		b.RevisitAt(time.Now().Add(-time.Minute))
		b.takeAfter(0, grace(3))

		b.RevisitAt(time.Now().Add(settle / 2)) // and a change keeps its time to settle
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(settle/2, grace(4))
		b.takeAfter(settle/2, b.event(5, b.skill))
	})
}

// TestPendingLosesNothing takes random steps and checks that each mark is in a batch that was put on offer behind it, and that
// what was promised is in the batch of that number.
func TestPendingLosesNothing(t *testing.T) {
	for seed := range uint64(500) {
		m := pendingModel{Pending: newPending(), t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), open: map[string]time.Duration{}}
		for range 100 {
			m.step()
		}
		m.Withdraw()
		for _, ok := m.Due(); ok; _, ok = m.Due() {
			m.offer()
			m.deliver()
		}
		if len(m.open) > 0 || len(m.promised) > 0 {
			t.Fatalf("seed %d: lost %v, promised %v", seed, m.open, m.promised)
		}
	}
}

// pendingModel knows what is still to be handed over.
type pendingModel struct {
	*watcher.Pending
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	now       time.Duration
	offered   *pannier.Batch
	offeredAt time.Duration
	open      map[string]time.Duration // when a directory was last marked, where that is in no batch that was handed over
	promised  []promise
}

// promise is that a batch names a directory as sure, or, where dir is empty, that it is full.
type promise struct {
	dir string
	seq uint64
}

func (m *pendingModel) step() {
	m.now++
	dir := [...]string{"/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/g", "/e/f/h"}[m.random.IntN(8)]
	switch m.random.IntN(8) {
	case 0, 1:
		m.Change(dir, m.random.IntN(3) == 0, at(m.now))
		m.open[dir] = m.now
	case 7:
		m.Join(dir, "/e")
	case 2:
		m.promised = append(m.promised, promise{dir, m.RescanDirs(at(m.now), dir)})
	case 3:
		m.promised = append(m.promised, promise{"", m.Rescan(at(m.now))})
	case 4:
		if _, ok := m.Due(); ok && m.offered == nil {
			m.offer()
		}
	case 5:
		m.Withdraw()
		m.offered = nil
	case 6:
		if m.offered != nil {
			m.deliver()
		}
	}
}

func (m *pendingModel) offer() {
	m.now++
	b := m.Offer(at(m.now))
	m.offered, m.offeredAt = &b, m.now
}

func (m *pendingModel) deliver() {
	m.Delivered(at(m.now))
	b := m.offered
	m.offered = nil
	for dir, marked := range m.open {
		if marked <= m.offeredAt && (b.Full || slices.Contains(b.Dirs, dir)) {
			delete(m.open, dir)
		}
	}
	m.promised = slices.DeleteFunc(m.promised, func(p promise) bool {
		kept := b.Full && p.dir == "" || p.dir != "" && slices.Contains(b.OwnChanges, p.dir) && (b.Full || slices.Contains(b.Dirs, p.dir))
		if p.seq <= b.Seq && !kept {
			m.t.Fatalf("seed %d: batch %+v does not keep %+v", m.seed, b, p)
		}
		return p.seq <= b.Seq
	})
}
