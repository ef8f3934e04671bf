// Package latest writes values in the background: one write at a time, and of the values that come meanwhile only the
// newest.
//
// Put never blocks, so a disk that is slow or does not answer delays only the write, never the caller.
package latest

import (
	"context"
	"sync"
)

// Writer passes the newest value to a function. It is safe for concurrent use.
type Writer[T any] struct {
	write func(T)

	mu      sync.Mutex
	next    *T            // the newest value that write has not begun with; nil if there is none
	running bool          // run is
	idle    chan struct{} // closed when run ends; nil before the first
}

// NewWriter returns a writer. write is called from one goroutine at a time.
func NewWriter[T any](write func(T)) *Writer[T] { return &Writer[T]{write: write} }

// Put makes v the value to write next, in place of one that waits.
func (w *Writer[T]) Put(v T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = &v
	if !w.running {
		w.running, w.idle = true, make(chan struct{})
		go w.run(w.idle)
	}
}

func (w *Writer[T]) run(idle chan<- struct{}) {
	for {
		w.mu.Lock()
		v := w.next
		w.next = nil
		if v == nil {
			w.running = false
			close(idle)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.write(*v)
	}
}

// Wait returns when everything that was put has been written or replaced, or with the error of ctx.
func (w *Writer[T]) Wait(ctx context.Context) error {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
