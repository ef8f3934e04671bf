package audit

import (
	"fmt"
	"slices"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// Each calls each with every entry that a directory keeps, oldest first, and returns what [Verify] says of it. It calls
// nothing where the chain does not hold. A directory that is missing has no entries. Nothing may write to the log meanwhile.
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
			return nil // the end; Verify has read it all
		}
		e, err := decode(line)
		if err != nil {
			return err
		}
		yield(e)
	}
}

// After returns the entries after a number that are wanted, oldest first. Lines that are no entries are left out.
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

// Last returns the number of the newest entry, 0 where there is none.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1
}
