package watcher_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pannier"
	"pannier/watcher"
)

// BenchmarkArm measures how long it takes from the start to the start batch, and to end again, with 10,000 skills. The
// sub-benchmark without the kernel shows what of that is the watcher's own.
func BenchmarkArm(b *testing.B) {
	const skills = 10_000
	workspace := realDir(b)
	root := filepath.Join(workspace, "skills")
	for i := range skills {
		mkdir(b, filepath.Join(root, fmt.Sprintf("group-%d", i%100), fmt.Sprintf("skill-%d", i)))
	}
	b.Run("inotify", func(b *testing.B) { benchmarkArm(b, watcher.Auto, workspace, root, watcher.OpenNotify) })
	b.Run("fake", func(b *testing.B) {
		benchmarkArm(b, watcher.Auto, workspace, root, func() (watcher.Backend, error) { return newKernel(), nil })
	})
	b.Run("poll", func(b *testing.B) { benchmarkArm(b, watcher.Poll, workspace, root, watcher.OpenNotify) })
}

// BenchmarkPoll measures one look of the poller at 10,000 skills in which nothing has changed.
func BenchmarkPoll(b *testing.B) {
	const skills = 10_000
	workspace := realDir(b)
	root := filepath.Join(workspace, "skills")
	for i := range skills {
		skill := filepath.Join(root, fmt.Sprintf("group-%d", i%100), fmt.Sprintf("skill-%d", i))
		mkdir(b, skill)
		edit(b, filepath.Join(skill, pannier.SkillFile))
		edit(b, filepath.Join(skill, pannier.MetaFile))
	}
	w, err := watcher.New(watcher.Options{Rules: rules(workspace, root), Mode: watcher.Poll})
	if err != nil {
		b.Fatal(err)
	}
	poll, end := w.ArmAndPoll(b.Context())
	defer end()
	b.ReportAllocs()
	for b.Loop() {
		poll()
	}
}

func benchmarkArm(b *testing.B, mode watcher.Mode, workspace, root string, open func() (watcher.Backend, error)) {
	b.ReportAllocs()
	var closing time.Duration
	for b.Loop() {
		w, err := watcher.NewWith(watcher.Options{Rules: rules(workspace, root), Mode: mode}, open)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() { ended <- w.Run(ctx) }()
		<-w.Batches()
		if h := w.Health(); h.Mode != usual(mode) || h.Watches < 10_000 {
			b.Fatalf("health %+v", h)
		}
		began := time.Now()
		cancel()
		<-ended
		closing += time.Since(began)
	}
	b.ReportMetric(float64(closing.Milliseconds())/float64(b.N), "closing-ms/op")
}
