//go:build race

package main

// detecting says that the race detector is on. A program with it takes several times the memory.
const detecting = true
