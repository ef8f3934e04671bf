package loader_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"pannier"
	"pannier/loader"
)

func TestReadersWhileLoading(t *testing.T) {
	root := tree(t)
	for i := range 100 { // enough to be looked at by several goroutines
		writeSkill(t, root, fmt.Sprintf("s%d", i), good("one"))
	}
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	first := load(t, l, pannier.Batch{Full: true})
	var newest atomic.Pointer[pannier.Catalog]
	newest.Store(&first)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for g := range 8 {
		readers.Go(func() {
			for i := g; ; i += 7 {
				select {
				case <-done:
					return
				default:
				}
				c := newest.Load()
				s := c.Skills[i%len(c.Skills)]
				doc, err := l.Read(t.Context(), s)
				if err == nil && doc.Body != "body\n" || err != nil && !errors.Is(err, pannier.ErrChanged) {
					t.Errorf("%s: %q, %v", s.Path, doc.Body, err)
				}
				if _, _, err := l.Files(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 60 {
		dir := fmt.Sprintf("s%d", i%10)
		writeSkill(t, root, dir, good(fmt.Sprint("description ", i)))
		c := load(t, l, pannier.Batch{Full: i%3 == 0, Dirs: []string{filepath.Join(root, dir)}})
		newest.Store(&c)
	}
	close(done)
	readers.Wait()
}

func TestInterruptedLoadIsMadeUpFor(t *testing.T) {
	root := tree(t, "a", "b")
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	load(t, l, pannier.Batch{Full: true})
	writeSkill(t, root, "a", good("new"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Load(ctx, pannier.Batch{Dirs: []string{filepath.Join(root, "a")}}); !errors.Is(err, ctx.Err()) {
		t.Errorf("error %v", err)
	}
	if c := load(t, l, pannier.Batch{}); c.Skills[0].Description != "new" {
		t.Errorf("description %q", c.Skills[0].Description)
	}
}
