//go:build !linux

package runner

import "runtime/debug"

// ReleaseMemory gives back free memory of the heap.
func ReleaseMemory() { debug.FreeOSMemory() }
