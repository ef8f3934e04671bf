//go:build race

package sandbox

// detecting says that the race detector is on.
const detecting = true
