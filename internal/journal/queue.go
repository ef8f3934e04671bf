package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// The bounds of a [Queue].
const (
	// maxEventsQueued and maxEventBytesQueued bound the events that wait for the disk. Those that find no room are
	// dropped.
	maxEventsQueued     = 4096
	maxEventBytesQueued = 4 << 20
	// stallAfter is how long the disk may take for an event before readers get the whole catalog instead.
	stallAfter = time.Second
	// lastTimeout is how long the newest number may wait for events that were emitted before.
	lastTimeout = 100 * time.Millisecond
	// offeredShare is the part of the queue that offered events may fill.
	offeredShare = 4
)

// Queue takes events: they go to the journal, which numbers and keeps them, and to the log, in the order of
// [Queue.Emit] and in the background, so that Emit never waits for the disk. It is for any number of callers.
//
// An event is numbered and shown once the kernel has it, before it is synced. So a kill loses no event that a reader
// was given, and no number is given to two events. While the disk takes longer than stallAfter, a reader gets
// [pannier.ErrTooOld] for each change of the catalog, and so the whole catalog, and the event itself later. Where the
// queue is full, events are dropped, and the journal continues after a gap.
type Queue struct {
	log         hclog.Logger
	workspaceID string
	current     func() *pannier.Snapshot
	journal     Appender

	mu            sync.Mutex
	queue         []pannier.Event
	bytes         int           // of the queue
	dropped       int           // events since the queue had room
	writing       bool          // write runs
	idle          chan struct{} // closed when write ends; nil before the first
	since         time.Time     // when the write of the current event began
	catalogUnread bool          // readers have neither the number of a change of the catalog nor the whole catalog
	guarded       bool          // checkStall is due
}

// Appender is what a [Queue] needs of a [Journal]. Append and Skip may wait for the disk.
type Appender interface {
	Append(pannier.Event) (pannier.Event, error)
	Skip()
	Interrupt()
	Last() uint64
}

// NewQueue returns a queue of a journal. current returns the snapshot whose version an event gets, nil before the
// first.
func NewQueue(log hclog.Logger, workspaceID string, current func() *pannier.Snapshot, j Appender) *Queue {
	return &Queue{log: log.Named("event"), workspaceID: workspaceID, current: current, journal: j}
}

// Emit takes an event. data is one of the values that the root package has for the type.
func (l *Queue) Emit(kind pannier.EventType, data any) {
	e, ok := l.encode(kind, data)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.catalogUnread = l.catalogUnread || kind == pannier.EventCatalogUpdated
	if l.dropped > 0 || !l.hasRoomLocked(e, 1) {
		l.dropped++
		return
	}
	l.addLocked(e)
}

// Offer takes an event as [Queue.Emit] does and reports whether there is room for it. Offered events leave most of the
// queue to emitted ones; one that is refused leaves no gap.
func (l *Queue) Offer(kind pannier.EventType, data any) bool {
	e, ok := l.encode(kind, data)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped > 0 || !l.hasRoomLocked(e, offeredShare) {
		return false
	}
	l.addLocked(e)
	return true
}

func (l *Queue) encode(kind pannier.EventType, data any) (pannier.Event, bool) {
	text, err := json.Marshal(data)
	if err != nil {
		l.log.Error("event cannot be encoded", "type", kind, "error", err)
		return pannier.Event{}, false
	}
	e := pannier.Event{Time: time.Now().UTC(), Type: kind, WorkspaceID: l.workspaceID, Data: json.RawMessage(text)}
	if s := l.current(); s != nil {
		e.SnapshotVersion = s.Version
	}
	return e, true
}

// hasRoomLocked reports whether an event fits into a share of the queue: all of it, or one in so many parts.
func (l *Queue) hasRoomLocked(e pannier.Event, share int) bool {
	size := len(e.Data.(json.RawMessage))
	return len(l.queue) == 0 || len(l.queue) < maxEventsQueued/share && l.bytes+size <= maxEventBytesQueued/share
}

func (l *Queue) addLocked(e pannier.Event) {
	l.queue = append(l.queue, e)
	l.bytes += len(e.Data.(json.RawMessage))
	if !l.writing {
		l.writing, l.idle = true, make(chan struct{})
		go l.write()
	}
}

// write writes what is queued. Events are dropped only after those in the queue, so the journal skips to a new number
// when the queue is empty.
func (l *Queue) write() {
	for {
		switch e, dropped := l.next(); {
		case e != nil:
			l.append(*e)
		case dropped > 0:
			l.log.Error("events were dropped, because the state directory does not take them in time", "events", dropped)
			l.journal.Skip()
		default:
			return
		}
	}
}

// next takes the next event from the queue. If the queue is empty it returns nil and the number of events that were
// dropped after it; if that is zero as well, write has ended.
func (l *Queue) next() (e *pannier.Event, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.queue) > 0:
		first := l.queue[0]
		l.queue[0] = pannier.Event{}
		l.queue = l.queue[1:]
		l.bytes -= len(first.Data.(json.RawMessage))
		if l.since = time.Now(); !l.guarded {
			l.guarded = true
			time.AfterFunc(stallAfter, l.checkStall)
		}
		return &first, 0
	case l.dropped > 0:
		dropped, l.dropped = l.dropped, 0
		return nil, dropped
	}
	l.catalogUnread, l.writing = false, false
	close(l.idle)
	return nil, 0
}

func (l *Queue) append(e pannier.Event) {
	e, err := l.journal.Append(e)
	if err != nil {
		l.log.Error("event not kept", "type", e.Type, "error", err)
		return
	}
	fields, err := Fields(e.Data)
	if err != nil {
		l.log.Error("event cannot be encoded", "type", e.Type, "error", err)
		return
	}
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == unlogged[e.Type] {
			fields = slices.Delete(fields, i, i+2)
			break
		}
	}
	l.log.Info(string(e.Type), append([]any{"seq", e.Seq, "snapshot_version", e.SnapshotVersion}, fields...)...)
}

// checkStall gives readers the whole catalog where a change of it waits for the disk.
func (l *Queue) checkStall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.guarded = l.writing; !l.guarded {
		return
	}
	if l.catalogUnread && time.Since(l.since) >= stallAfter {
		l.catalogUnread = false
		l.journal.Interrupt()
	}
	time.AfterFunc(stallAfter, l.checkStall)
}

// Wait returns once everything that was emitted is written, or ctx is done.
func (l *Queue) Wait(ctx context.Context) {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// Last returns the number of the newest event. An event that was emitted before is among those that it counts, unless
// the disk does not take it at once.
func (l *Queue) Last() uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), lastTimeout)
	defer cancel()
	l.Wait(ctx)
	return l.journal.Last()
}

// Fields returns the fields of an event's data as a logger takes them, in the order of its JSON.
func Fields(data any) ([]any, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var fields []any
	dec := json.NewDecoder(bytes.NewReader(text))
	for _, err := dec.Token(); dec.More() && err == nil; {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		var decoded any
		if err := json.Unmarshal(value, &decoded); err != nil {
			decoded = string(value)
		} else if _, ok := decoded.(map[string]any); ok {
			decoded = JSONText(value) // the logger prints it best as it is
		}
		fields = append(fields, name, decoded)
	}
	return fields, nil
}

// unlogged are the fields of events that the log does not have: texts of users, which may hold secrets.
var unlogged = map[pannier.EventType]string{pannier.EventSkillInvoked: "args", pannier.EventTurnResolved: "turn"}

// JSONText is an object of an event in a log record.
type JSONText string

// MarshalJSON implements [json.Marshaler]. A JSON log has the object as a string.
func (t JSONText) MarshalJSON() ([]byte, error) { return json.Marshal(string(t)) }
