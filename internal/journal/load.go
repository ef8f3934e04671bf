package journal

import (
	"fmt"
	"os"
	"syscall"

	"pannier/internal/seqlog"
)

// load reads what is in the directory. A directory that is missing is empty; it is made with the first segment.
func (d *disk) load() error {
	names, err := seqlog.Segments(d.dir, maxSeq)
	if err != nil {
		return err
	}
	for i, name := range names {
		s, size, err := scanFile(d.dir, name, d.segmentBytes+maxLine) // a journal writes none that is longer
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
		taken, newest := d.take(s), i == len(names)-1
		switch {
		case taken && newest:
			d.active = resume(d.dir, s, size)
		case newest:
			d.mark = seqlog.SegmentPath(d.dir, name) // it is there for its name
		case !taken:
			_ = os.Remove(seqlog.SegmentPath(d.dir, name))
		}
	}
	d.trim(0)
	return nil
}

// take adds the next segment, unless it has nothing new, and gives up what it does not go on from.
func (d *disk) take(s segment) bool {
	if s.name > d.written+1 {
		d.giveUp()
		d.written = s.name - 1
	}
	if s.empty() || s.last <= d.written {
		return false
	}
	if s.first != d.written+1 {
		d.giveUp()
	}
	d.gap = d.gap || s.offset > 0
	d.segments = append(d.segments, s)
	d.written = s.last
	return true
}

// giveUp drops what lies before a gap.
func (d *disk) giveUp() {
	d.gap = d.gap || len(d.segments) > 0
	d.drop(len(d.segments))
}

// resume opens the newest segment, to go on behind its last whole line. It returns nil where that cannot be: then the
// next event begins another segment, and what is torn stays behind the end of this one.
func resume(dir string, s segment, size int64) file {
	f, err := os.OpenFile(seqlog.SegmentPath(dir, s.name), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if s.end == size {
		return f
	}
	if err := f.Truncate(s.end); err != nil {
		_ = f.Close()
		return nil
	}
	return f
}
