package audit

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strconv"
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

// ErrClosed says that the log is closed.
var ErrClosed = errors.New("the audit log is closed")

// Options configure a [Log].
type Options struct {
	// Dir is the directory of the files, created with the first entry. Empty keeps entries in memory.
	Dir string
	// MaxBytes bounds a file, or the entries in memory; 0 or less means 8 MiB.
	MaxBytes int64
	// MaxFiles bounds the number of files; 0 or less means 8.
	MaxFiles int
	// Logger logs repairs; nil discards.
	Logger hclog.Logger

	create func(path string) (file, error) // for tests; nil means createFile
}

// Log is an audit log. It is safe for concurrent use. Readers never wait for a writer.
type Log struct {
	// disk stores the lines, or memory if it is nil.
	disk   *disk
	memory memory
	log    hclog.Logger
	// broken is what did not match the head when the log was opened, until it is acknowledged; empty or nil is nothing.
	broken atomic.Pointer[string]

	mu         sync.Mutex     // held over disk I/O, by writers alone
	next       atomic.Uint64  // the number of the next entry; written under mu
	previous   pannier.Digest // of the newest line
	unrecorded string         // a break that no entry records yet
	closed     bool
}

// Open opens or creates the log of a directory. It fails if the directory or a file is unreadable, because numbers could be
// used twice. Write errors are returned by Append.
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
		l := &Log{memory: memory{limit: o.MaxBytes}}
		l.next.Store(1)
		return l, nil
	}
	d := &disk{dir: o.Dir, maxBytes: o.MaxBytes, maxFiles: o.MaxFiles, create: o.create, log: o.Logger.Named("audit")}
	l := &Log{disk: d, log: d.log}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open audit log in %s: %w", o.Dir, err)
	}
	return l, nil
}

// load reads the disk and compares the log with its head. A log without a head is from an older version, or its head was
// lost; its next entry creates one.
func (l *Log) load() error {
	d := l.disk
	h, err := readHead(d.dir + headSuffix)
	damaged := errors.Is(err, errHead)
	if err != nil && !damaged {
		return err
	}
	next, previous, err := d.load()
	if err != nil {
		return err
	}
	l.previous = previous
	switch {
	case damaged:
		l.setBroken(errHead.Error())
	case h == nil && next > 1:
		l.log.Warn("the audit log has no head, so removed newest entries cannot be detected", "entry", next-1)
	case h != nil:
		difference, err := d.differenceFrom(h, next)
		if err != nil {
			return err
		}
		next = max(next, h.Seq+1) // numbers are unique
		if difference != "" {
			l.setBroken(difference)
		} else if h.Broken != "" {
			l.broken.Store(&h.Broken)
		}
	}
	l.next.Store(next)
	return nil
}

func (l *Log) setBroken(reason string) {
	l.unrecorded = reason
	l.broken.Store(&reason)
	l.log.Error("the audit log was changed from outside", "reason", reason)
}

// Broken returns what did not match the head when the log was opened, by this or an earlier process, and was not
// acknowledged; empty if everything matched.
func (l *Log) Broken() string {
	if broken := l.broken.Load(); broken != nil {
		return *broken
	}
	return ""
}

// Acknowledge clears [Log.Broken] from the next entry on. The entry that records the break stays.
func (l *Log) Acknowledge() { l.broken.Store(nil) }

// Append sets Seq, Time and Previous of an entry, writes it and then the head to disk, and returns it as it will be read:
// its detail is a [json.RawMessage]. All errors are [pannier.ErrNotAudited] and leave the log unchanged.
func (l *Log) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	var err error
	if e.Detail, err = rawDetail(e.Detail); err == nil { // calls methods of other packages, so without the lock
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
	if l.disk != nil {
		if reason := l.disk.damage(); reason != "" && l.unrecorded == "" {
			l.setBroken(reason)
		}
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
	e.Seq, e.Time, e.Previous = l.next.Load(), time.Now().UTC().Round(0), l.previous
	line, err := encode(e)
	if err != nil {
		return e, err
	}
	newest := Point{e.Seq, pannier.DigestOf(line[:len(line)-1])}
	if l.disk == nil {
		l.memory.add(line)
	} else if err := l.disk.write(e.Seq, line); err != nil {
		return e, fmt.Errorf("write entry %d: %w", e.Seq, err)
	} else if err := l.disk.confirm(newest, int64(len(line)), l.Broken()); err != nil {
		return e, fmt.Errorf("write the head after entry %d: %w", e.Seq, err)
	}
	l.next.Store(newest.Seq + 1)
	l.previous = newest.Digest
	return e, nil
}

// lines returns the present lines, newest first and without line feeds. It may be ranged over during appends, and the lines may
// be kept. A line that is too long is nil.
func (l *Log) lines() iter.Seq2[[]byte, error] {
	if l.disk == nil {
		return l.memory.lines()
	}
	return l.disk.lines()
}

// Newest returns up to limit entries, newest first; only those about a skill if slug is not empty. Invalid lines are
// skipped; [Verify] reports them.
func (l *Log) Newest(slug string, limit int) (entries []pannier.AuditEntry, err error) {
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

// Close closes the log. Later calls of Append fail with [ErrClosed]. It is idempotent.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.disk == nil || l.disk.active == nil {
		return nil
	}
	if err := l.disk.active.Close(); err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
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
