package audit

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
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

// Log is an audit log. It is for any number of callers. Readers never wait for a writer.
type Log struct {
	medium medium
	log    hclog.Logger
	// broken is what did not match the head when the log was opened, until it is acknowledged; empty and nil mean nothing.
	broken atomic.Pointer[string]

	mu         sync.Mutex     // held over disk I/O, by writers alone
	next       uint64         // the number of the next entry
	previous   pannier.Digest // of the newest line
	unrecorded string         // the break that no entry records yet
	closed     bool
}

// medium keeps lines. Its methods are for one caller at a time, but newest, which is for any number at any time.
type medium interface {
	// write keeps a line, which has its line feed, whole or not at all. It does not keep the slice.
	write(seq uint64, line []byte) error
	// damage returns what was done to the files since the line before, by another process; empty where nothing was.
	damage() string
	// confirm keeps the newest line, of that many bytes, as the head of the log, shows it to readers, and gives up what is
	// older than the log is to keep. Where it fails, the line is gone again.
	confirm(newest Point, length int64, broken string) error
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
	l := &Log{medium: d, log: d.log}
	if err := l.load(d); err != nil {
		return nil, fmt.Errorf("open audit log in %s: %w", o.Dir, err)
	}
	return l, nil
}

// load takes in what is on disk, and compares the log with its head. A log without a head is one of an older version, or
// its head was lost; it begins to have one with its next entry.
func (l *Log) load(d *disk) error {
	h, err := readHead(d.dir + headSuffix)
	damaged := errors.Is(err, errHead)
	if err != nil && !damaged {
		return err
	}
	if l.next, l.previous, err = d.load(); err != nil {
		return err
	}
	switch {
	case damaged:
		l.setBroken(errHead.Error())
	case h == nil && l.next > 1:
		l.log.Warn("the audit log has no head, so nothing shows whether its newest entries were removed", "entry", l.next-1)
	case h != nil:
		difference, err := d.differenceFrom(h, l.next)
		if err != nil {
			return err
		}
		l.next = max(l.next, h.Seq+1) // a number is never given twice
		if difference != "" {
			l.setBroken(difference)
		} else if h.Broken != "" {
			l.broken.Store(&h.Broken)
		}
	}
	return nil
}

// setBroken takes in that the log is not what was written.
func (l *Log) setBroken(reason string) {
	l.unrecorded = reason
	l.broken.Store(&reason)
	l.log.Error("the audit log is not what was written", "reason", reason)
}

// Broken returns what did not match the head when the log was opened, also by an earlier process, and has not been
// acknowledged; empty where all matched.
func (l *Log) Broken() string {
	if broken := l.broken.Load(); broken != nil {
		return *broken
	}
	return ""
}

// Acknowledge forgets what [Log.Broken] says, from the next entry on. The entry that records the break stays in the log.
func (l *Log) Acknowledge() { l.broken.Store(nil) }

// Append gives an entry its Seq, Time and Previous, over what is there, keeps it, and returns it as it will be read: its
// detail is a [json.RawMessage]. The entry and then the head have reached the disk when Append returns. All errors are
// [pannier.ErrNotAudited] and leave the log as it was; the next call tries again.
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
	if reason := l.medium.damage(); reason != "" && l.unrecorded == "" {
		l.setBroken(reason)
	}
	if l.unrecorded != "" {
		record := pannier.AuditEntry{Phase: pannier.AuditOutcome, Action: pannier.ActionAuditBroken, Actor: pannier.Actor{Kind: pannier.ActorSidecar}, Error: l.unrecorded}
		if _, err := l.appendLocked(record); err != nil {
			return e, err
		}
		l.unrecorded = ""
	}
	return l.appendLocked(e)
}

func (l *Log) appendLocked(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	e.Seq, e.Time, e.Previous = l.next, time.Now().UTC().Round(0), l.previous
	line, err := encode(e)
	if err != nil {
		return e, err
	}
	if err := l.medium.write(e.Seq, line); err != nil {
		return e, fmt.Errorf("write entry %d: %w", e.Seq, err)
	}
	newest := Point{e.Seq, digestOf(line)}
	if err := l.medium.confirm(newest, int64(len(line)), l.Broken()); err != nil {
		return e, fmt.Errorf("write the head after entry %d: %w", e.Seq, err)
	}
	l.next, l.previous = newest.Seq+1, newest.Digest
	return e, nil
}

// Newest returns the newest entries, newest first, as many as limit at most. Where slug is not empty, only those about
// that skill are counted. Lines that are no entries are left out; [Verify] tells of them.
func (l *Log) Newest(slug string, limit int) ([]pannier.AuditEntry, error) {
	if limit <= 0 {
		return nil, nil
	}
	var entries []pannier.AuditEntry
	for line, err := range l.medium.newest() {
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
