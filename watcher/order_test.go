package watcher_test

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"pannier/watcher"
)

// runOn runs a watcher on a kernel of the test until it is ended.
func runOn(t *testing.T, k watcher.Backend, o watcher.Options) (w *watcher.Watcher, end func()) {
	t.Helper()
	w, err := watcher.NewWith(o, func() (watcher.Backend, error) { return k, nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	return w, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestEverythingIsWatchedBeforeTheFirstLook takes no batch, so that nothing is armed behind the offer of the first.
func TestEverythingIsWatchedBeforeTheFirstLook(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	skill := filepath.Join(root, "one")
	mkdir(t, skill)
	synctest.Test(t, func(t *testing.T) {
		k := newKernel()
		_, end := runOn(t, k, watcher.Options{Rules: rules(workspace, root)})
		synctest.Wait()
		for _, dir := range []string{workspace, root, skill} {
			if !k.watches(dir) {
				t.Errorf("%s is not watched when the start batch is offered", dir)
			}
		}
		end()
	})
}

// crowdedKernel takes in no watch before it has got rid of some events.
type crowdedKernel struct{ *kernel }

func (k crowdedKernel) Add(path string) error {
	for range 3 {
		k.tell(filepath.Join(path, "SKILL.md"))
	}
	return k.kernel.Add(path)
}

// TestEventsAreTakenWhileTheKernelIsAsked would not get to its start batch where whoever asks the kernel keeps the reader of its
// events waiting.
func TestEventsAreTakenWhileTheKernelIsAsked(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	k := crowdedKernel{newKernel()}
	w, end := runOn(t, k, watcher.Options{Rules: rules(workspace, root)})
	select {
	case <-w.Batches():
	case <-time.After(patience):
		t.Error("nobody takes the events")
		_ = k.Close() // which lets the others go on
	}
	end()
}

// slowKernel takes a second for each watch.
type slowKernel struct{ *kernel }

func (k slowKernel) Add(path string) error {
	time.Sleep(time.Second)
	return k.kernel.Add(path)
}

// TestEndWhileDirectoriesAreArmed waits for no more than the watch that is being added, and says that not everything is armed.
func TestEndWhileDirectoriesAreArmed(t *testing.T) {
	workspace, root := workspaceWithRoot(t)
	for i := range 100 {
		mkdir(t, filepath.Join(root, strconv.Itoa(i)))
	}
	synctest.Test(t, func(t *testing.T) {
		k := slowKernel{newKernel()}
		w, end := runOn(t, k, watcher.Options{Rules: rules(workspace, root)})
		time.Sleep(10 * time.Second)
		begun := time.Now()
		end()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the end took %s", took)
		}
		select {
		case <-w.Armed():
			t.Error("everything is said to be armed")
		default:
		}
	})
}

// stubbornKernel does not close before it has got rid of what it still has to tell.
type stubbornKernel struct{ *kernel }

func (k stubbornKernel) Close() error {
	for range 3 {
		k.events <- fsnotify.Event{Name: "/late", Op: fsnotify.Write}
		k.errors <- errors.New("late")
	}
	return k.kernel.Close()
}

// TestEventsAreTakenUntilTheKernelIsClosed ends a watcher that is told of changes to the last.
func TestEventsAreTakenUntilTheKernelIsClosed(t *testing.T) {
	workspace := realDir(t)
	synctest.Test(t, func(t *testing.T) {
		k := stubbornKernel{newKernel()}
		_, end := runOn(t, k, watcher.Options{Rules: rules(workspace)})
		synctest.Wait()
		end()
	})
}
