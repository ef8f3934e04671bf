package audit

import (
	"bytes"
	"iter"
	"slices"
	"sync"
)

// memory is a medium without a disk. It keeps the newest lines within a limit in bytes, and at least one.
type memory struct {
	limit int64
	mu    sync.Mutex
	size  int64
	lines [][]byte
}

func (m *memory) write(_ uint64, line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, bytes.TrimSuffix(bytes.Clone(line), []byte("\n")))
	m.size += int64(len(line))
	drop := 0
	for ; m.size > m.limit && drop < len(m.lines)-1; drop++ {
		m.size -= int64(len(m.lines[drop])) + 1
	}
	m.lines = slices.Delete(m.lines, 0, drop)
	return nil
}

func (m *memory) newest() iter.Seq2[[]byte, error] {
	m.mu.Lock()
	lines := slices.Clone(m.lines)
	m.mu.Unlock()
	return func(yield func([]byte, error) bool) {
		for _, line := range slices.Backward(lines) {
			if !yield(line, nil) {
				return
			}
		}
	}
}

func (m *memory) damage() string { return "" }

func (m *memory) confirm(Point, int64, string) error { return nil }

func (m *memory) close() error { return nil }
