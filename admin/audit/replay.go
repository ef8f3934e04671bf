package audit

import (
	"fmt"
	"slices"

	"pannier"
)

// Each calls each with every entry of a directory, oldest first, and returns the report of [Verify]. It calls nothing if the
// chain is broken. A missing directory has no entries. The log must not be written meanwhile.
func Each(dir string, each func(pannier.AuditEntry)) (Report, error) {
	report, err := Verify(dir, nil)
	if err != nil {
		return report, err
	}
	if err := (&chain{each: each}).follow(dir); err != nil {
		return report, fmt.Errorf("read audit log: %w", err)
	}
	return report, nil
}

// After returns the wanted entries after a number, oldest first. Invalid lines are skipped.
func (l *Log) After(seq uint64, wanted func(pannier.AuditEntry) bool) ([]pannier.AuditEntry, error) {
	var entries []pannier.AuditEntry
	for line, err := range l.lines() {
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		e, err := decode(line)
		if err != nil {
			continue
		}
		if e.Seq <= seq {
			break
		}
		if wanted(e) {
			entries = append(entries, e)
		}
	}
	slices.Reverse(entries)
	return entries, nil
}

// Last returns the number of the newest entry, 0 if there is none. It does not wait for an append in progress.
func (l *Log) Last() uint64 {
	return l.next.Load() - 1
}
