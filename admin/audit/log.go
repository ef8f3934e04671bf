package audit

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

const (
	defaultMaxBytes = 8 << 20
	defaultMaxFiles = 8
)

// ErrClosed says that the log has been closed.
var ErrClosed = errors.New("the audit log is closed")

// Options say where a log is and how much it keeps.
type Options struct {
	// Dir is the directory of the files, made with the first entry. Empty means that entries are kept in memory.
	Dir string
	// MaxBytes bounds a file, or without a directory the entries in memory; 0 or less means 8 MiB.
	MaxBytes int64
	// MaxFiles is how many files are kept; 0 or less means 8.
	MaxFiles int
	// Logger is told what Open had to cut off. Nil means none.
	Logger hclog.Logger

	create func(path string) (file, error) // for tests; nil means createFile
}

// Log is an audit log. It is for any number of callers.
type Log struct {
	mu       sync.Mutex
	medium   medium
	next     uint64         // the number of the next entry
	previous pannier.Digest // of the newest line
	closed   bool
}

// medium keeps lines, for one caller at a time.
type medium interface {
	// write keeps a line, which has its line feed, whole or not at all. It does not keep the slice.
	write(seq uint64, line []byte) error
	// newest returns what is kept at this moment, newest first and without line feeds. The sequence may be ranged over
	// while lines are written, and what it yields may be kept. What is too long for a line is nil.
	newest() iter.Seq2[[]byte, error]
	close() error
}

// Open opens the log of a directory, or begins one. It fails where the directory or a file is there and can not be read,
// since numbers could then be given away twice. That nothing can be written there is told by Append.
func Open(o Options) (*Log, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = defaultMaxFiles
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.create == nil {
		o.create = createFile
	}
	if o.Dir == "" {
		return &Log{medium: &memory{limit: o.MaxBytes}, next: 1}, nil
	}
	d := &disk{dir: o.Dir, maxBytes: o.MaxBytes, maxFiles: o.MaxFiles, create: o.create, log: o.Logger.Named("audit")}
	l := &Log{medium: d}
	var err error
	if l.next, l.previous, err = d.load(); err != nil {
		return nil, fmt.Errorf("open audit log in %s: %w", o.Dir, err)
	}
	return l, nil
}

// Append gives an entry its Seq, Time and Previous, over what is there, keeps it, and returns it as it will be read: its
// detail is a [json.RawMessage]. The entry has reached the disk when Append returns. All errors are
// [pannier.ErrNotAudited], and leave the log as it was; the next call tries again.
func (l *Log) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	var err error
	if e.Detail, err = rawDetail(e.Detail); err == nil { // foreign code, so without the lock
		e, err = l.append(e)
	}
	if err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	return e, nil
}

func (l *Log) append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return e, ErrClosed
	}
	e.Seq, e.Time, e.Previous = l.next, time.Now().UTC().Round(0), l.previous
	line, err := encode(e)
	if err != nil {
		return e, err
	}
	if err := l.medium.write(e.Seq, line); err != nil {
		return e, fmt.Errorf("write entry %d: %w", e.Seq, err)
	}
	l.next++
	l.previous = digestOf(line)
	return e, nil
}

// Newest returns the newest entries, newest first, as many as limit at most. Where slug is not empty, only those about
// that skill are counted. Lines that are no entries are left out; [Verify] tells of them.
func (l *Log) Newest(slug string, limit int) ([]pannier.AuditEntry, error) {
	if limit <= 0 {
		return nil, nil
	}
	l.mu.Lock()
	lines := l.medium.newest()
	l.mu.Unlock()
	var entries []pannier.AuditEntry
	for line, err := range lines {
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		e, ok := about(slug, line)
		if !ok {
			continue
		}
		if entries = append(entries, e); len(entries) == limit {
			break
		}
	}
	return entries, nil
}

// Close closes the log. Later calls of Append fail with [ErrClosed]; closing again does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if err := l.medium.close(); err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
}
