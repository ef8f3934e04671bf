//go:build !race

package main

// detecting says that the race detector is on.
const detecting = false
