package watcher_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"pannier"
	"pannier/watcher"
)

// BenchmarkWanted measures how long it takes to arm 10,000 directories that only the consumer knows.
func BenchmarkWanted(b *testing.B) {
	const targets = 10_000
	workspace, store := realDir(b), realDir(b)
	root := filepath.Join(workspace, "skills")
	mkdir(b, root)
	set := pannier.WatchSet{Version: 1, Dirs: []string{root}}
	for i := range targets {
		dir := filepath.Join(store, "store", fmt.Sprintf("group-%d", i%100), fmt.Sprintf("skill-%d", i))
		mkdir(b, dir)
		set.Dirs = append(set.Dirs, dir)
	}
	open := func() (watcher.Backend, error) { return newKernel(), nil }
	b.Run("inotify", func(b *testing.B) { benchmarkWanted(b, watcher.Auto, workspace, set, watcher.OpenNotify) })
	b.Run("fake", func(b *testing.B) { benchmarkWanted(b, watcher.Auto, workspace, set, open) })
	b.Run("poll", func(b *testing.B) { benchmarkWanted(b, watcher.Poll, workspace, set, open) })
}

func benchmarkWanted(b *testing.B, mode watcher.Mode, workspace string, set pannier.WatchSet, open func() (watcher.Backend, error)) {
	b.ReportAllocs()
	for b.Loop() {
		w, err := watcher.NewWith(watcher.Options{Rules: rules(workspace, set.Dirs[0]), Mode: mode}, open)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		<-w.Batches()
		w.Watch(set)
		<-w.Batches()
		if h := w.Health(); h.Watches < len(set.Dirs) {
			b.Fatalf("health %+v", h)
		}
		cancel()
		<-ended
	}
}
