package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The commands of the driver, a line each. The answer to pause is the line of [done].
const (
	commandGo    = "go"  // operations that the kernel tells of
	commandGoAny = "any" // others too
	commandPause = "pause"
)

// writer is one process that changes the workspace.
type writer struct {
	number, names int
	workspace     string
	rng           *rand.Rand
	tokens        int
	ops           int
	ended         time.Time
	any           bool // also what the kernel does not tell of
	paused        atomic.Bool
	trace         io.Writer
}

// write is the writer program: its arguments are number, seed, names and workspace.
func write(in io.Reader, out io.Writer, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("a writer needs number, seed, names and workspace")
	}
	number, _ := strconv.Atoi(args[0])
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	names, _ := strconv.Atoi(args[2])
	trace, err := os.Create(filepath.Join(filepath.Dir(args[3]), "writer-"+args[0]+".log"))
	if err != nil {
		return err
	}
	defer trace.Close()
	w := &writer{number: number, names: names, workspace: args[3], rng: rand.New(rand.NewPCG(seed, uint64(number))), trace: trace}
	w.obey(bufio.NewScanner(in), out)
	return nil
}

// obey works between go and pause until there are no commands left.
func (w *writer) obey(commands *bufio.Scanner, out io.Writer) {
	var working chan struct{}
	for commands.Scan() {
		switch command := commands.Text(); command {
		case commandGo, commandGoAny:
			w.any = command == commandGoAny
			w.paused.Store(false)
			working = make(chan struct{})
			go func() { defer close(working); w.work() }()
		case commandPause:
			w.paused.Store(true)
			<-working
			fmt.Fprint(out, done{w.ops, w.tokens, w.ended}.line())
		}
	}
}

// work does one operation after the other, at random intervals.
func (w *writer) work() {
	for !w.paused.Load() {
		op := w.choose()
		err := op.do(w)
		w.ended = time.Now()
		w.ops++
		fmt.Fprintf(w.trace, "%s %s %v\n", w.ended.Format("15:04:05.000000"), op.name, err)
		w.rest(time.Duration(w.rng.ExpFloat64() * float64(40*time.Millisecond)))
	}
}

// rest waits, but not longer than half a second.
func (w *writer) rest(d time.Duration) { time.Sleep(min(d, time.Second/2)) }

// token returns a new token.
func (w *writer) token() token {
	w.tokens++
	return newToken(w.number, w.tokens)
}

// skills returns the path of something in the root.
func (w *writer) skills(parts ...string) string {
	return filepath.Join(w.workspace, "skills", filepath.Join(parts...))
}

// somewhere returns the directory of a skill, whether it is there or not: mostly right in the root, now and then deeper.
func (w *writer) somewhere() string {
	name := fmt.Sprintf("s%02d", w.rng.IntN(w.names))
	switch w.rng.IntN(8) {
	case 0:
		return w.skills("group", name)
	case 1:
		depth := w.rng.IntN(6)
		return w.skills(strings.Repeat("deep/", depth), name)
	}
	return w.skills(name)
}

// existing returns the directory of a skill that is there, if one is soon found.
func (w *writer) existing() string {
	dir := w.somewhere()
	for range 10 {
		if _, err := os.Lstat(filepath.Join(dir, "SKILL.md")); err == nil {
			break
		}
		dir = w.somewhere()
	}
	return dir
}

// file returns the SKILL.md of a skill that is there, if one is soon found.
func (w *writer) file() string { return filepath.Join(w.existing(), "SKILL.md") }

// text returns a new SKILL.md.
func (w *writer) text() string { return w.token().text(padding(w.rng)) }
