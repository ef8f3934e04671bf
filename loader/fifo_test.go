package loader_test

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// TestFIFOThatComesMeanwhile puts FIFOs into the places of files that have been looked at and are still to be opened. No process ever
// writes into them.
func TestFIFOThatComesMeanwhile(t *testing.T) {
	root := tree(t, "a")
	file, meta := filepath.Join(root, "a/SKILL.md"), filepath.Join(root, "a/_meta.json")
	write(t, meta, "{}")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.OnOpen(func(string) {
		l.OnOpen(nil)
		write(t, file, good("a longer description, so that it is read again"))
		for _, path := range []string{file, meta} {
			remove(t, path)
			if err := unix.Mkfifo(path, 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	loaded := make(chan pannier.Catalog, 1)
	go func() {
		c, _ := l.Load(t.Context(), pannier.Batch{Full: true}) // it fails only where the test has ended
		loaded <- c
	}()
	select {
	case c := <-loaded:
		wantCodes(t, only(t, c).Problems, "skill.file.kind", "meta.unreadable")
	case <-time.After(30 * time.Second):
		t.Fatal("the loader waits for a writer")
	}
}
