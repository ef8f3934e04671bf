package schema

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the thread.
func threadTime() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) != nil {
		return time.Since(begun)
	}
	return time.Duration(now.Nano())
}

var begun = time.Now()
