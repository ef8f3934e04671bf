package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"pannier"
)

// frames caches the newest events as they are sent, so that each is encoded once and lies in memory once, however
// many callers follow. The zero value keeps nothing yet.
type frames struct {
	mu     sync.Mutex
	newest []frame // bounded by maxFrames and maxFrameBytes
	bytes  int

	// catalog is the event with the whole catalog of a snapshot, for clients whose events are no longer stored.
	catalog frame
	version uint64 // of the snapshot
}

// frame is one event as it is sent. Its text is shared, and must not be changed.
type frame struct {
	seq  uint64
	text []byte
}

// The bounds of the cache. Events that have left it are encoded again for each client.
const (
	maxFrames     = 64
	maxFrameBytes = 1 << 20
)

// of returns an event of the journal as it is sent. The callers of one that is kept wait for the first, who encodes it;
// one from before what is kept is not, or else a caller that comes back after long would push out what all others want.
func (f *frames) of(e pannier.Event) ([]byte, error) {
	f.mu.Lock()
	if len(f.newest) > 0 && e.Seq < f.newest[0].seq {
		f.mu.Unlock()
		return encodeEvent(e)
	}
	defer f.mu.Unlock()
	for i := len(f.newest) - 1; i >= 0; i-- {
		if f.newest[i].seq == e.Seq {
			return f.newest[i].text, nil
		}
	}
	text, err := encodeEvent(e)
	if err != nil {
		return nil, err
	}
	made := frame{e.Seq, text} // what was asked for first makes room
	f.newest, f.bytes = append(f.newest, made), f.bytes+len(made.text)
	for len(f.newest) > 1 && (len(f.newest) > maxFrames || f.bytes > maxFrameBytes) {
		f.bytes -= len(f.newest[0].text)
		f.newest = slices.Delete(f.newest, 0, 1)
	}
	return text, nil
}

// whole returns the event with the whole catalog of a snapshot, as of an event.
func (f *frames) whole(s *pannier.Snapshot, last uint64, make func() pannier.Event) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version == s.Version && f.catalog.seq == last && f.catalog.text != nil {
		return f.catalog.text, nil
	}
	text, err := encodeEvent(make())
	if err != nil {
		return nil, err
	}
	f.version, f.catalog = s.Version, frame{last, text}
	return text, nil
}

// encodeEvent returns an event as it is sent (HTML Living Standard, Server-sent events).
func encodeEvent(e pannier.Event) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %d: %w", e.Seq, err)
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, text), nil
}
