package watcher

import (
	"slices"
	"time"

	"pannier"
)

// maxDirty bounds the directories of a batch, and the units that wait. Past it a comparison of everything costs less than a
// long list of hints.
const maxDirty = 4096

// gravity orders the triggers; of several reasons for a batch the last in this order is reported. A resync comes first, since
// what is found when it falls together with a change was not found by it alone.
var gravity = []pannier.Trigger{
	pannier.TriggerResync, pannier.TriggerGrace, pannier.TriggerEvent, pannier.TriggerStart,
	pannier.TriggerManual, pannier.TriggerError, pannier.TriggerOverflow,
}

// marks are what was noticed and is not handed over yet. The zero value holds nothing.
type marks struct {
	full       bool
	dirs       []string // only ever appended to, because batches share it
	ownChanges []string // those of dirs that pannier itself has changed
	known      map[string]struct{}
	trigger    pannier.Trigger
	first      time.Time // when the first mark was made
}

func (m *marks) empty() bool { return m.first.IsZero() }

// recordReason records the reason for a scan, and when it arose.
func (m *marks) recordReason(trigger pannier.Trigger, at time.Time) {
	if m.first.IsZero() || at.Before(m.first) {
		m.first = at
	}
	if slices.Index(gravity, trigger) > slices.Index(gravity, m.trigger) {
		m.trigger = trigger
	}
}

// mark adds directories. Past the bound they become a scan of everything.
func (m *marks) mark(dirs ...string) {
	for _, dir := range dirs {
		if _, ok := m.known[dir]; ok || m.full {
			continue
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
}

func (m *marks) fill() { m.full, m.dirs, m.known = true, nil, nil }

// markOwn adds directories that pannier itself has changed. Past the bound they are scanned like any others.
func (m *marks) markOwn(dirs ...string) {
	for _, dir := range dirs {
		if len(m.ownChanges) < maxDirty && !slices.Contains(m.ownChanges, dir) {
			m.ownChanges = append(m.ownChanges, dir)
		}
	}
}

// merge adds the marks of other, which keeps them.
func (m *marks) merge(other *marks) {
	if other.empty() {
		return
	}
	m.recordReason(other.trigger, other.first)
	if other.full {
		m.fill()
	}
	m.mark(other.dirs...)
	m.markOwn(other.ownChanges...)
}

func put(set *map[string]struct{}, path string) {
	if *set == nil {
		*set = make(map[string]struct{})
	}
	(*set)[path] = struct{}{}
}
