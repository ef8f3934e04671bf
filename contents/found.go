package contents

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"pannier"
	"pannier/loader"
	"pannier/registry"
)

// ReadAll reads the files of skills on all processors, for callers without a tracker, and returns what it finds by
// path. brief reads only those of skills that lack a description.
func ReadAll(
	ctx context.Context, entries []*pannier.Entry, brief bool,
	read func(context.Context, *pannier.Skill) (pannier.Contents, error),
) map[string]pannier.Contents {
	var (
		next    atomic.Int64
		workers sync.WaitGroup
		mu      sync.Mutex
		all     = map[string]pannier.Contents{}
	)
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				e := entries[i]
				if e.State == pannier.StateShadowed || e.Deleting || brief && !loader.LacksDescription(e.Skill) {
					continue
				}
				if c, err := read(ctx, e.Skill); err == nil && !c.Digest.IsZero() {
					mu.Lock()
					all[e.Path] = c
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return all
}

// foundVersions are those of judges without a tracker.
var foundVersions atomic.Uint64

// JudgeFound returns a judge without verdicts, for callers that only read files; of has what was found in them, by
// path.
func JudgeFound(of map[string]pannier.Contents, enforce bool) registry.Judge {
	changes := make(map[string]*Content, len(of))
	for path, c := range of {
		changes[path] = &Content{found: found{Contents: &c}}
	}
	return (&table{version: foundVersions.Add(1)}).with(changes).judge(enforce)
}
