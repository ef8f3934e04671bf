// Package logpipe is a writer for the lines of a log that never blocks the writer.
//
// A log goes to a pipe, and a pipe without a reader is full soon: the next write into it blocks. A [Writer] takes lines
// into a bounded buffer, and a goroutine of its own writes them out, in their order. What finds no room is dropped,
// whole lines at a time, and counted.
package logpipe

import (
	"io"
	"sync"
	"time"
)

// Options are what a [Writer] is made of.
type Options struct {
	// To takes the lines. One call of Write is one line. It may wait for ever.
	To io.Writer
	// MaxBytes bounds what waits to be written. One line is taken in any case where none waits.
	MaxBytes int
	// Told returns the line that tells how many were dropped, with its end; it is written where they are missing.
	Told func(dropped uint64) []byte
}

// Writer takes lines for a slower writer. It is for any number of callers.
type Writer struct {
	o     Options
	ended chan struct{} // closed once the goroutine has ended

	mu      sync.Mutex
	changed sync.Cond
	waiting [][]byte
	bytes   int
	missing uint64 // lines that were dropped since that was last told
	dropped uint64 // of all
	closed  bool
}

// New returns a writer, whose goroutine [Writer.Close] ends.
func New(o Options) *Writer {
	w := &Writer{o: o, ended: make(chan struct{})}
	w.changed.L = &w.mu
	go w.run()
	return w
}

// Write takes a line, or drops it, and never waits for who reads the log. It does not fail: there is nowhere to report
// it.
//
// Once a line had to be dropped, all are, until what waits is written, so that those that are missing are missing in
// one place. After [Writer.Close] every line is dropped.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.missing > 0 || w.bytes > 0 && w.bytes+len(line) > w.o.MaxBytes {
		w.missing++
		w.dropped++
		return len(line), nil
	}
	w.waiting = append(w.waiting, append([]byte(nil), line...))
	w.bytes += len(line)
	w.changed.Signal()
	return len(line), nil
}

// Dropped returns how many lines were lost: those that found no room, and those that could not be written.
func (w *Writer) Dropped() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// Close writes what waits, for as long as patience at most, and reports whether all of it was written. Where it was
// not, the goroutine is left in the write that it waits for.
func (w *Writer) Close(patience time.Duration) bool {
	w.mu.Lock()
	w.closed = true
	w.changed.Signal()
	w.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-w.ended:
		return true
	case <-late.C:
		return false
	}
}

// run writes one line after the other until the writer is closed and nothing waits.
func (w *Writer) run() {
	defer close(w.ended)
	for {
		line, missing, ok := w.next()
		if !ok {
			return
		}
		if missing > 0 {
			line = w.o.Told(missing)
		}
		if _, err := w.o.To.Write(line); err != nil && missing == 0 {
			w.mu.Lock()
			w.dropped++
			w.mu.Unlock()
		}
	}
}

// next waits for the next line, or for how many are missing in its place. It is not ok once nothing more will come.
func (w *Writer) next() (line []byte, missing uint64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) == 0 && w.missing == 0 && !w.closed {
		w.changed.Wait()
	}
	switch {
	case len(w.waiting) > 0:
		line, w.waiting[0] = w.waiting[0], nil
		w.waiting = w.waiting[1:]
		w.bytes -= len(line)
		return line, 0, true
	case w.missing > 0:
		missing, w.missing = w.missing, 0
		return nil, missing, true
	}
	return nil, 0, false
}
