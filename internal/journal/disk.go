package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"pannier"
	"pannier/internal/seqlog"
)

// batch is how many events are written at a time after a failure: a try that fails again must not cost much.
const batch = 64

// disk is the log of a directory. Each segment begins with the number after the last one of the segment before it. It
// is for one caller at a time.
type disk struct {
	*seqlog.Log
	maxBytes int64
	// written is the newest number that is on disk or below the name of a segment there.
	written uint64
	// gap says that events were missing at the start.
	gap bool
	// mark names the empty segment that reserves numbers while writing fails; 0 is none.
	mark uint64
}

// openDisk reads all segments of a directory and gives up what lies before a gap. A missing directory is empty.
func openDisk(o Options) (*disk, error) {
	d := &disk{maxBytes: o.MaxBytes}
	log := seqlog.Options{Dir: o.Dir, SegmentBytes: o.MaxBytes / segmentShare, Existing: os.O_TRUNC, Create: o.create}
	names, err := seqlog.Segments(o.Dir, maxSeq)
	if err != nil {
		return nil, err
	}
	var kept []seqlog.Segment
	giveUp := func() {
		for _, s := range kept {
			_ = os.Remove(seqlog.SegmentPath(o.Dir, s.Name))
			d.gap = true
		}
		kept = nil
	}
	torn := false
	for i, name := range names {
		number := func(line []byte) (uint64, error) {
			e, err := decode(line)
			return e.Seq, err
		}
		s, size, err := seqlog.LastRun(o.Dir, name, log.SegmentBytes+maxLine, maxLine, number)
		if err != nil {
			return nil, fmt.Errorf("read segment: %w", err)
		}
		if name > d.written+1 {
			giveUp()
			d.written = name - 1
		}
		if s.Empty() || s.Last <= d.written {
			if i == len(names)-1 {
				d.mark = name
			} else {
				_ = os.Remove(seqlog.SegmentPath(o.Dir, name))
			}
			continue
		}
		if s.First != d.written+1 {
			giveUp()
		}
		d.gap = d.gap || s.Begin > 0
		d.written, torn = s.Last, s.End < size
		kept = append(kept, s)
	}
	d.Log = seqlog.New(log, kept, torn)
	if d.mark > 0 || d.Repair() != nil {
		d.Seal() // the next event begins another segment, and what is torn stays after the end of this one
	}
	d.trim(0)
	return d, nil
}

// write writes the events that are not written yet, or some of them where others are lost.
func (d *disk) write(events []pannier.Event) error {
	for part := range slices.Chunk(events, batch) {
		if err := d.append(part); err != nil {
			return errors.Join(err, d.reserve(events[len(events)-1].Seq+1))
		}
	}
	if d.mark > 0 { // the numbers below it are in another segment
		_ = os.Remove(d.Path(d.mark))
		d.mark = 0
	}
	return nil
}

func (d *disk) append(events []pannier.Event) error {
	var text []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode event %d: %w", e.Seq, err)
		}
		text = append(append(text, line...), '\n')
	}
	first, last := events[0].Seq, events[len(events)-1].Seq
	if first != d.written+1 {
		_ = d.Drop(len(d.Segments()))
	}
	d.trim(int64(len(text)))
	err := d.Append(first, last, text)
	if n := len(d.Segments()); n > 0 && d.Segments()[n-1].Name == d.mark {
		d.mark = 0 // it has become a segment
	}
	if err == nil {
		d.written = last
	}
	return err
}

// trim removes the oldest segments until there is space for more bytes, but never the newest.
func (d *disk) trim(more int64) {
	excess, n := d.Size()+more-d.maxBytes, 0
	for segments := d.Segments(); excess > 0 && n < len(segments)-1; n++ {
		excess -= segments[n].End
	}
	_ = d.Drop(n) // a segment that stays, as on a read-only disk, is a gap for the next process
}

// reserve keeps the numbers below next from being used again after a restart.
func (d *disk) reserve(next uint64) (err error) {
	if d.mark > 0 {
		err = os.Rename(d.Path(d.mark), d.Path(next))
	}
	if d.mark == 0 || err != nil {
		var f *os.File
		if f, err = os.OpenFile(d.Path(next), os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("reserve the numbers below %d: %w", next, err)
	}
	d.mark = next
	return nil
}

// forget gives up the segments up to a name, and reports whether there was one. A process that removes one tends to
// remove others, so newer ones that are missing are given up too: what is written there would be lost.
func (d *disk) forget(name uint64) bool {
	n := 0
	for i, s := range d.Segments() {
		if _, err := os.Lstat(d.Path(s.Name)); s.Name == name || errors.Is(err, fs.ErrNotExist) {
			n = i + 1
		}
	}
	_ = d.Drop(n)
	return n > 0
}
