package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"pannier"
	"pannier/internal/seqlog"
)

// batch is how many events are written at a time after a failure: a try that fails again must not cost much.
const batch = 64

// file is what the disk writes to.
type file interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// disk is the segments of a directory. It is for one caller at a time.
type disk struct {
	dir          string
	maxBytes     int64
	segmentBytes int64
	create       func(path string) (file, error)

	// segments are ordered, and each begins with the number after the last of the one before it.
	segments []segment
	// active is the file of the newest segment; nil where the next event begins another one.
	active file
	// written is the newest number that is on disk or below the name of a segment there.
	written uint64
	// gap tells that load found events missing and gave up others.
	gap bool
	// mark is the empty segment that holds numbers while writing fails.
	mark string
}

// write writes the events that are not written yet: those after d.written, or some of them where others are lost.
func (d *disk) write(events []pannier.Event) error {
	for part := range slices.Chunk(events, batch) {
		if err := d.append(part); err != nil {
			return errors.Join(err, d.hold(events[len(events)-1].Seq+1))
		}
	}
	if d.mark != "" { // the numbers below it are in another segment
		_ = os.Remove(d.mark)
		d.mark = ""
	}
	return nil
}

func (d *disk) append(events []pannier.Event) error {
	var text []byte
	for _, e := range events {
		var err error
		if text, err = appendLine(text, e); err != nil {
			return err
		}
	}
	if err := d.makeRoom(events[0].Seq, int64(len(text))); err != nil {
		return err
	}
	s := &d.segments[len(d.segments)-1]
	if _, err := d.active.WriteAt(text, s.end); err != nil {
		if undo := d.active.Truncate(s.end); undo != nil { // so that the segment ends with a whole line
			d.close()
			err = errors.Join(err, undo)
		}
		return err
	}
	s.last = events[len(events)-1].Seq
	s.end += int64(len(text))
	d.written = s.last
	return nil
}

// makeRoom leaves an active segment that takes the event seq and bytes.
func (d *disk) makeRoom(seq uint64, bytes int64) error {
	if seq != d.written+1 {
		d.drop(len(d.segments))
	}
	if d.active != nil {
		if s := d.segments[len(d.segments)-1]; !s.empty() && s.end+bytes > d.segmentBytes {
			d.close()
		}
	}
	if d.active == nil {
		if err := d.begin(seq); err != nil {
			return err
		}
	}
	d.trim(bytes)
	return nil
}

// begin creates the segment whose first event is seq.
func (d *disk) begin(seq uint64) error {
	if err := os.Mkdir(d.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	path := seqlog.SegmentPath(d.dir, seq)
	f, err := d.create(path)
	if err != nil {
		return err
	}
	if d.mark == path {
		d.mark = ""
	}
	d.active = f
	d.segments = slices.DeleteFunc(d.segments, segment.empty)
	d.segments = append(d.segments, segment{name: seq, first: seq, last: seq - 1})
	return nil
}

// close closes the active segment. It is not synced: no event waits for the disk, and the kernel writes it soon.
func (d *disk) close() {
	if d.active != nil {
		_ = d.active.Close()
		d.active = nil
	}
}

// trim removes the oldest segments until there is room for more bytes, but never the newest.
func (d *disk) trim(more int64) {
	excess := d.size() + more - d.maxBytes
	n := 0
	for ; excess > 0 && n < len(d.segments)-1; n++ {
		excess -= d.segments[n].end
	}
	d.drop(n)
}

// drop gives up the n oldest segments. That a file cannot be removed, as on a read-only disk, changes nothing: Open will
// see that the next segment does not go on from it.
func (d *disk) drop(n int) {
	if n > 0 && n == len(d.segments) {
		d.close() // it has no readers left
	}
	for _, s := range d.segments[:n] {
		_ = os.Remove(seqlog.SegmentPath(d.dir, s.name))
	}
	d.segments = slices.Delete(d.segments, 0, n)
}

// hold keeps the numbers below next from being given away again after a restart.
func (d *disk) hold(next uint64) (err error) {
	path := seqlog.SegmentPath(d.dir, next)
	if d.mark != "" {
		err = os.Rename(d.mark, path)
	}
	if d.mark == "" || err != nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("hold the number %d: %w", next, err)
	}
	d.mark = path
	return nil
}

// size returns the length of all segments, in bytes.
func (d *disk) size() (sum int64) {
	for _, s := range d.segments {
		sum += s.end
	}
	return sum
}

func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o600)
}

// forget gives up the segments up to the one with the name, and reports whether it was there. A writer that removes one behind
// our back tends to remove others, so newer ones that are gone are given up too: what is written there would be lost.
func (d *disk) forget(name uint64) bool {
	n := 0
	for i, s := range d.segments {
		_, err := os.Lstat(seqlog.SegmentPath(d.dir, s.name))
		if s.name == name || errors.Is(err, fs.ErrNotExist) {
			n = i + 1
		}
	}
	d.drop(n)
	return n > 0
}
