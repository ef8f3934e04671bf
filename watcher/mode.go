package watcher

import "fmt"

// Mode is how directories are watched. The zero value is [Auto].
type Mode string

// The modes.
const (
	// Auto lets the kernel tell of changes, and polls where it does not, or not of all of them.
	Auto Mode = "auto"
	// Inotify never polls. What the kernel does not tell of is found at the next resync.
	Inotify Mode = "inotify"
	// Poll never asks the kernel.
	Poll Mode = "poll"
)

func (m Mode) check() error {
	switch m {
	case "", Auto, Inotify, Poll:
		return nil
	}
	return fmt.Errorf("there is no mode %q", m)
}

// asks reports whether the kernel is asked to tell of changes.
func (m Mode) asks() bool { return m != Poll }

// polls reports whether directories are polled that the kernel does not tell of.
func (m Mode) polls() bool { return m != Inotify }

// The modes of a [pannier.WatchHealth], which are also the values of a label.
const (
	modeInotify  = "inotify"
	modeBoth     = "inotify+poll"
	modePoll     = "poll"
	modeDegraded = "degraded"
)

var modes = []string{modeInotify, modeBoth, modePoll, modeDegraded}
