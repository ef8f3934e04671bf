package sidecar

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// startGCPercent is how much garbage may pile up during the first scan, in percent of what is live. That scan makes many
// times as much garbage as it keeps, from a heap that is small yet, so that with the usual 100 a tenth of its time goes
// into collecting.
const startGCPercent = 400

// idleGCPercent is how much may pile up after that. A sidecar idles beside an agent that wants the memory, and makes so
// little garbage that collecting it twice as often as usual costs some tenths of a percent of a processor.
const idleGCPercent = 50

// deferCollection lets garbage pile up until the function that it returns is called, which gives the memory back to the
// system. If the variable GOGC is set, its value is kept.
func deferCollection() (catchUp func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	runtime.MemProfileRate = 0 // no profile can be requested, and each sample would occupy a page
	debug.SetGCPercent(startGCPercent)
	return sync.OnceFunc(func() {
		debug.SetGCPercent(idleGCPercent)
		debug.FreeOSMemory()
	})
}

// releaseMemory returns memory to the system at once where more than a quarter as much lies idle as is in use. A large piece of work
// leaves that behind, which by itself would go back over minutes; a small one does not, and costs no collection. Where the
// variable GOGC is set, nothing happens.
func releaseMemory() {
	const little = 256 << 10
	if live, idle := heap(); os.Getenv("GOGC") == "" && idle > max(little, live/4) {
		debug.FreeOSMemory()
	}
}

// heap returns how much was in use when garbage was last collected, and how much is kept beside that: garbage, and pages
// that nothing is in.
func heap() (live, idle uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	live = samples[0].Value.Uint64()
	return live, max(live, samples[1].Value.Uint64()+samples[2].Value.Uint64()) - live
}
