package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// readAhead is how many bytes of a segment are read at a time.
const readAhead = 16 << 10

// segment is a file with events, numbered from first to last without a gap. It has none where last is below first.
type segment struct {
	name        uint64 // the number in its name; its first event may be a later one where others got lost
	first, last uint64
	offset, end int64 // where the line of the first event begins, and that of the last ends
}

func (s segment) holds(seq uint64) bool { return s.first <= seq && seq <= s.last }

func (s segment) empty() bool { return s.last < s.first }

// scan finds the last run of events without a gap in a segment: what lies before it cannot be reached without one. A
// line that is not an event is a gap, and so is one whose number does not go on, unless there is nothing behind it.
func scan(r io.ReaderAt, name uint64, size int64) (segment, error) {
	run := segment{name: name, first: name, last: name - 1}
	broken := false
	for l := newLines(r, 0, size); ; {
		begin := l.Offset
		e, err := l.event()
		switch {
		case errors.Is(err, errBadLine), err == nil && e.Seq <= run.last: // numbers never go back
			broken = true
			continue
		case errors.Is(err, io.EOF):
			return run, nil
		case err != nil:
			return run, err
		case broken || e.Seq != run.last+1:
			run.first, run.offset, broken = e.Seq, begin, false
		}
		run.last, run.end = e.Seq, l.Offset
	}
}

// scanFile scans a segment up to a limit and says how long its file is.
func scanFile(dir string, name uint64, limit int64) (segment, int64, error) {
	f, info, err := fsx.OpenRegular(seqlog.SegmentPath(dir, name), 0)
	if err != nil {
		return segment{}, 0, err
	}
	defer f.Close()
	s, err := scan(f, name, min(info.Size(), limit))
	return s, info.Size(), err
}

// position is where in a segment the line of an event begins.
type position struct {
	name, seq uint64
	offset    int64
}

// read returns the event seq and those behind it that lie within one read. It goes on from p where it can, else searches
// from the start of the segment, and moves p behind what it returns.
func (s segment) read(dir string, seq uint64, p *position) ([]pannier.Event, error) {
	f, _, err := fsx.OpenRegular(seqlog.SegmentPath(dir, s.name), 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if p.name != s.name || p.seq > seq {
		*p = position{name: s.name, seq: s.first, offset: s.offset}
	}
	l := newLines(f, p.offset, s.end)
	for ; p.seq < seq; p.seq++ {
		if _, err := l.next(); err != nil {
			return nil, fmt.Errorf("skip event %d: %w", p.seq, err)
		}
	}
	return s.readOn(l, p)
}

func (s segment) readOn(l lines, p *position) (events []pannier.Event, err error) {
	for stop := l.Offset + readAhead; p.seq <= s.last && l.Offset < stop; p.seq++ {
		e, err := l.event()
		if err == nil && e.Seq != p.seq {
			err = errBadLine
		}
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", p.seq, err)
		}
		events = append(events, e)
	}
	p.offset = l.Offset
	return events, nil
}

// damaged tells whether a read failed for what is on disk, rather than for something that may pass.
func damaged(err error) bool {
	return errors.Is(err, errBadLine) || errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrNotRegular)
}
