package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/watcher"
)

func TestIsolatedChangeWaitsForSettle(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(settle, b.event(2, b.skill))
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(debounce, b.event(3, b.skill))
		b.pass(debounce)
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(settle, b.event(4, b.skill))
	})
}

func TestLookWithoutAChangeLeavesTheNextOneIsolated(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.Rescan()
		if got := b.take(); got.Trigger != pannier.TriggerManual {
			t.Fatalf("batch %+v, want the rescan", got)
		}
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(settle, b.event(3, b.skill))
	})
}

// TestNewlyWatchedDirectoryLeavesTheNextChangeIsolated names a directory that is looked at once more because it may have changed
// before it was watched.
func TestNewlyWatchedDirectoryLeavesTheNextChangeIsolated(t *testing.T) {
	elsewhere := realDir(t)
	inBubble(t, nil, func(b *bubble) {
		b.Watch(pannier.WatchSet{Version: 1, Dirs: []string{b.root, b.skill, elsewhere}})
		b.takeAfter(0, b.event(2, elsewhere))
		b.kernel().tell(elsewhere + "/SKILL.md")
		b.takeAfter(settle, b.event(3, elsewhere))
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(debounce / 2)
		b.Watch(pannier.WatchSet{Version: 2, Dirs: []string{b.root, b.skill}, Entries: []string{"other"}})
		b.takeAfter(debounce/2, b.event(4, b.skill, b.workspace)) // which does not make it wait longer
	})
}

func TestBurstIsOneBatch(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		began := time.Now()
		for range 20 {
			b.kernel().tell(b.skill + "/SKILL.md")
			b.pass(settle / 2)
		}
		got := b.take()
		if took, want := time.Since(began), 20*settle/2+settle/2; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		if !got.Since.Equal(began) {
			t.Errorf("since %v, want %v", got.Since, began)
		}
	})
}

func TestNoSettle(t *testing.T) {
	inBubble(t, func(o *watcher.Options, _ *bubble) { o.Settle = 0 }, func(b *bubble) {
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(debounce, b.event(2, b.skill))
	})
}

func TestConstantNoiseEndsAtMaxWait(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(settle / 5):
					b.kernel().tell(b.skill + "/SKILL.md")
				}
			}
		}()
		for range 5 {
			began := time.Now()
			got := b.take()
			// The first event after a batch may come at the same instant, and may come one pause later.
			if took := time.Since(began); took < maxWait || took > maxWait+settle/5 {
				t.Errorf("batch %d came after %v, want %v", got.Seq, took, maxWait)
			}
		}
		close(stop)
		<-stopped
	})
}

func TestMarksAccumulateWhileConsumerIsBusy(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		other := filepath.Join(b.root, "two")
		began := time.Now()
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(time.Minute)
		mkdir(t, other)
		b.kernel().tell(other)
		b.pass(time.Minute)
		got := b.take()
		slices.Sort(got.Dirs)
		if diff := cmp.Diff(b.event(2, b.root, b.skill, other), got, ignoreSince); diff != "" {
			t.Error(diff)
		}
		if !got.Since.Equal(began) {
			t.Errorf("since %v, want %v", got.Since, began)
		}
		b.nothing(time.Hour)
	})
}

// TestAnyKindOfEventIsAHint has each kind alone: what is made executable, linked, or moved in from elsewhere makes no other.
func TestAnyKindOfEventIsAHint(t *testing.T) {
	for _, op := range []fsnotify.Op{fsnotify.Create, fsnotify.Write, fsnotify.Remove, fsnotify.Rename, fsnotify.Chmod} {
		t.Run(op.String(), func(t *testing.T) {
			inBubble(t, nil, func(b *bubble) {
				b.kernel().events <- fsnotify.Event{Name: b.skill + "/SKILL.md", Op: op}
				b.takeAfter(settle, b.event(2, b.skill))
			})
		})
	}
}

// An offer that nobody took is held back while the tree moves again, so that no half of a change is looked at.
func TestOfferWaitsForQuietAgain(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(time.Second)
		b.kernel().tell(b.skill + "/_meta.json")
		synctest.Wait()
		b.takeAfter(settle, b.event(2, b.skill))
	})
}

func TestManyDirectoriesBecomeFull(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		set := pannier.WatchSet{Version: 1}
		for i := range watcher.MaxDirty + 1 {
			set.Dirs = append(set.Dirs, filepath.Join(b.workspace, "far", fmt.Sprint(i)))
			mkdir(t, set.Dirs[i])
		}
		b.Watch(set)
		b.takeAfter(0, full(2, pannier.TriggerEvent))
	})
}

func TestRescan(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		if seq := b.Rescan(); seq != 2 {
			t.Errorf("promised %d, want 2", seq)
		}
		b.takeAfter(0, full(2, pannier.TriggerManual))
		b.nothing(time.Hour)
	})
}

func TestRescanWhileBatchIsOnOffer(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(time.Minute)
		seq := b.Rescan()
		again := b.Rescan()
		b.takeAfter(0, b.event(2, b.skill))
		b.takeAfter(0, full(3, pannier.TriggerManual))
		if seq != 3 || again != 3 {
			t.Errorf("promised %d and %d, want 3 twice", seq, again)
		}
		b.nothing(time.Hour)
	})
}

func TestRescanBeforeRunAndAfter(t *testing.T) {
	inBubble(t, func(_ *watcher.Options, _ *bubble) {}, func(b *bubble) {
		w, err := watcher.NewWith(watcher.Options{Rules: rules(b.workspace, b.root)}, b.open)
		if err != nil {
			t.Fatal(err)
		}
		w.Watch(pannier.WatchSet{Version: 1, Dirs: []string{b.skill}})
		if seq, h := w.Rescan(), w.Health(); seq != 1 || h.Mode != "degraded" || h.Problem == "" {
			t.Errorf("promised %d with health %+v, want 1 and a problem", seq, h)
		}
		ctx, cancel := context.WithCancel(b.t.Context())
		cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		w.Rescan()
		w.Watch(pannier.WatchSet{Version: 2})
		if h := w.Health(); h.Watches != 0 {
			t.Errorf("health %+v after the end", h)
		}
		if err := w.Run(b.t.Context()); err == nil {
			t.Error("a second Run is no error")
		}
	})
}

func TestResync(t *testing.T) {
	const resync = time.Minute
	inBubble(t, func(o *watcher.Options, _ *bubble) { o.Resync = resync }, func(b *bubble) {
		b.take() // due while the bubble came to rest
		spread := make(map[time.Duration]bool)
		last := time.Now()
		for seq := range uint64(50) {
			got := b.take()
			took := time.Since(last)
			last = time.Now()
			if diff := cmp.Diff(full(seq+3, pannier.TriggerResync), got, ignoreSince); diff != "" {
				t.Fatal(diff)
			}
			if seq > 0 && (took < resync*9/10 || took > resync*11/10) {
				t.Errorf("resync after %v, want %v give or take a tenth", took, resync)
			}
			spread[took] = true
		}
		if len(spread) < 40 {
			t.Errorf("50 resyncs came after %d different times", len(spread))
		}
	})
}

func TestOverflowArmsEverythingAnew(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		missed := filepath.Join(b.root, "missed")
		mkdir(t, missed)
		b.kernel().errors <- fsnotify.ErrEventOverflow
		b.takeAfter(settle, full(2, pannier.TriggerOverflow))
		if len(b.kernels) != 2 || !b.kernel().watches(missed) || !b.kernel().watches(b.skill) {
			t.Errorf("%d backends, and the last watches %v", len(b.kernels), b.kernel().WatchList())
		}
		b.pass(time.Minute)
		b.kernel().tell(missed + "/SKILL.md")
		b.takeAfter(settle, b.event(3, missed))
	})
}

func TestErrorIsFullBatch(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.kernel().errors <- errors.New("odd")
		b.takeAfter(settle, full(2, pannier.TriggerError))
	})
}

func TestLostWatchIsArmedAtResync(t *testing.T) {
	inBubble(t, func(o *watcher.Options, _ *bubble) { o.Resync = time.Hour }, func(b *bubble) {
		_ = b.kernel().Remove(b.skill) // as when a file system is unmounted
		b.take()
		if !b.kernel().watches(b.skill) {
			t.Errorf("watches %v, want %s among them", b.kernel().WatchList(), b.skill)
		}
	})
}

func TestShutdownInTheMiddleOfABurst(t *testing.T) {
	workspace := realDir(t)
	synctest.Test(t, func(t *testing.T) {
		k := newKernel()
		w, err := watcher.NewWith(watcher.Options{Rules: rules(workspace)}, func() (watcher.Backend, error) { return k, nil })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		for i := range 1000 {
			if i == 500 {
				cancel()
			}
			k.tell(filepath.Join(workspace, pannier.WorkspaceFile))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWorkspaceCountsForItsConfigurationAlone(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		for _, name := range []string{"notes.txt", "build", ".git", "config.yaml.bak"} {
			b.kernel().tell(filepath.Join(b.workspace, name))
			b.kernel().tell(b.workspace)
		}
		b.nothing(time.Hour)
		for i, name := range []string{pannier.WorkspaceFile, "..data", "skills"} {
			b.kernel().tell(filepath.Join(b.workspace, name))
			want := b.event(uint64(i+2), b.workspace)
			if name == "skills" {
				want.Dirs = []string{b.root, b.workspace}
			}
			b.takeAfter(settle, want)
			b.pass(time.Minute)
		}
	})
}

func TestBoundsOfTheRules(t *testing.T) {
	change := func(o *watcher.Options, b *bubble) {
		o.Rules.MaxDepth, o.Rules.MaxDirs = 2, 4
		for _, dir := range []string{"b/c/d", "e", "f", "g"} {
			mkdir(t, filepath.Join(b.root, dir))
		}
	}
	inBubble(t, change, func(b *bubble) {
		if h := b.Health(); h.Watches != 5 || h.Mode != "inotify" {
			t.Errorf("health %+v, want the workspace and 4 directories watched", h)
		}
		for path := range map[string]bool{"b/c": true, "b/c/d": true} {
			if b.kernel().watches(filepath.Join(b.root, path)) {
				t.Errorf("%s is watched, past the budget", path)
			}
		}
	})
	change = func(o *watcher.Options, b *bubble) {
		o.Rules.MaxDepth = 2
		mkdir(t, filepath.Join(b.root, "b", "c", "d"))
	}
	inBubble(t, change, func(b *bubble) {
		c := filepath.Join(b.root, "b", "c")
		if !b.kernel().watches(c) || b.kernel().watches(filepath.Join(c, "d")) {
			t.Errorf("watches %v, want them down to the second level", b.kernel().WatchList())
		}
	})
}
