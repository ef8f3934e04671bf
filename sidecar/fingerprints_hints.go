package sidecar

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// maxHints bounds the directories that a change was noticed in. Where there are more, all count.
const maxHints = 256

// hints are the directories that a change was noticed in since they were drained. The lock is never held over I/O, because the
// reload path takes it.
type hints struct {
	mu   sync.Mutex
	dirs []string
	all  bool // any directory may have changed
}

// add adds directories.
func (h *hints) add(dirs []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dirs = append(h.dirs, dirs...)
	if h.all = h.all || len(h.dirs) > maxHints; h.all {
		h.dirs = nil
	}
}

// addBatch adds what a batch names.
func (h *hints) addBatch(b pannier.Batch) {
	if b.Full {
		h.addAll()
	} else {
		h.add(b.Dirs)
	}
}

// addAll adds all directories.
func (h *hints) addAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dirs, h.all = nil, true
}

// drain returns what was added and forgets it.
func (h *hints) drain() (dirs []string, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dirs, all = h.dirs, h.all
	h.dirs, h.all = nil, false
	return dirs, all
}

// rootsReplaced reports whether a root is another directory than at the call before: then nothing that lies in it is what it was,
// though all SKILL.md may be.
func (f *fingerprints) rootsReplaced() bool {
	now := make([]fsx.FileID, len(f.rules.Roots))
	for i, root := range f.rules.Roots {
		st, _ := fsx.StatAt(unix.AT_FDCWD, root.Path) // one that is not there is the zero ID
		now[i] = st.FileID
	}
	before := f.roots
	f.roots = now
	return before != nil && !slices.Equal(before, now)
}
