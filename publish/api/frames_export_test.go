package api

import "pannier"

// Frames are the events as the stream tells them.
type Frames = frames

// Of returns an event as the stream tells it.
func (f *frames) Of(e pannier.Event) ([]byte, error) { return f.of(e) }

// Kept returns how many events are kept, and their bytes.
func (f *frames) Kept() (events, bytes int) { return len(f.newest), f.bytes }
