package watcher

import (
	"slices"
	"time"

	"pannier"
)

// maxDirty bounds the directories of a batch. Past it a comparison of everything costs less than a long list of hints.
const maxDirty = 4096

// gravity orders the triggers; of several reasons for a batch the last in this order is told. A resync comes first, since
// what is found when it falls together with a change was not found by it alone.
var gravity = []pannier.Trigger{
	pannier.TriggerResync, pannier.TriggerGrace, pannier.TriggerEvent, pannier.TriggerStart,
	pannier.TriggerManual, pannier.TriggerError, pannier.TriggerOverflow,
}

// marks are what has been noticed and not yet handed over. The zero value holds nothing.
type marks struct {
	full    bool
	urgent  bool     // not to wait for quiet
	dirs    []string // only ever appended to, because batches share it
	sure    []string // those of dirs that pannier itself has changed; too
	known   map[string]struct{}
	trigger pannier.Trigger
	// first and last are when the first and the latest change were noticed.
	first, last time.Time
}

func (m *marks) empty() bool { return m.first.IsZero() }

// dirty marks one directory.
func (m *marks) dirty(dir string, at time.Time) {
	m.note(pannier.TriggerEvent, at)
	m.mark(dir)
}

// mark notes a directory, whatever the reason is.
func (m *marks) mark(dir string) {
	if _, ok := m.known[dir]; ok || m.full {
		return
	}
	if len(m.dirs) == maxDirty {
		m.fill()
		return
	}
	if m.known == nil {
		m.known = make(map[string]struct{})
	}
	m.known[dir] = struct{}{}
	m.dirs = append(m.dirs, dir)
}

// changed marks directories that pannier itself has changed. Past the bound they are looked at as any others.
func (m *marks) changed(dirs []string, at time.Time) {
	m.note(pannier.TriggerManual, at)
	m.urgent = true
	for _, dir := range dirs {
		m.mark(dir)
		m.trust(dir)
	}
}

func (m *marks) trust(dir string) {
	if len(m.sure) < maxDirty && !slices.Contains(m.sure, dir) {
		m.sure = append(m.sure, dir)
	}
}

// all marks everything.
func (m *marks) all(trigger pannier.Trigger, at time.Time) {
	m.note(trigger, at)
	m.fill()
}

func (m *marks) fill() { m.full, m.dirs, m.known = true, nil, nil }

func (m *marks) note(trigger pannier.Trigger, at time.Time) {
	if m.first.IsZero() || at.Before(m.first) {
		m.first = at
	}
	if at.After(m.last) {
		m.last = at
	}
	if slices.Index(gravity, trigger) > slices.Index(gravity, m.trigger) {
		m.trigger = trigger
	}
}

// merge adds the marks of other, which keeps them.
func (m *marks) merge(other marks) {
	if other.empty() {
		return
	}
	m.note(other.trigger, other.first)
	m.note(other.trigger, other.last)
	m.urgent = m.urgent || other.urgent
	if other.full {
		m.fill()
	}
	for _, dir := range other.dirs {
		m.mark(dir)
	}
	for _, dir := range other.sure {
		m.trust(dir)
	}
}

// noticed reports whether somebody told of a change. A resync, a start, the end of a grace or a caller who asks tells of none,
// so what comes after it is as isolated as before.
func (m *marks) noticed() bool {
	switch m.trigger {
	case "", pannier.TriggerResync, pannier.TriggerGrace, pannier.TriggerStart, pannier.TriggerManual:
		return false
	}
	return true
}
