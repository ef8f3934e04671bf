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

// lines returns the present lines, newest first and without line feeds. It may be ranged over during appends, and the
// lines may be kept. A line that is too long is nil.
func (l *Log) lines() iter.Seq2[[]byte, error] {
	if kept := l.kept.Load(); kept != nil {
		return seqlog.Newest(l.o.Dir, *kept, maxLine)
	}
	return l.memory.lines()
}

// Newest returns up to limit entries, newest first: those before a number, or all if it is 0; those about a skill, or
// all if slug is empty. Invalid lines are skipped; [Verify] reports them.
func (l *Log) Newest(slug string, before uint64, limit int) (entries []pannier.AuditEntry, err error) {
	if limit <= 0 {
		return nil, nil
	}
	if failed := l.failed.Load(); failed != nil && l.next.Load() == 0 {
		return nil, *failed
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

// Last returns the number of the newest entry, 0 if there is none, and false if the log cannot be opened. It does not
// wait for an append in progress.
func (l *Log) Last() (seq uint64, known bool) {
	next := l.next.Load()
	return max(next, 1) - 1, next > 0
}

// Read returns the newest entries of a directory as [Log.Newest] does, and changes nothing. A missing directory is an
// empty log.
func Read(dir, slug string, limit int) ([]pannier.AuditEntry, error) {
	segments, _, err := scan(dir)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	l := &Log{o: Options{Dir: dir}}
	l.kept.Store(&segments)
	return l.Newest(slug, 0, limit)
}

// Each calls each with every entry of a directory, oldest first, and returns the report of [Verify]. It calls nothing
// if the chain is broken. A missing directory has no entries. The log must not be written meanwhile.
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
