package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// readAhead is how many bytes of a segment are read at a time.
const readAhead = 16 << 10

// errBadLine says that a line is not the event that belongs there.
var errBadLine = errors.New("the line is not an event")

// Reader returns the events of a journal one after another. It is for one goroutine, needs no closing, and costs only
// its memory while it waits.
type Reader struct {
	journal *Journal
	want    uint64          // the number of the next event
	ahead   []pannier.Event // read from disk already, beginning with want
	begun   uint64          // how often readers had been ended by then
	err     error           // the end

	// The line of the event seq begins at offset in the segment name.
	name, seq uint64
	offset    int64
}

// Follow returns a reader whose first event is the one after a number; 0 begins with the very first. To follow from now
// on, give it [Journal.Last].
func (j *Journal) Follow(after uint64) *Reader {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &Reader{journal: j, want: after + 1, begun: j.ended}
	if after > j.last {
		r.err = j.tooOld(max(r.want, after)) // after the largest number, want is 0
	}
	return r
}

// tooOld returns the error of a reader. The caller holds mu.
func (j *Journal) tooOld(seq uint64) error {
	return &TooOldError{Seq: seq, First: j.first(), Last: j.last}
}

// Next returns the next event, and waits until there is one or ctx is done; then it returns the error of ctx, and may
// be called again. Data is a [json.RawMessage] that is shared and must not be changed. When the event is not kept any
// more, Next fails with an [ErrTooOld], and once the journal is closed with [ErrClosed]; both are the end of the
// reader. After any other error, which is of the disk, it may be called again.
func (r *Reader) Next(ctx context.Context) (pannier.Event, error) {
	for r.err == nil {
		switch {
		case r.journal.isClosed():
			r.err = ErrClosed
		case ctx.Err() != nil:
			return pannier.Event{}, ctx.Err()
		case len(r.ahead) > 0:
			e := r.ahead[0]
			r.ahead[0] = pannier.Event{}
			if r.ahead = r.ahead[1:]; len(r.ahead) == 0 {
				r.ahead = nil // a reader that waits keeps nothing
			}
			r.want++
			return e, nil
		default:
			if err := r.fetch(ctx); err != nil {
				return pannier.Event{}, err
			}
		}
	}
	return pannier.Event{}, r.err
}

// fetch reads events from memory or else from disk, or waits until that is worth another try. An error that ends the
// reader goes to r.err.
func (r *Reader) fetch(ctx context.Context) error {
	j := r.journal
	j.mu.Lock()
	at := slices.IndexFunc(j.kept, func(s seqlog.Segment) bool { return s.First <= r.want && r.want <= s.Last })
	first := j.tail.first()
	switch {
	case r.begun != j.ended:
		r.err = j.tooOld(r.want)
	case r.want > j.last:
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-j.closed:
		case <-ctx.Done():
		}
		return nil
	case first > 0 && first <= r.want:
		r.ahead = append(r.ahead[:0], j.tail.events[r.want-first])
	case at < 0:
		r.err = j.tooOld(r.want)
	default:
		s := j.kept[at]
		j.mu.Unlock()
		return r.read(s)
	}
	j.mu.Unlock()
	return nil
}

// read reads ahead from a segment. One that was removed meanwhile, or is damaged, is given up.
func (r *Reader) read(s seqlog.Segment) (err error) {
	if r.ahead, err = r.readSegment(s); err == nil {
		return nil
	}
	r.ahead, r.name = nil, 0
	for _, damage := range []error{
		errBadLine, seqlog.ErrTooLong, seqlog.ErrNotEnded, io.EOF, fs.ErrNotExist, fsx.ErrNotRegular,
	} {
		if errors.Is(err, damage) {
			r.journal.giveUp(s, err)
			return nil
		}
	}
	return fmt.Errorf("follow journal: %w", err)
}

// readSegment returns the wanted event and those after it, as many as one read has. It continues where the last read
// ended if it can, else it searches from the start of the segment.
func (r *Reader) readSegment(s seqlog.Segment) (events []pannier.Event, err error) {
	f, _, err := fsx.OpenRegular(r.journal.disk.Path(s.Name), 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.name != s.Name || r.seq > r.want {
		r.name, r.seq, r.offset = s.Name, s.First, s.Begin
	}
	l := seqlog.NewLines(f, r.offset, s.End, maxLine)
	for stop := int64(0); r.seq <= s.Last && (len(events) == 0 || l.Offset < stop); r.seq++ {
		if len(events) == 0 {
			stop = l.Offset + readAhead
		}
		line, err := l.Next()
		if err != nil {
			return nil, fmt.Errorf("read event %d: %w", r.seq, err)
		}
		if r.seq < r.want {
			continue
		}
		e, err := decode(line)
		if err != nil || e.Seq != r.seq {
			return nil, fmt.Errorf("read event %d: %w", r.seq, errors.Join(errBadLine, err))
		}
		events = append(events, e)
	}
	r.offset = l.Offset
	return events, nil
}

// giveUp gives up a segment that cannot be read, with those before it, unless it was removed by now.
func (j *Journal) giveUp(s seqlog.Segment, why error) {
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.isClosed() || !j.disk.forget(s.Name) {
		return
	}
	j.log.Error("a segment cannot be read; it is given up with those before it", "dir", j.dir, "segment", s.Name, "error", why)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.publishLocked()
}
