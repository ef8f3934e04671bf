package config

import (
	"io/fs"
	"time"

	"pannier/internal/fsx"
)

// readState is the state of a file when it was read. The zero value is of no file.
type readState struct {
	stamp fsx.Stamp
	at    time.Time
}

// readStateOf returns the state of a file whose stat was taken at that time, before it is read.
func readStateOf(info fs.FileInfo, at time.Time) readState { return readState{fsx.StampOf(info), at} }

// holds reports whether a file certainly did not change since it was in this state; now is what a later stat shows.
func (s readState) holds(now readState) bool {
	return s.stamp == now.stamp && !s.stamp.WithinRacyWindow(s.at) && now.at.Sub(s.at) < fsx.ContentInterval
}
