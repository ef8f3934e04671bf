package registry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"pannier"
	"pannier/registry"
)

// put returns a change that sets the catalog.
func put(seq uint64, skills ...*pannier.Skill) func(*registry.Inputs) {
	return func(in *registry.Inputs) { in.Catalog = pannier.Catalog{Seq: seq, Skills: skills} }
}

func TestUpdate(t *testing.T) {
	r := registry.New(registry.Options{FirstVersion: 7})
	if r.Current() != nil {
		t.Error("there is a snapshot before the first update")
	}
	first := r.Update(put(1, skillsAt("skills/a")...))
	if first.Version != 7 || first != r.Current() || first.Time.IsZero() || first.Time.Location().String() != "UTC" {
		t.Errorf("first is %+v", first)
	}
	if again := r.Update(put(2, skillsAt("skills/a")...)); again != first {
		t.Error("nothing changed, and the snapshot is another")
	}
	if again := r.Update(func(*registry.Inputs) {}); again != first {
		t.Error("nothing was done, and the snapshot is another")
	}
	second := r.Update(put(3, skillsAt("skills/b")...))
	if second.Version != 8 || second == first || first.Version != 7 || first.Entries[0].Slug != "a" {
		t.Errorf("second is %+v, first %+v", second, first)
	}
	back := r.Update(put(4, skillsAt("skills/a")...))
	if back.Version != 9 || back.Digest != first.Digest {
		t.Errorf("the way back is %+v", back)
	}
}

// TestRememberComesAfterServing has a snapshot served and announced before its mark is kept.
func TestRememberComesAfterServing(t *testing.T) {
	var r *registry.Registry
	var announced <-chan *pannier.Snapshot
	remembered := 0
	r = registry.New(registry.Options{Remember: func(m registry.Mark) {
		remembered++
		if s := r.Current(); s == nil || s.Version != m.Version || s.Digest != m.Digest || len(announced) != 1 {
			t.Errorf("%+v is kept while %+v is served", m, s)
		}
	}})
	var cancel func()
	announced, cancel = r.Subscribe()
	defer cancel()
	r.Update(put(1, skillsAt("skills/a")...))
	<-announced
	r.Update(put(2, skillsAt("skills/b")...))
	r.Update(put(3, skillsAt("skills/b")...))
	if remembered != 2 {
		t.Errorf("%d marks are kept", remembered)
	}
}

func TestVersionOfTheProcessBefore(t *testing.T) {
	last := registry.Mark{Version: 5, Digest: build(t, registry.Inputs{}).Digest}
	for want, o := range map[uint64]registry.Options{
		5: {Last: last, FirstVersion: 9},
		9: {Last: registry.Mark{Version: 5}, FirstVersion: 9},
		6: {Last: registry.Mark{Version: 5}},
	} {
		if s := registry.New(o).Update(func(*registry.Inputs) {}); s.Version != want {
			t.Errorf("version %d, want %d", s.Version, want)
		}
	}
}

func TestFirstVersionIsAtLeastOne(t *testing.T) {
	if s := build(t, registry.Inputs{}); s.Version != 1 {
		t.Errorf("version %d", s.Version)
	}
}

func TestEmptyRegistryHasASnapshot(t *testing.T) {
	s := build(t, registry.Inputs{})
	if s.Digest.IsZero() || s.TreeDigest().IsZero() || len(s.Entries) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSubscribe(t *testing.T) {
	r := registry.New(registry.Options{})
	early, cancelEarly := r.Subscribe()
	defer cancelEarly()
	select {
	case s := <-early:
		t.Fatalf("got %v before there is any", s)
	default:
	}
	first := r.Update(put(1))
	late, cancelLate := r.Subscribe()
	defer cancelLate()
	for name, c := range map[string]<-chan *pannier.Snapshot{"early": early, "late": late} {
		if got := <-c; got != first {
			t.Errorf("%s got %v", name, got)
		}
	}
	r.Update(put(2))
	select {
	case s := <-early:
		t.Errorf("got %v again", s)
	default:
	}
	var newest *pannier.Snapshot
	for i := range 100 { // nobody reads, and nobody is kept waiting
		newest = r.Update(put(3, skillAt(fmt.Sprintf("skills/%d", i))))
	}
	if got := <-early; got != newest {
		t.Errorf("got version %d, want the newest", got.Version)
	}
	cancelLate()
	cancelLate()
	r.Update(put(4))
	if got := <-late; got != newest {
		t.Errorf("what lay there at the cancel was %v", got)
	}
	if _, open := <-late; open {
		t.Error("the channel is open after the cancel")
	}
}

func TestSubscribersEndWithTheNewest(t *testing.T) {
	r := registry.New(registry.Options{})
	var readers, writers sync.WaitGroup
	var cancels []func()
	last := make([]*pannier.Snapshot, 8)
	for i := range last {
		c, cancel := r.Subscribe()
		cancels = append(cancels, cancel)
		readers.Go(func() {
			for s := range c {
				if last[i] != nil && s.Version <= last[i].Version {
					t.Errorf("version %d came after %d", s.Version, last[i].Version)
				}
				last[i] = s
			}
		})
	}
	for w := range 2 {
		writers.Go(func() {
			for i := range 100 {
				r.Update(put(1, skillAt(fmt.Sprintf("skills/%d-%d", w, i))))
				if s := r.Current(); s.Entries[0].State != pannier.StateEligible {
					t.Error("half a snapshot")
				}
			}
		})
		writers.Go(func() { // comes and goes meanwhile
			for range 100 {
				c, cancel := r.Subscribe()
				var both sync.WaitGroup
				both.Go(cancel)
				both.Go(cancel)
				for range c {
				}
				both.Wait()
			}
		})
	}
	writers.Wait()
	for _, cancel := range cancels {
		cancel()
	}
	readers.Wait()
	for i, s := range last {
		if s != r.Current() {
			t.Errorf("reader %d ended with %v, not the newest", i, s)
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry.New(registry.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		type answer struct {
			s   *pannier.Snapshot
			err error
		}
		wait := func(ctx context.Context, seq uint64) chan answer {
			c := make(chan answer, 1)
			go func() {
				s, err := r.Wait(ctx, seq)
				c <- answer{s, err}
			}()
			synctest.Wait()
			return c
		}
		waits := func(name string, c chan answer, want bool) {
			t.Helper()
			synctest.Wait()
			if got := len(c) == 0; got != want {
				t.Errorf("%s waits: %t, want %t", name, got, want)
			}
		}
		any, second, third := wait(ctx, 0), wait(ctx, 2), wait(ctx, 3)
		waits("any, before the first snapshot", any, true)
		first := r.Update(put(1))
		waits("any", any, false)
		waits("second", second, true)
		r.Update(func(in *registry.Inputs) { in.Workspace.Name = "x" })
		waits("second, after a change that no batch made", second, true)
		current := r.Update(func(in *registry.Inputs) { in.Catalog.Seq = 2 })
		waits("second, after a look that changed nothing", second, false)
		waits("third", third, true)
		cancel()
		waits("third, after its end", third, false)
		if a := <-any; a.err != nil || a.s != first {
			t.Errorf("any: %+v", a)
		}
		if a := <-second; a.err != nil || a.s != current {
			t.Errorf("second: %+v", a)
		}
		if a := <-third; a.s != nil || !errors.Is(a.err, context.Canceled) {
			t.Errorf("third: %+v", a)
		}
		if s, err := r.Wait(ctx, 2); s != current || err != nil {
			t.Errorf("what is there already needs no context: %v, %v", s, err)
		}
	})
}

// What Wait answers with is never older than the look that was waited for.
func TestWaitIsABarrier(t *testing.T) {
	r := registry.New(registry.Options{})
	var group sync.WaitGroup
	for seq := uint64(1); seq <= 50; seq++ {
		group.Go(func() {
			s, err := r.Wait(t.Context(), seq)
			if err != nil || s.Version < seq {
				t.Errorf("waited for %d, got %v, %v", seq, s, err)
			}
		})
	}
	for seq := uint64(1); seq <= 50; seq++ {
		r.Update(put(seq, skillAt(fmt.Sprintf("skills/%d", seq))))
	}
	group.Wait()
}

func TestPanicInChangeLeavesTheRegistryUsable(t *testing.T) {
	r := registry.New(registry.Options{})
	first := r.Update(put(1))
	func() {
		defer func() { _ = recover() }()
		r.Update(func(*registry.Inputs) { panic("no") })
	}()
	if s := r.Update(put(2)); s != first {
		t.Errorf("got %v", s)
	}
}
