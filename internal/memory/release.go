// Package memory keeps the sidecar small: below the limit of its control group, and at rest without what only a load
// needed.
package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// restAfter is how long after an unchanged full comparison memory is released, so that the fingerprints that follow
	// it are done.
	restAfter = 2 * time.Second
	// loadBytes is how much is allocated between two comparisons under load, at least.
	loadBytes = 16 << 20
)

// Releaser returns memory to the system while the workspace is at rest. By itself the runtime does so over minutes, and
// in part never.
type Releaser struct {
	// OnQuiet drops what requests left that is large and easy to make again; set before the first scan.
	OnQuiet   func()
	rest      *time.Timer // belongs to the caller of RecordRest
	mu        sync.Mutex  // of one release at a time
	allocated uint64      // bytes in all at the last release
	loaded    bool        // there was a load before the last release
}

// RecordRest schedules a release, because the workspace is at rest. It is for one caller at a time.
func (r *Releaser) RecordRest() {
	if r.rest == nil {
		r.rest = time.AfterFunc(restAfter, r.release)
	} else {
		r.rest.Reset(restAfter)
	}
}

// release returns memory to the system if more than an eighth as much is idle as is in use. After a load, it first
// drops what requests left.
func (r *Releaser) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	const little = 256 << 10
	allocated := readMetrics("/gc/heap/allocs:bytes")[0]
	loaded := allocated-r.allocated > loadBytes
	if r.loaded && !loaded {
		r.OnQuiet()
		runtime.GC() // pooled values outlive one collection
	}
	r.allocated, r.loaded = allocated, loaded
	// Live is as of the last collection; garbage and free pages are the rest of the heap.
	m := readMetrics("/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes")
	if live, all := m[0], m[1]+m[2]; all > live+max(little, live/8) {
		debug.FreeOSMemory()
	}
	releaseText()
}

func readMetrics(names ...string) []uint64 {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	values := make([]uint64, len(names))
	for i := range samples {
		values[i] = samples[i].Value.Uint64()
	}
	return values
}
