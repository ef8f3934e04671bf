package audit

import (
	"bytes"
	"iter"
	"slices"
	"sync"
)

// memory stores the lines of a log without a directory. It keeps the newest lines within a limit in bytes, and at least
// one.
type memory struct {
	limit int64
	mu    sync.Mutex
	size  int64
	kept  [][]byte
}

func (m *memory) add(line []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, bytes.TrimSuffix(bytes.Clone(line), []byte("\n")))
	m.size += int64(len(line))
	drop := 0
	for ; m.size > m.limit && drop < len(m.kept)-1; drop++ {
		m.size -= int64(len(m.kept[drop])) + 1
	}
	m.kept = slices.Delete(m.kept, 0, drop)
}

func (m *memory) lines() iter.Seq2[[]byte, error] {
	m.mu.Lock()
	lines := slices.Clone(m.kept)
	m.mu.Unlock()
	return func(yield func([]byte, error) bool) {
		for _, line := range slices.Backward(lines) {
			if !yield(line, nil) {
				return
			}
		}
	}
}
