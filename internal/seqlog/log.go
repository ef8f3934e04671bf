package seqlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// File is an open segment.
type File interface {
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// Options configure a [Log].
type Options struct {
	// Dir is created with the first line, but not its parent.
	Dir string
	// SegmentBytes bounds a segment, unless a single append is longer.
	SegmentBytes int64
	// Sync has every append wait until the line and the name of its segment survive a power cut.
	Sync bool
	// Existing is [os.O_TRUNC] or [os.O_EXCL]: whether a new segment replaces a file with its name.
	Existing int
	// Create creates a segment; nil means [CreateFile].
	Create func(path string, existing int) (File, error)
}

// CreateFile creates the file of a segment.
func CreateFile(path string, existing int) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NONBLOCK|existing, 0o600)
}

// Log appends lines to the segments of a directory. It is for one caller at a time.
type Log struct {
	o        Options
	segments []Segment // oldest first; lines are appended to the last one
	active   File      // the file of the last segment, nil until it is opened
	sealed   bool      // the next line begins a segment
	torn     bool      // there may be bytes after the end of the last segment
	unnamed  bool      // the name of the last segment may not survive a power cut
}

// New returns the log of a directory that has segments, oldest first. torn says that bytes follow the end of the last
// one.
func New(o Options, segments []Segment, torn bool) *Log {
	if o.Create == nil {
		o.Create = CreateFile
	}
	return &Log{o: o, segments: segments, torn: torn, unnamed: true}
}

// Segments returns the segments, oldest first. The slice is valid until the next change.
func (l *Log) Segments() []Segment { return l.segments }

// Path returns the path of a segment.
func (l *Log) Path(name uint64) string { return SegmentPath(l.o.Dir, name) }

// Size returns the length of all segments, in bytes.
func (l *Log) Size() (sum int64) {
	for _, s := range l.segments {
		sum += s.End
	}
	return sum
}

// Append stores the lines from first to last completely, or not at all. What a failed write left is removed at once, or
// if that fails too, before the next append.
func (l *Log) Append(first, last uint64, lines []byte) error {
	if err := l.Repair(); err != nil {
		return err
	}
	if l.sealed || len(l.segments) == 0 || !l.newest().takes(first, int64(len(lines)), l.o.SegmentBytes) {
		if err := l.begin(first); err != nil {
			return err
		}
	}
	if l.o.Sync && l.unnamed {
		if err := errors.Join(fsx.SyncDir(l.o.Dir), fsx.SyncDir(filepath.Dir(l.o.Dir))); err != nil {
			return err
		}
		l.unnamed = false
	}
	s := l.newest()
	_, err := l.active.WriteAt(lines, s.End)
	if err == nil && l.o.Sync {
		err = l.active.Sync() // after a failure it is unknown what is on disk
	}
	if err != nil {
		l.torn = true
		return errors.Join(err, l.Repair())
	}
	s.Last, s.End = last, s.End+int64(len(lines))
	return nil
}

func (l *Log) newest() *Segment { return &l.segments[len(l.segments)-1] }

// takes reports whether a segment continues with a number, and has room for bytes.
func (s *Segment) takes(first uint64, bytes, limit int64) bool {
	return first == s.Last+1 && (s.End == 0 || s.End+bytes <= limit)
}

// begin creates the segment whose first line has a number.
func (l *Log) begin(first uint64) error {
	if err := os.Mkdir(l.o.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := l.o.Create(l.Path(first), l.o.Existing)
	if err != nil {
		return err
	}
	l.closeActive()
	l.segments = slices.DeleteFunc(l.segments, func(s Segment) bool { return s.Name == first }) // it has no lines
	l.segments = append(l.segments, Segment{Name: first, First: first, Last: first - 1})
	l.active, l.sealed, l.torn, l.unnamed = f, false, false, true
	return nil
}

// Repair opens the last segment and removes what follows its end.
func (l *Log) Repair() error {
	if l.sealed || len(l.segments) == 0 {
		return nil
	}
	path := l.Path(l.newest().Name)
	if l.active == nil {
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0) // does not wait for the writer of a FIFO
		if errors.Is(err, fs.ErrNotExist) {
			l.Seal()
			return nil
		}
		if err != nil {
			return err
		}
		l.active = f
	}
	if !l.torn {
		return nil
	}
	if err := l.active.Truncate(l.newest().End); err != nil {
		return fmt.Errorf("truncate a torn line: %w", err)
	}
	l.torn = false
	return nil
}

// Undo removes the last line, which has so many bytes.
func (l *Log) Undo(bytes int) error {
	s := l.newest()
	s.Last--
	s.End -= int64(bytes)
	l.torn = true
	return l.Repair()
}

// Seal has the next line begin a segment, and leaves the last one as it is.
func (l *Log) Seal() {
	l.closeActive()
	l.sealed, l.torn = true, false
}

// Drop removes the n oldest segments. A file that cannot be removed is forgotten until the log is opened again.
func (l *Log) Drop(n int) error {
	if n == 0 {
		return nil
	}
	if n == len(l.segments) {
		l.Seal()
	}
	var failed error
	for _, s := range l.segments[:n] {
		if err := os.Remove(l.Path(s.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	l.segments = slices.Delete(l.segments, 0, n)
	return failed
}

// Forget leaves a segment out whose file another process removed.
func (l *Log) Forget(name uint64) {
	if l.newest().Name == name {
		l.Seal()
	}
	l.segments = slices.DeleteFunc(l.segments, func(s Segment) bool { return s.Name == name })
}

// Stat returns the stat of the last segment as it is open, nil if the next line begins another one.
func (l *Log) Stat() fs.FileInfo {
	if l.active == nil {
		return nil
	}
	info, err := l.active.Stat()
	if err != nil {
		return nil
	}
	return info
}

// Close syncs and closes the last segment. Nothing may be appended afterwards.
func (l *Log) Close() (err error) {
	if l.active == nil {
		return nil
	}
	if !l.o.Sync {
		err = l.active.Sync()
	}
	return errors.Join(err, l.active.Close())
}

// closeActive closes the last segment. It is not synced: the kernel writes it soon, and where that does not do, it is
// synced.
func (l *Log) closeActive() {
	if l.active != nil {
		_ = l.active.Close()
		l.active = nil
	}
}
