package journal

import (
	"context"
	"fmt"

	"pannier"
)

// Reader returns the events of a journal one after another. It is for one goroutine, needs no closing, and while it waits
// costs nothing but its memory.
type Reader struct {
	journal *Journal
	want    uint64          // the number of the next event
	ahead   []pannier.Event // read from disk already, beginning with want
	at      position        // how far the segments were read
	begun   uint64          // how often readers had been ended by then
	err     error           // the end
}

// Follow returns a reader whose first event is the one after the number after; 0 begins with the very first. To follow
// from now on, give it [Journal.Last].
func (j *Journal) Follow(after uint64) *Reader {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &Reader{journal: j, want: after + 1, begun: j.ended}
	if after > j.last {
		seq := max(r.want, after) // behind the largest number, want is 0
		r.err = &TooOldError{Seq: seq, First: j.first(), Last: j.last}
	}
	return r
}

// Next returns the next event, and waits until there is one or ctx is done; then it returns the error of ctx, and may be
// called again. Data is a [json.RawMessage] that others may share, so it must not be changed. When the event is not kept
// any more, Next fails with an [ErrTooOld], and once the journal is closed with [ErrClosed]; both are the end of the reader.
// After any other error, which is of the disk, it may be called again.
func (r *Reader) Next(ctx context.Context) (pannier.Event, error) {
	for r.err == nil {
		switch {
		case r.journal.isClosed():
			r.err = ErrClosed
		case ctx.Err() != nil:
			return pannier.Event{}, ctx.Err()
		case len(r.ahead) > 0:
			return r.take(), nil
		}
		if err := r.fetch(ctx); err != nil {
			return pannier.Event{}, err
		}
	}
	return pannier.Event{}, r.err
}

func (r *Reader) take() pannier.Event {
	e := r.ahead[0]
	r.ahead[0] = pannier.Event{}
	if r.ahead = r.ahead[1:]; len(r.ahead) == 0 {
		r.ahead = nil // what was read ahead is not kept by a reader that waits
	}
	r.want++
	return e
}

// fetch gets events, or waits until that is worth another try. An error that ends the reader goes to r.err.
func (r *Reader) fetch(ctx context.Context) error {
	f := r.journal.find(r.want, r.begun)
	switch {
	case f.err != nil:
		r.err = f.err
	case f.changed != nil:
		select {
		case <-f.changed:
		case <-r.journal.closed:
		case <-ctx.Done():
		}
	case f.onDisk:
		return r.read(f.segment)
	default:
		r.ahead = append(r.ahead[:0], f.event)
	}
	return nil
}

// read reads ahead. A segment that was removed meanwhile, or is damaged, is none that find names another time.
func (r *Reader) read(s segment) error {
	events, err := s.read(r.journal.disk.dir, r.want, &r.at)
	if err == nil {
		r.ahead = events
		return nil
	}
	r.at = position{}
	if damaged(err) {
		r.journal.giveUp(s, err)
		return nil
	}
	return fmt.Errorf("follow journal: %w", err)
}

// found is where an event is: here, in a segment, or nowhere yet.
type found struct {
	event   pannier.Event
	onDisk  bool
	segment segment
	changed <-chan struct{}
	err     error
}

// find looks for an event, for a reader that began when so many had been ended. Memory comes first.
func (j *Journal) find(seq, begun uint64) found {
	j.mu.Lock()
	defer j.mu.Unlock()
	if begun != j.ended {
		return found{err: &TooOldError{Seq: seq, First: j.first(), Last: j.last}}
	}
	if seq > j.last {
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		return found{changed: j.changed}
	}
	if e, ok := j.tail.get(seq); ok {
		return found{event: e}
	}
	for _, s := range j.kept {
		if s.holds(seq) {
			return found{onDisk: true, segment: s}
		}
	}
	return found{err: &TooOldError{Seq: seq, First: j.first(), Last: j.last}}
}

// giveUp gives up a segment that cannot be read, with those before it, unless it is gone by now.
func (j *Journal) giveUp(s segment, why error) {
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.isClosed() || !j.disk.forget(s.name) {
		return
	}
	j.log.Error("a segment cannot be read; it is given up with those before it", "dir", j.disk.dir, "segment", s.name, "error", why)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.publishLocked()
}
