package journal

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/seqlog"
)

const (
	defaultMaxBytes = 16 << 20
	// segmentShare is how many full segments make up MaxBytes.
	segmentShare = 8
	// maxTailBytes bounds what is kept in memory beside the segments.
	maxTailBytes = 1 << 20
)

// Options say where a journal is and how much it keeps. The zero value keeps 16 MiB in memory.
type Options struct {
	// Dir is the directory of the segments, made with the first event, other than what holds it. It is this journal's
	// alone: its owner holds a lock around it. Empty means that nothing is kept on disk.
	Dir string
	// MaxBytes bounds the segments together, or without a directory the events in memory; 0 or less means 16 MiB.
	MaxBytes int64
	// Logger is told when writing fails and when it works again. Nil means none.
	Logger hclog.Logger
	// Registerer gets the metrics. Nil means none.
	Registerer prometheus.Registerer

	create func(path string, existing int) (seqlog.File, error) // for tests
}

// Journal is a bounded sequence of events. It is for any number of callers.
type Journal struct {
	log     hclog.Logger
	metrics *metrics
	dir     string

	// appending is held while an event is stored, and with it the order of numbers is that of storage. Readers do not take
	// it, so that they do not wait for the disk. It is taken before mu.
	appending sync.Mutex
	disk      *disk // nil without a directory
	failing   bool  // whether the newest write failed

	// mu guards what readers see. It is held for a moment only, and what it guards is written under both locks.
	mu      sync.Mutex
	tail    tail
	kept    []seqlog.Segment // what can be read of the disk; with the tail it is one range
	last    uint64           // the newest number given away
	changed chan struct{}    // closed by the next event; nil while no reader waits
	ended   uint64           // how often readers were ended by Interrupt
	closed  chan struct{}
}

// Open opens the journal of a directory, or begins one. It fails where the directory or a segment is there and cannot
// be read, since numbers could be used twice then, and where the metrics are registered already. That the directory
// cannot be written is not an error; see the package documentation.
func Open(o Options) (*Journal, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	j := &Journal{log: o.Logger.Named("journal"), dir: o.Dir, tail: tail{limit: o.MaxBytes}, closed: make(chan struct{})}
	var err error
	if o.Dir != "" {
		if j.disk, err = openDisk(o); err != nil {
			return nil, fmt.Errorf("open journal in %s: %w", o.Dir, err)
		}
		if j.disk.gap {
			j.log.Warn("events are missing; those before them are given up", "dir", o.Dir, "next", j.disk.written+1)
		}
		j.tail.limit = min(maxTailBytes, o.MaxBytes/segmentShare)
		j.last = j.disk.written
		j.kept = slices.Clone(j.disk.Segments())
	}
	if j.metrics, err = newMetrics(o.Registerer); err != nil {
		return nil, errors.Join(fmt.Errorf("register metrics of the journal: %w", err), j.closeDisk())
	}
	j.metrics.bytes.Set(float64(j.size()))
	return j, nil
}

// Append gives an event the next number, stores it and returns it as it is stored: with its number, its time in UTC,
// and its data as [json.RawMessage], which belongs to the journal and must not be changed. It fails with [ErrClosed],
// with [ErrTooLarge], and where the data has no JSON; no number is given away then. A disk that does not take the event
// is not an error; see the package documentation.
func (j *Journal) Append(e pannier.Event) (pannier.Event, error) {
	e, err := canonical(e)
	if err != nil {
		return pannier.Event{}, err
	}
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.isClosed() {
		return pannier.Event{}, ErrClosed
	}
	e.Seq = j.last + 1
	j.write(e)
	j.publish(e)
	return e, nil
}

// Skip gives up what is kept because events were not appended: a reader that has not read everything yet gets
// [ErrTooOld], and the next event is not the one after the newest.
func (j *Journal) Skip() {
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.isClosed() {
		return
	}
	j.metrics.skips.Inc()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	j.tail = tail{limit: j.tail.limit}
	j.kept = nil
	j.wake()
}

// Interrupt ends all readers that there are with [ErrTooOld], so that they look at the whole: an event is on its way
// that the disk does not take.
func (j *Journal) Interrupt() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended++
	j.wake()
}

// wake has readers look again. The caller holds mu.
func (j *Journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// write brings to the disk what is not there yet, with events at the end. The caller holds appending.
func (j *Journal) write(events ...pannier.Event) {
	if j.disk == nil {
		return
	}
	waiting := j.tail.after(j.disk.written)
	if len(waiting) > 0 {
		events = append(waiting[:len(waiting):len(waiting)], events...)
	}
	if len(events) == 0 {
		return
	}
	err := j.disk.write(events)
	switch { // the first failure of a series is logged, and its end
	case err != nil:
		j.metrics.writeErrors.Inc()
		if !j.failing {
			j.log.Warn("events cannot be written; the newest are kept in memory until they can", "dir", j.dir, "error", err)
		}
	case j.failing:
		j.log.Info("events are written again", "dir", j.dir, "events", len(events))
	}
	j.failing = err != nil
}

// publish shows an event to readers. The caller holds appending.
func (j *Journal) publish(e pannier.Event) {
	j.mu.Lock()
	j.tail.push(e)
	j.last = e.Seq
	j.publishLocked()
	j.wake()
	j.mu.Unlock()
	j.metrics.events.Inc()
	j.metrics.bytes.Set(float64(j.size()))
}

// publishLocked lets readers see the segments as they are, up to a gap between them and the tail: an event that has
// left memory before it was written. The caller holds both locks.
func (j *Journal) publishLocked() {
	j.kept = j.kept[:0]
	if j.disk != nil && (j.disk.written == j.last || j.tail.first() <= j.disk.written+1) {
		j.kept = append(j.kept, j.disk.Segments()...)
	}
}

// size returns how much is kept, in bytes. The caller holds appending, or the journal is not shared yet.
func (j *Journal) size() int64 {
	if j.disk == nil {
		return j.tail.size
	}
	return j.disk.Size()
}

// First returns the number of the oldest event that is kept; 0 when there is none.
func (j *Journal) First() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.first()
}

// first is First for callers that hold mu.
func (j *Journal) first() uint64 {
	first := j.tail.first()
	for _, s := range j.kept {
		if !s.Empty() && (first == 0 || s.First < first) {
			return s.First
		}
	}
	return first
}

// Last returns the newest number that was given away; 0 before the first event. Where the event itself got lost in a
// restart, it is not kept, and First is 0.
func (j *Journal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

// Close tries a last time to write what has not been written, syncs and closes the segments, and ends all readers with
// [ErrClosed]. It fails where events stay unwritten. Closing again does nothing.
func (j *Journal) Close() error {
	j.appending.Lock()
	defer j.appending.Unlock()
	if j.isClosed() {
		return nil
	}
	close(j.closed)
	if err := j.closeDisk(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

func (j *Journal) closeDisk() error {
	if j.disk == nil {
		return nil
	}
	j.write()
	err := j.disk.Close()
	if err != nil {
		j.metrics.writeErrors.Inc()
	}
	if j.failing {
		err = errors.Join(err, fmt.Errorf("events after %d could not be written", j.disk.written))
	}
	return err
}

func (j *Journal) isClosed() bool {
	select {
	case <-j.closed:
		return true
	default:
		return false
	}
}
