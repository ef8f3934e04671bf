package watcher_test

import (
	"context"
	"errors"
	"fmt"
	"os"
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

func TestEachChangeWaitsForSettle(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		for i := range uint64(4) {
			b.kernel().tell(b.skill + "/SKILL.md")
			b.takeAfter(settle, b.event(i+2, b.skill))
		}
	})
}

// TestFirstChangeAfterALookWaitsForSettle has nothing of what was armed, looked at or lost before count as a change.
func TestFirstChangeAfterALookWaitsForSettle(t *testing.T) {
	looks := map[string]func(b *bubble){
		"rescan":   func(b *bubble) { b.Rescan() },
		"overflow": func(b *bubble) { b.kernel().errors <- fsnotify.ErrEventOverflow },
		"error":    func(b *bubble) { b.kernel().errors <- errors.New("odd") },
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(b *bubble) {
				look(b)
				if got := b.take(); !got.Full {
					t.Fatalf("batch %+v, want a full one", got)
				}
				b.kernel().tell(b.skill + "/SKILL.md")
				b.takeAfter(settle, b.event(3, b.skill))
			})
		})
	}
}

// TestFirstChangeAfterTheStartWaitsForSettle makes it right after the start batch, of a tree with directories that were armed during
// the start.
func TestFirstChangeAfterTheStartWaitsForSettle(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	skill := filepath.Join(root, "one")
	mkdir(t, skill)
	synctest.Test(t, func(t *testing.T) {
		k := newKernel()
		w, end := runOn(t, k, watcher.Options{Rules: rules(workspace, root), Settle: settle, MaxWait: maxWait})
		<-w.Batches()
		w.Watch(pannier.WatchSet{Version: 1, Dirs: []string{root, skill}})
		k.tell(skill + "/SKILL.md")
		began := time.Now()
		got := <-w.Batches()
		if took := time.Since(began); took != settle || !slices.Equal(got.Dirs, []string{skill}) {
			t.Errorf("batch %+v after %v, want the skill after %v", got, took, settle)
		}
		end()
	})
}

// TestNewlyWatchedDirectoryKeepsNoChangeWaiting names a directory that is looked at once more because it may have changed before
// it was watched.
func TestNewlyWatchedDirectoryKeepsNoChangeWaiting(t *testing.T) {
	elsewhere := realDir(t)
	inBubble(t, nil, func(b *bubble) {
		b.Watch(pannier.WatchSet{Version: 1, Dirs: []string{b.root, b.skill, elsewhere}})
		b.takeAfter(0, b.event(2, elsewhere))
		b.kernel().tell(elsewhere + "/SKILL.md")
		b.takeAfter(settle, b.event(3, elsewhere))
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(settle / 2)
		b.Watch(pannier.WatchSet{Version: 2, Dirs: []string{b.root, b.skill}, Entries: []string{"other"}})
		b.takeAfter(settle/2, b.event(4, b.skill))
		b.takeAfter(settle/2, b.event(5, b.workspace))
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
		b.takeAfter(0, b.event(2, b.skill))
	})
}

// TestNoiseOfOneSkillDelaysNoOther has one skill written all the time, and another one now and then.
func TestNoiseOfOneSkillDelaysNoOther(t *testing.T) {
	inBubble(t, func(_ *watcher.Options, b *bubble) { mkdir(b.t, filepath.Join(b.root, "two")) }, func(b *bubble) {
		two := filepath.Join(b.root, "two")
		stop := b.keepTelling(b.skill+"/SKILL.md", settle/5)
		for range 10 {
			b.kernel().tell(two + "/SKILL.md")
			began := time.Now()
			if b.untilTold(two); time.Since(began) > settle+settle/4 {
				t.Errorf("the other skill came after %v, want %v", time.Since(began), settle)
			}
			b.takeAll(time.Second)
		}
		stop()
	})
}

// TestOtherNamesDoNotCount tells of files that decide nothing, in a skill and in a root.
func TestOtherNamesDoNotCount(t *testing.T) {
	inBubble(t, func(_ *watcher.Options, b *bubble) { edit(b.t, filepath.Join(b.skill, "SKILL.md")) }, func(b *bubble) {
		for _, name := range []string{"run.log", ".SKILL.md.swp", "SKILL.md~", "4913", "data.json"} {
			for _, dir := range []string{b.skill, b.root} {
				path := filepath.Join(dir, name)
				edit(t, path)
				b.kernel().events <- fsnotify.Event{Name: path, Op: fsnotify.Create}
				b.kernel().tell(path)
				b.kernel().events <- fsnotify.Event{Name: path, Op: fsnotify.Chmod}
				b.kernel().events <- fsnotify.Event{Name: path, Op: fsnotify.Rename}
				b.kernel().events <- fsnotify.Event{Name: path, Op: fsnotify.Remove}
			}
		}
		b.nothing(time.Hour)
		select {
		case <-b.Touched():
		default:
			t.Error("nobody is told that the files of a skill are others")
		}
		for i, name := range []string{"skill.md", "_meta.json", "links.yaml", "lock.json", "..data"} {
			b.kernel().tell(filepath.Join(b.skill, name))
			b.takeAfter(settle, b.event(uint64(i+2), b.skill))
		}
	})
}

// TestDirectoriesAndLinksCount has them come and go, in a skill and in a root, where the entry is told of alone.
func TestDirectoriesAndLinksCount(t *testing.T) {
	inBubble(t, func(_ *watcher.Options, b *bubble) { edit(b.t, filepath.Join(b.skill, "SKILL.md")) }, func(b *bubble) {
		for _, dir := range []string{b.skill, b.root} {
			link, sub := filepath.Join(dir, "link"), filepath.Join(dir, "scripts")
			if err := os.Symlink("nowhere", link); err != nil {
				t.Fatal(err)
			}
			mkdir(t, sub)
			told := func(path string) string {
				if dir == b.root {
					return path
				}
				return dir
			}
			for _, path := range []string{link, sub} {
				b.kernel().events <- fsnotify.Event{Name: path, Op: fsnotify.Create}
				b.untilTold(told(path))
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
			b.kernel().events <- fsnotify.Event{Name: link, Op: fsnotify.Remove}
			b.takeAfter(settle, b.event(b.seq+1, told(link)))
		}
	})
}

// TestMoveBetweenDirectoriesIsOneBatch moves a skill from one directory to another, in which changes go on.
func TestMoveBetweenDirectoriesIsOneBatch(t *testing.T) {
	change := func(_ *watcher.Options, b *bubble) {
		mkdir(b.t, filepath.Join(b.root, "from", "x"))
		mkdir(b.t, filepath.Join(b.root, "to"))
	}
	inBubble(t, change, func(b *bubble) {
		from, to := filepath.Join(b.root, "from"), filepath.Join(b.root, "to")
		if err := os.Rename(from+"/x", to+"/x"); err != nil {
			t.Fatal(err)
		}
		b.kernel().events <- fsnotify.Event{Name: from + "/x", Op: fsnotify.Rename}
		b.kernel().events <- fsnotify.Event{Name: to + "/x", Op: fsnotify.Create}
		b.pass(settle / 2)
		b.kernel().tell(to + "/x/SKILL.md")
		got := b.take()
		for _, dir := range []string{from + "/x", to + "/x"} {
			if !slices.Contains(got.Dirs, dir) {
				t.Errorf("batch %+v, want %s in it", got, dir)
			}
		}
		b.nothing(time.Hour)
	})
}

// TestDirectoryInASkillSettlesWithIt wants a directory inside of a skill, which has changes after those of the skill itself.
func TestDirectoryInASkillSettlesWithIt(t *testing.T) {
	change := func(_ *watcher.Options, b *bubble) {
		mkdir(b.t, filepath.Join(b.skill, "tools", "deep"))
		edit(b.t, filepath.Join(b.skill, "SKILL.md"))
	}
	inBubble(t, change, func(b *bubble) {
		deep := filepath.Join(b.skill, "tools", "deep")
		b.Watch(pannier.WatchSet{Version: 1, Dirs: []string{b.root, b.skill, deep}})
		b.takeAll(time.Second)
		b.kernel().tell(b.skill + "/SKILL.md")
		b.pass(settle / 2)
		b.kernel().tell(deep + "/a.py")
		b.takeAfter(settle, b.event(b.seq+1, b.skill, deep))
	})
}

// TestConfigurationSettlesWithTheSkills writes config.yaml while a skill settles.
func TestConfigurationSettlesWithTheSkills(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		b.kernel().tell(filepath.Join(b.workspace, pannier.WorkspaceFile))
		b.pass(settle / 2)
		b.kernel().tell(b.skill + "/SKILL.md")
		b.takeAfter(settle, b.event(2, b.workspace, b.skill))
	})
}

// TestResyncWaitsForWhatSettles has resyncs fall due in the midst of changes. They come right after those, when nothing settles.
func TestResyncWaitsForWhatSettles(t *testing.T) {
	inBubble(t, func(o *watcher.Options, _ *bubble) { o.Resync = 10 * time.Second }, func(b *bubble) {
		b.take() // due while the bubble came to rest
		stop := b.keepTelling(b.skill+"/SKILL.md", settle/2)
		resyncs := 0
		for last := time.Now(); resyncs < 20; last = time.Now() {
			if got := b.take(); got.Trigger == pannier.TriggerResync {
				resyncs++
				// Until the next event, at most settle/2 after a batch, nothing is unsettled.
				if waited := time.Since(last); waited >= settle/2 {
					t.Errorf("a resync %v after the change before, in the midst of the next", waited)
				}
			}
		}
		stop()
	})
}

func TestConstantNoiseEndsAtMaxWait(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		stop := b.keepTelling(b.skill+"/SKILL.md", settle/5)
		for range 5 {
			began := time.Now()
			got := b.take()
			// The first event after a batch may come at the same instant, and may come one pause later.
			if took := time.Since(began); took < maxWait || took > maxWait+settle/5 {
				t.Errorf("batch %d came after %v, want %v", got.Seq, took, maxWait)
			}
		}
		stop()
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
		if diff := cmp.Diff(b.event(2, b.skill, other), got, ignoreSince); diff != "" {
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
				want.Dirs = []string{b.workspace, b.root}
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
