// Command pannier keeps an agent's skills live.
//
// One file holds one subcommand. run.go connects the rooms; everything that people read goes through out.go.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], openStreams(os.Environ()), os.Environ()))
}
