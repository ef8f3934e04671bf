package watcher_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"pannier/watcher"
)

// TestBudgetOfARootIsGivenBack has more directories come and go than may be there at a time.
func TestBudgetOfARootIsGivenBack(t *testing.T) {
	inBubble(t, func(o *watcher.Options, _ *bubble) { o.Rules.MaxDirs = 3 }, func(b *bubble) {
		for i := range 5 {
			dir := filepath.Join(b.root, fmt.Sprint(i))
			mkdir(b.t, dir)
			b.kernel().tell(dir)
			b.pass(time.Minute)
			if !b.kernel().watches(dir) {
				b.t.Errorf("%s is not watched, although the others are gone", dir)
			}
			if err := syscall.Rmdir(dir); err != nil {
				b.t.Fatal(err)
			}
			b.kernel().events <- fsnotify.Event{Name: dir, Op: fsnotify.Remove}
			b.pass(time.Minute)
		}
	})
}

// TestOneOfManyRefusedDirectoriesIsAskedFor has the kernel refuse so many that to ask for each would be a burden.
func TestOneOfManyRefusedDirectoriesIsAskedFor(t *testing.T) {
	inBubble(t, nil, func(b *bubble) {
		for i := range 10 {
			dir := filepath.Join(b.root, fmt.Sprint(i))
			mkdir(b.t, dir)
			b.kernel().let(dir, syscall.ENOSPC)
			b.kernel().tell(dir)
		}
		b.takeAll(time.Minute)
		before := b.kernel().asked()
		b.takeAll(time.Hour)
		if n := b.kernel().asked() - before; n < 50 || n > 70 {
			b.t.Errorf("asked %d times in an hour, want once a minute", n)
		}
	})
}
