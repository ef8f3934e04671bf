//go:build race

package main

// detecting says that the race detector is on. A program with it takes several times the memory and the time, so that a crowd is a
// crowdth of what it is else.
const (
	detecting = true
	crowdth   = 8
)
