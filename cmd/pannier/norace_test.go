//go:build !race

package main

// detecting says that the race detector is on, and crowdth what part of a crowd there is.
const (
	detecting = false
	crowdth   = 1
)
