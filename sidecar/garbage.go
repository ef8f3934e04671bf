package sidecar

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// startGCPercent is how much garbage may pile up during the first scan, in percent of what is live: Go's default. With more, that
// scan takes as much processor time, and leaves 4 MB of gaps behind in the memory of 10,000 skills.
const startGCPercent = 100

// idleGCPercent is how much may pile up after that. A sidecar idles beside an agent that wants the memory, and makes so
// little garbage that collecting it twice as often as usual costs some tenths of a percent of a processor.
const idleGCPercent = 50

// Beside a large heap the garbage has fewer bytes, but not less than minGCPercent: restGarbage, and loadGarbage while clients send
// requests, so that a load does not spend its time on collecting.
const (
	restGarbage  = 3 << 20
	loadGarbage  = 12 << 20
	minGCPercent = 5
)

const (
	// quietCheck is how often the requests of a load are checked, quietAfter how long after the last one memory is released.
	quietCheck = time.Second
	quietAfter = 4 * time.Second
	// restAfter is how long after an unchanged comparison of everything memory is released: the census and the fingerprints follow it.
	restAfter = 2 * time.Second
	// loadBytes is how much a load allocates at least.
	loadBytes = 16 << 20
)

// garbage decides when garbage is collected. If the variable GOGC is set, its value is kept.
type garbage struct {
	endStart func()      // ends the first scan, and returns its memory to the system
	started  atomic.Bool // the first scan has ended
	// onQuiet drops what requests left that is large and easy to make again; set before the first request.
	onQuiet     func()
	busy        atomic.Bool   // a check is scheduled
	lastRequest atomic.Int64  // Unix time in nanoseconds
	allocated   atomic.Uint64 // bytes in all when the load began
	rest        *time.Timer   // its owner takes batches in
}

// newGarbage leaves the bound on garbage as it is until endStart is called.
func newGarbage() *garbage {
	g := &garbage{}
	limitMemory()
	if !keepsGOGC() {
		runtime.MemProfileRate = 0 // no profile can be requested, and each sample would occupy a page
	}
	g.endStart = sync.OnceFunc(func() {
		if !keepsGOGC() {
			debug.SetGCPercent(idleGCPercent)
			debug.FreeOSMemory()
			boundGarbage(restGarbage)
		}
		g.started.Store(true)
	})
	return g
}

// recordRest has memory and program text released, because the workspace is at rest.
func (g *garbage) recordRest() {
	if g.rest == nil {
		g.rest = time.AfterFunc(restAfter, func() { releaseMemory(); releaseText() })
	} else {
		g.rest.Reset(restAfter)
	}
}

func keepsGOGC() bool { return os.Getenv("GOGC") != "" }

// recordRequest has memory released once clients are quiet. Nothing is scheduled while none sends requests.
func (g *garbage) recordRequest() {
	if !g.started.Load() {
		return
	}
	g.lastRequest.Store(time.Now().UnixNano())
	if !g.busy.Load() && g.busy.CompareAndSwap(false, true) {
		g.allocated.Store(allocatedBytes())
		if !keepsGOGC() {
			boundGarbage(loadGarbage) // at once: an installation makes more garbage than may pile up at rest
		}
		time.AfterFunc(quietCheck, g.check)
	}
}

func (g *garbage) check() {
	if keepsGOGC() {
		return
	}
	if time.Since(time.Unix(0, g.lastRequest.Load())) < quietAfter {
		boundGarbage(loadGarbage)
		time.AfterFunc(quietCheck, g.check)
		return
	}
	large := allocatedBytes()-g.allocated.Load() > loadBytes
	g.busy.Store(false)
	if large {
		g.onQuiet()
		runtime.GC() // what is pooled outlives one collection
		debug.FreeOSMemory()
	}
	boundGarbage(restGarbage)
}

func allocatedBytes() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

// boundGarbage sets how many bytes of garbage may pile up, by what is live. During the first scan it does nothing.
func boundGarbage(most uint64) {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	if metrics.Read(percent); percent[0].Value.Uint64() == startGCPercent {
		return
	}
	live, _ := heap()
	debug.SetGCPercent(int(min(idleGCPercent, max(minGCPercent, 100*most/max(live, 1)))))
}

// releaseMemory returns memory to the system at once where more than an eighth as much lies idle as is in use. A large piece of work
// leaves that behind, which by itself would go back over minutes, and in part never; a small one does not, and costs no collection.
// Where the variable GOGC is set, nothing happens.
func releaseMemory() {
	const little = 256 << 10
	if keepsGOGC() {
		return
	}
	if live, idle := heap(); idle > max(little, live/8) {
		debug.FreeOSMemory()
	}
	boundGarbage(restGarbage)
}

// heap returns how much was in use when garbage was last collected, and how much is kept beside that: garbage, and pages
// that nothing is in.
func heap() (live, idle uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	live = samples[0].Value.Uint64()
	return live, max(live, samples[1].Value.Uint64()+samples[2].Value.Uint64()) - live
}
