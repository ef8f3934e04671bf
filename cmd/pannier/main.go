// Command pannier keeps an agent's skills live.
//
// One file holds one subcommand. run.go connects the rooms; everything that people read goes through out.go.
package main

import (
	"context"
	"os"
	"runtime"
)

// The kernel hands a signal to the first thread where that one does not block it, even while it waits for a disk that does not
// answer; and then nobody hears it. So the first thread does nothing but wait.
func init() { runtime.LockOSThread() }

func main() {
	code := make(chan int)
	go func() { code <- execute(context.Background(), os.Args[1:], openStreams(os.Environ()), os.Environ()) }()
	os.Exit(<-code)
}
