package journal

import (
	"encoding/json"

	"pannier"
)

// eventOverhead is about what an event takes in memory besides its text, in bytes.
const eventOverhead = 128

// tail holds the newest events in memory, without a gap. There is always room for one.
type tail struct {
	limit  int64 // bytes
	size   int64
	events []pannier.Event
}

func sizeOf(e pannier.Event) int64 {
	data, _ := e.Data.(json.RawMessage)
	return int64(len(data)+len(e.Type)+len(e.WorkspaceID)) + eventOverhead
}

func (t *tail) push(e pannier.Event) {
	t.events = append(t.events, e)
	t.size += sizeOf(e)
	for t.size > t.limit && len(t.events) > 1 {
		t.size -= sizeOf(t.events[0])
		t.events[0] = pannier.Event{} // the array lives on for a while; its data need not
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

// after returns the events above seq. They are valid until the next push.
func (t *tail) after(seq uint64) []pannier.Event {
	first := t.first()
	if first == 0 || seq < first {
		return t.events
	}
	return t.events[min(seq-first+1, uint64(len(t.events))):]
}

// get returns the event with the number seq.
func (t *tail) get(seq uint64) (pannier.Event, bool) {
	first := t.first()
	if first == 0 || seq < first || seq-first >= uint64(len(t.events)) {
		return pannier.Event{}, false
	}
	return t.events[seq-first], true
}
