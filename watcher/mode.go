package watcher

// Mode is how directories are watched. The zero value is [Auto].
type Mode string

// The modes.
const (
	// Auto uses events of the kernel, and polls where it reports no changes, or not all of them.
	Auto Mode = "auto"
	// Inotify never polls. What the kernel does not report is found at the next resync.
	Inotify Mode = "inotify"
	// Poll never asks the kernel.
	Poll Mode = "poll"
)

// asks reports whether the kernel is asked for events.
func (m Mode) asks() bool { return m != Poll }

// polls reports whether directories are polled whose changes the kernel does not report.
func (m Mode) polls() bool { return m != Inotify }

// The modes of a [pannier.WatchHealth], which are also the values of a label.
const (
	modeInotify  = "inotify"
	modeBoth     = "inotify+poll"
	modePoll     = "poll"
	modeDegraded = "degraded"
)

var modes = []string{modeInotify, modeBoth, modePoll, modeDegraded}
