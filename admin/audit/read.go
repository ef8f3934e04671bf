package audit

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"pannier"
	"pannier/internal/seqlog"
)

// lines returns the present lines, newest first and without line feeds. It may be ranged over during appends, and the lines may
// be kept. A line that is too long is nil.
func (l *Log) lines() iter.Seq2[[]byte, error] {
	if l.disk == nil {
		return l.memory.lines()
	}
	return seqlog.Newest(l.o.Dir, *l.kept.Load(), maxLine)
}

// Newest returns up to limit entries, newest first; only those about a skill if slug is not empty. Invalid lines are
// skipped; [Verify] reports them.
func (l *Log) Newest(slug string, limit int) ([]pannier.AuditEntry, error) {
	return l.Before(slug, 0, limit)
}

// Before is [Log.Newest] for the entries before a number; 0 is all.
func (l *Log) Before(slug string, before uint64, limit int) (entries []pannier.AuditEntry, err error) {
	if limit <= 0 {
		return nil, nil
	}
	about := []byte(`"slug":"` + slug + `"`) // JSON escapes nothing in a slug
	for line, err := range l.lines() {
		switch {
		case err != nil:
			return nil, fmt.Errorf("read audit log: %w", err)
		case slug != "" && !bytes.Contains(line, about): // before the slow decoding
			continue
		case before > 0 && !startsBefore(line, before): // so does this
			continue
		}
		if e, err := decode(line); err == nil && (slug == "" || e.Slug == slug) {
			entries = append(entries, e)
		}
		if len(entries) >= limit {
			break
		}
	}
	return entries, nil
}

// startsBefore reports whether a line has a smaller number, which it begins with. A line that does not is decoded.
func startsBefore(line []byte, seq uint64) bool {
	digits, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return true
	}
	end := bytes.IndexByte(digits, ',')
	number, err := strconv.ParseUint(string(digits[:max(end, 0)]), 10, 64)
	return err != nil || number < seq
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
func (l *Log) Last() uint64 { return l.next.Load() - 1 }

// Read returns the newest entries of a directory as [Log.Newest] does, and changes nothing. A missing directory is an empty
// log.
func Read(dir, slug string, limit int) ([]pannier.AuditEntry, error) {
	segments, _, err := scan(dir)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	l := &Log{o: Options{Dir: dir}, disk: seqlog.New(seqlog.Options{Dir: dir}, segments, false)}
	l.publish()
	return l.Newest(slug, limit)
}

// Each calls each with every entry of a directory, oldest first, and returns the report of [Verify]. It calls nothing if the
// chain is broken. A missing directory has no entries. The log must not be written meanwhile.
func Each(dir string, each func(pannier.AuditEntry)) (Report, error) {
	report, err := Verify(dir, nil)
	if err != nil {
		return report, err
	}
	if err := (&chain{each: each}).follow(context.Background(), dir); err != nil {
		return report, fmt.Errorf("read audit log: %w", err)
	}
	return report, nil
}
