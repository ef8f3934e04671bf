package audit

import (
	"fmt"
	"slices"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// Each calls each with every entry of a directory, oldest first, and returns the report of [Verify]. It calls nothing if the
// chain is broken. A missing directory has no entries. The log must not be written meanwhile.
func Each(dir string, each func(pannier.AuditEntry)) (Report, error) {
	report, err := Verify(dir, nil)
	if err != nil {
		return report, err
	}
	names, err := seqlog.Segments(dir, maxName)
	if err != nil {
		return report, fmt.Errorf("read audit log: %w", err)
	}
	for _, name := range names {
		if err := eachEntry(seqlog.SegmentPath(dir, name), each); err != nil {
			return report, fmt.Errorf("read audit log: %w", err)
		}
	}
	return report, nil
}

// eachEntry yields the entries of a file up to its last line feed.
func eachEntry(path string, yield func(pannier.AuditEntry)) error {
	f, info, err := fsx.OpenRegular(path, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for l := seqlog.NewLines(f, 0, info.Size(), maxLine); ; {
		line, err := l.Next()
		if err != nil {
			return nil // the end: Verify has read all lines
		}
		e, err := decode(line)
		if err != nil {
			return err
		}
		yield(e)
	}
}

// After returns the wanted entries after a number, oldest first. Invalid lines are skipped.
func (l *Log) After(seq uint64, wanted func(pannier.AuditEntry) bool) ([]pannier.AuditEntry, error) {
	var entries []pannier.AuditEntry
	for line, err := range l.medium.newest() {
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
