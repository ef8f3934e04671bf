// Command pannier keeps an agent's skills live.
//
// Each file holds one command; package sidecar is the engine. All output for people goes through out.go.
package main

import (
	"context"
	"os"
	"runtime"
)

// Signals are delivered to the main thread if it does not block them. Keep it idle, so that a thread that is stuck in disk IO
// cannot delay them.
func init() { runtime.LockOSThread() }

func main() {
	environ := os.Environ()
	std := streams{
		out: os.Stdout, err: os.Stderr, paint: paletteFor(os.Stdout, environ), complain: paletteFor(os.Stderr, environ),
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
	}
	code := make(chan int)
	go func() { code <- execute(context.Background(), os.Args[1:], std, environ) }()
	os.Exit(<-code)
}
