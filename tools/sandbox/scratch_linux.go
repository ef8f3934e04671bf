package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	scratchInterval = 200 * time.Millisecond
	// scratchFiles bounds the entries of a scratch directory, and so the work of counting them.
	scratchFiles = 10_000
)

// watchScratch kills the program when its scratch directory holds too much. The limit for a file bounds what it can write between two
// measurements.
func (s *supervisor) watchScratch() {
	for {
		time.Sleep(scratchInterval)
		if exceeds(s.order.Scratch, s.order.Limits.ScratchBytes) {
			s.full.Store(true)
			s.killAll()
			return
		}
	}
}

// exceeds reports whether a directory holds more than a number of bytes, or too many files. A directory that the supervisor cannot
// list holds too much: anything could be in it.
func exceeds(dir string, bytes int64) bool {
	var used int64
	var files int
	var hidden bool
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENAMETOOLONG) {
			hidden = true
			return fs.SkipAll
		}
		if err != nil {
			return nil // removed in the meantime
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil {
			used += st.Blocks * 512
		}
		if files++; used > bytes || files > scratchFiles {
			return fs.SkipAll
		}
		return nil
	})
	return err == nil && (hidden || used > bytes || files > scratchFiles)
}
