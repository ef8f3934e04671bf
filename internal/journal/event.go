package journal

import (
	"encoding/json"
	"fmt"

	"pannier"
)

const (
	// maxLine bounds the line of an event, with its line feed, in bytes.
	maxLine = 4 << 20
	// maxSeq bounds numbers, so that invalid data on disk cannot make them overflow.
	maxSeq = 1<<63 - 1
	// eventOverhead is about what an event takes in memory besides its text, in bytes.
	eventOverhead = 128
)

// canonical returns an event as it will be read back, whatever its number. Methods of other packages encode its data,
// so this is called without a lock.
func canonical(e pannier.Event) (pannier.Event, error) {
	e.Seq = maxSeq // the longest number
	e.Time = e.Time.UTC()
	text, err := json.Marshal(e)
	if err != nil {
		return pannier.Event{}, fmt.Errorf("encode event: %w", err)
	}
	if len(text)+1 > maxLine {
		return pannier.Event{}, fmt.Errorf("%w: it has %d bytes and may have %d", ErrTooLarge, len(text), maxLine-1)
	}
	return decode(text)
}

// decode reads an event, with its data as [json.RawMessage].
func decode(line []byte) (pannier.Event, error) {
	var data json.RawMessage
	e := pannier.Event{Data: &data}
	if err := json.Unmarshal(line, &e); err != nil {
		return pannier.Event{}, fmt.Errorf("decode event: %w", err)
	}
	if e.Seq == 0 || e.Seq > maxSeq {
		return pannier.Event{}, fmt.Errorf("decode event: number %d", e.Seq)
	}
	if data == nil {
		data = json.RawMessage("null")
	}
	e.Data = data
	return e, nil
}

// tail has the newest events in memory, without a gap. There is always space for one.
type tail struct {
	limit, size int64 // bytes
	events      []pannier.Event
}

func (t *tail) push(e pannier.Event) {
	sizeOf := func(e pannier.Event) int64 {
		data, _ := e.Data.(json.RawMessage)
		return int64(len(data)+len(e.Type)+len(e.WorkspaceID)) + eventOverhead
	}
	t.events = append(t.events, e)
	t.size += sizeOf(e)
	for t.size > t.limit && len(t.events) > 1 {
		t.size -= sizeOf(t.events[0])
		t.events[0] = pannier.Event{} // frees its data while the array is in use
		t.events = t.events[1:]
	}
}

// first returns the number of the oldest event; 0 when there is none.
func (t *tail) first() uint64 {
	if len(t.events) == 0 {
		return 0
	}
	return t.events[0].Seq
}

// after returns the events after a number. They are valid until the next push.
func (t *tail) after(seq uint64) []pannier.Event {
	first := t.first()
	if first == 0 || seq < first {
		return t.events
	}
	return t.events[min(seq-first+1, uint64(len(t.events))):]
}
