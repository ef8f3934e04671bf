package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
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
	// CheckPlace fails where an entry would be lost with this process. It is optional.
	CheckPlace func() error

	create func(path string, existing int) (seqlog.File, error) // for tests
}

// Log is an audit log. One that cannot be opened or written refuses entries, and the next one tries again. It is safe
// for concurrent use. Readers never wait for a writer.
type Log struct {
	o      Options
	memory memory
	// kept is what readers see: the segments up to the newest line that has a head. The list is never changed. It is nil
	// before the log is open, and without a directory.
	kept atomic.Pointer[[]seqlog.Segment]
	// broken is what did not match the head when the log was opened, until it is acknowledged; empty or nil is nothing.
	broken atomic.Pointer[string]
	// failed is the error of the last attempt to open or to append; nil after a success.
	failed atomic.Pointer[error]
	// next is the number of the next entry, written under mu; 0 before the log is open.
	next      atomic.Uint64
	verifying chan struct{} // a semaphore

	mu         sync.Mutex     // held over disk I/O, by writers alone
	disk       *seqlog.Log    // nil without a directory
	previous   pannier.Digest // of the newest line
	unrecorded string         // a break that no entry records yet
	closed     bool
}

// Open opens or creates the log of a directory. It fails if the directory or a file is unreadable, because numbers
// could be used twice. The log is returned then too, and the next entry tries again. Write errors are returned by
// Append.
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
	if o.CheckPlace == nil {
		o.CheckPlace = func() error { return nil }
	}
	o.Logger = o.Logger.Named("audit")
	l := &Log{o: o, memory: memory{limit: o.MaxBytes}, verifying: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l, l.record(l.openLocked())
}

// openLocked opens the log, unless it is open.
func (l *Log) openLocked() error {
	switch {
	case l.next.Load() > 0:
	case l.o.Dir == "":
		l.next.Store(1)
	default:
		if err := l.load(); err != nil {
			return fmt.Errorf("open audit log in %s: %w", l.o.Dir, err)
		}
	}
	return nil
}

// record keeps the result of an attempt for health.
func (l *Log) record(err error) error {
	if err == nil {
		l.failed.Store(nil)
	} else {
		l.failed.Store(&err)
	}
	return err
}

// load reads the disk, removes a torn line, and compares the log with its head. A log without a head is from an older
// version, or its head was lost; its next entry creates one.
func (l *Log) load() error {
	h, err := readHead(l.o.Dir + headSuffix)
	damaged := errors.Is(err, errHead)
	if err != nil && !damaged {
		return err
	}
	segments, torn, err := scan(l.o.Dir)
	if err != nil {
		return err
	}
	next := uint64(1)
	if len(segments) > 0 {
		if next, l.previous, err = tip(l.o.Dir, segments); err != nil {
			return err
		}
		segments[len(segments)-1].Last = next - 1
	}
	// A file with the name of a new one may be evidence.
	files := seqlog.Options{Dir: l.o.Dir, SegmentBytes: l.o.MaxBytes, Sync: true, Existing: os.O_EXCL, Create: l.o.create}
	l.disk = seqlog.New(files, segments, torn > 0)
	if torn > 0 {
		path := l.disk.Path(segments[len(segments)-1].Name)
		l.o.Logger.Warn("the last line of the audit log is torn by a crash; removing it", "file", path, "bytes", torn)
		if err := l.disk.Repair(); err != nil {
			l.o.Logger.Warn("repairing the audit log failed; the next entry retries", "file", path, "error", err)
		}
	}
	switch {
	case damaged:
		l.setBroken(errHead.Error())
	case h == nil && next > 1:
		l.o.Logger.Warn("the audit log has no head, so removed newest entries cannot be detected", "entry", next-1)
	case h != nil:
		difference, err := h.differenceFrom(l.o.Dir, segments, next)
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
	l.publish()
	l.next.Store(next)
	return nil
}

// scan returns the segments of a directory, up to the last complete line, and the number of bytes after it. Last of the
// newest segment is not known yet. A missing directory has none.
func scan(dir string) (segments []seqlog.Segment, torn int64, err error) {
	names, err := seqlog.Segments(dir, maxName)
	if err != nil || len(names) == 0 {
		return nil, 0, err
	}
	for i, name := range names {
		s := seqlog.Segment{Name: name, First: name, End: math.MaxInt64} // all of it
		if i == len(names)-1 {
			var size int64
			if s.End, size, err = seqlog.WholeEnd(seqlog.SegmentPath(dir, name), maxLine); err != nil {
				return nil, 0, err
			}
			torn = size - s.End
		} else {
			s.Last = names[i+1] - 1
		}
		segments = append(segments, s)
	}
	return segments, torn, nil
}

// tip returns the number of the next entry and the digest of the newest line. Invalid lines are counted: they were
// entries before they were changed. So are lines with a number that is too large for the file.
func tip(dir string, segments []seqlog.Segment) (next uint64, previous pannier.Digest, err error) {
	passed, newest := uint64(0), segments[len(segments)-1]
	for line, err := range seqlog.Newest(dir, segments, maxLine) {
		if err != nil {
			return 0, pannier.Digest{}, err
		}
		if passed++; passed == 1 {
			previous = pannier.DigestOf(line)
		}
		if e, err := decode(line); err == nil && e.Seq <= newest.Name+uint64(newest.End) {
			return max(newest.Name, e.Seq+passed), previous, nil
		}
	}
	return newest.Name + passed, previous, nil
}

// publish shows the present segments to readers.
func (l *Log) publish() {
	kept := slices.Clone(l.disk.Segments())
	l.kept.Store(&kept)
}

func (l *Log) setBroken(reason string) {
	l.unrecorded = reason
	l.broken.Store(&reason)
	l.o.Logger.Error("the audit log was changed from outside", "reason", reason)
}

// Append sets Seq, Time and Previous of an entry, writes it and then the head to disk, and returns it as it will be
// read: its detail is a [json.RawMessage]. All errors are [pannier.ErrNotAudited] and leave the log unchanged.
func (l *Log) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	err := l.o.CheckPlace()
	if err == nil {
		e, err = l.append(e)
		_ = l.record(err)
	}
	if err != nil {
		return pannier.AuditEntry{}, fmt.Errorf("%w: %w", pannier.ErrNotAudited, err)
	}
	return e, nil
}

func (l *Log) append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	detail, err := json.Marshal(e.Detail) // calls methods of other packages, so without the lock
	if err != nil {
		return e, fmt.Errorf("encode detail: %w", err)
	}
	if e.Detail = nil; string(detail) != "null" {
		e.Detail = json.RawMessage(detail)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return e, ErrClosed
	}
	if err := l.openLocked(); err != nil {
		return e, err
	}
	if reason := l.damage(); reason != "" && l.unrecorded == "" {
		l.setBroken(reason)
	}
	if l.unrecorded != "" {
		actor := pannier.Actor{Kind: pannier.ActorSidecar}
		record := pannier.AuditEntry{Phase: pannier.AuditOutcome, Action: pannier.ActionAuditBroken, Actor: actor, Error: l.unrecorded}
		if _, err := l.appendLocked(record); err != nil {
			return e, err
		}
		l.unrecorded = ""
	}
	return l.appendLocked(e)
}

// damage returns what another process did to the files since the last line, empty if nothing. It finds removed files,
// and bytes that were appended or cut off. The chain shows changed lines. A file that was changed or replaced is left
// as it is, and the next line begins a new one.
func (l *Log) damage() (reason string) {
	if l.disk == nil || l.disk.Repair() != nil {
		return "" // the append fails for the same reason
	}
	open, newest := l.disk.Stat(), len(l.disk.Segments())-1
	for i, s := range slices.Clone(l.disk.Segments()) {
		info, err := os.Lstat(l.disk.Path(s.Name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			reason = cmp.Or(reason, fmt.Sprintf("the file of entry %d was removed while the log was open", s.Name))
			l.disk.Forget(s.Name)
		case err != nil || i != newest || open == nil:
		case info.Size() != s.End:
			reason = cmp.Or(reason, fmt.Sprintf("the file of entry %d was cut or written to while the log was open", s.Name))
			l.disk.Seal()
		case !os.SameFile(open, info):
			l.disk.Seal()
		}
	}
	return reason
}

func (l *Log) appendLocked(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	e.Seq, e.Time, e.Previous = l.next.Load(), time.Now().UTC().Round(0), l.previous
	line, err := json.Marshal(e)
	if err != nil {
		return e, fmt.Errorf("encode entry: %w", err)
	}
	if line = append(line, '\n'); len(line) > maxLine {
		return e, fmt.Errorf("the entry is too large: %d bytes, at most %d are allowed", len(line)-1, maxLine-1)
	}
	newest := Point{e.Seq, pannier.DigestOf(line[:len(line)-1])}
	if l.disk == nil {
		l.memory.add(line)
	} else if err := l.disk.Append(e.Seq, e.Seq, line); err != nil {
		return e, fmt.Errorf("write entry %d: %w", e.Seq, err)
	} else if err := l.confirm(newest, len(line)); err != nil {
		return e, fmt.Errorf("write the head after entry %d: %w", e.Seq, err)
	}
	l.next.Store(newest.Seq + 1)
	l.previous = newest.Digest
	return e, nil
}

// confirm stores the newest line, of length bytes, as the head, and shows it to readers. It writes the head before it
// removes the oldest files: after a crash in between, removed files would look like damage. If it fails, the line is
// reverted, because the old head is in place.
func (l *Log) confirm(newest Point, length int) error {
	segments := l.disk.Segments()
	surplus := max(0, len(segments)-l.o.MaxFiles)
	if err := writeHead(l.o.Dir+headSuffix, head{First: segments[surplus].Name, Point: newest, Broken: l.Broken()}); err != nil {
		return errors.Join(err, l.disk.Undo(length))
	}
	if surplus > 0 && fsx.SyncDir(filepath.Dir(l.o.Dir)) == nil { // the head must survive a power cut first
		if err := l.disk.Drop(surplus); err != nil {
			l.o.Logger.Warn("removing old files of the audit log failed; the next start retries", "error", err)
		}
	}
	l.publish()
	return nil
}

// Close closes the log. Later calls of Append fail with [ErrClosed]. It is idempotent.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.disk == nil {
		return nil
	}
	if err := l.disk.Close(); err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
}
