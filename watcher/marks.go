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
	// first is when the first mark was made, told when the first change was noticed, and last when the latest was. What is only
	// looked at once more tells of no change: told is zero where there is nothing else, and last is then the latest of that.
	first, told, last time.Time
}

func (m *marks) empty() bool { return m.first.IsZero() }

// dirty marks one directory in which a change was noticed.
func (m *marks) dirty(dir string, at time.Time) {
	m.tell(at)
	m.check(dir, at)
}

// check marks one directory that is to be looked at although nothing was noticed in it, for something may have been missed.
func (m *marks) check(dir string, at time.Time) {
	m.note(pannier.TriggerEvent, at)
	m.mark(dir)
}

// tell notes when a change was noticed.
func (m *marks) tell(at time.Time) {
	if !m.noticed() {
		m.told, m.last = at, at
	}
	if at.Before(m.told) {
		m.told = at
	}
	if at.After(m.last) {
		m.last = at
	}
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

// all marks everything. A resync, a start or a caller who asks tells of no change.
func (m *marks) all(trigger pannier.Trigger, at time.Time) {
	switch trigger {
	case pannier.TriggerEvent, pannier.TriggerError, pannier.TriggerOverflow:
		m.tell(at)
	}
	m.note(trigger, at)
	m.fill()
}

func (m *marks) fill() { m.full, m.dirs, m.known = true, nil, nil }

func (m *marks) note(trigger pannier.Trigger, at time.Time) {
	if m.first.IsZero() || at.Before(m.first) {
		m.first = at
	}
	if !m.noticed() && at.After(m.last) {
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
	if other.noticed() {
		m.tell(other.told)
		m.tell(other.last)
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

// noticed reports whether there is a change among the marks. What comes after a batch without one is as isolated as before.
func (m *marks) noticed() bool { return !m.told.IsZero() }
