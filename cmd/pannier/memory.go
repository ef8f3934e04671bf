package main

import (
	"os"
	"runtime/debug"
	"sync"
)

// startGCPercent is how much garbage may pile up during the first scan, in percent of what is live. That scan makes many
// times as much garbage as it keeps, from a heap that is small yet, so that with the usual 100 a tenth of its time goes
// into collecting.
const startGCPercent = 400

// putOffCollection lets garbage pile up until the function that it returns is called, which gives the memory back to the
// system. Where the variable GOGC is set, somebody has decided already, and it stays at that.
func putOffCollection() (catchUp func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	usual := debug.SetGCPercent(startGCPercent)
	return sync.OnceFunc(func() {
		debug.SetGCPercent(usual)
		debug.FreeOSMemory()
	})
}
