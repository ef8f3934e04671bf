package rpc

import "sync"

// The bounds of what waits for a connection to be read. A single answer may have more bytes.
const (
	maxQueued      = 64
	maxQueuedBytes = 16 << 20
)

// spare is the memory of answers that were written.
var spare sync.Pool

// maxSpareBytes bounds the memory that is kept of one answer.
const maxSpareBytes = 4 << 20

// Release takes back the memory of an answer that was written.
func (*Server) Release(text []byte) { release(text) }

func release(text []byte) {
	if 0 < cap(text) && cap(text) <= maxSpareBytes {
		spare.Put(&text)
	}
}

// queue is what waits to be written to a connection. Any number of callers push, one pops.
type queue struct {
	// ready has a value when the caller of pop may have something to do.
	ready chan struct{}
	// space has a value when a push may succeed again.
	space chan struct{}

	mu    sync.Mutex
	texts [][]byte
	bytes int
}

// push adds a text. It fails if the queue is full.
func (q *queue) push(text []byte) bool {
	q.mu.Lock()
	fits := len(q.texts) == 0 || len(q.texts) < maxQueued && q.bytes+len(text) <= maxQueuedBytes
	if fits {
		q.texts = append(q.texts, text)
		q.bytes += len(text)
	}
	q.mu.Unlock()
	q.wake()
	return fits
}

// wake has the caller of pop look again.
func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// pop returns the oldest text, nil where there is none.
func (q *queue) pop() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.texts) == 0 {
		return nil
	}
	text := q.texts[0]
	q.texts[0] = nil
	q.texts = q.texts[1:]
	q.bytes -= len(text)
	select {
	case q.space <- struct{}{}:
	default:
	}
	return text
}
