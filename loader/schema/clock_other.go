//go:build !linux

package schema

import "time"

// threadTime returns the time since the start: other systems have no clock of a thread that Go reads.
func threadTime() time.Duration { return time.Since(begun) }

var begun = time.Now()
