package fingerprint

import "time"

// At returns options with another clock.
func (o Options) At(now time.Time) Options {
	o.now = func() time.Time { return now }
	return o
}

// WhenOpened returns options that tell of each file that is open, before it is read.
func (o Options) WhenOpened(tell func(path string)) Options {
	o.opened = tell
	return o
}
