package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// BreakError is a place where the chain of a log is broken.
type BreakError struct {
	// File is a path. Line counts from 1.
	File   string
	Line   int
	Reason string
}

// Error implements error.
func (e *BreakError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Report describes a log with an unbroken chain.
type Report struct {
	// Entries is the number of consecutive entries.
	Entries int
	// Newest is the newest of them; zero if there is none.
	Newest Point
	// Recorded is how many of them record a break.
	Recorded int
	// Headless says that the log has no head, so that removed newest entries cannot be detected.
	Headless bool
}

// ErrNotKept says that an expected entry is older than the oldest one kept.
var ErrNotKept = errors.New("the expected entry is older than the oldest one kept")

// Check verifies a log as [VerifyContext] does, and returns the answer for clients.
func Check(ctx context.Context, dir string, expect *Point) pannier.AuditCheck {
	r, err := VerifyContext(ctx, dir, expect)
	c := pannier.AuditCheck{OK: err == nil, Directory: dir, Entries: r.Entries, Seq: r.Newest.Seq, RecordedBreaks: r.Recorded, Headless: r.Headless}
	if r.Entries > 0 {
		c.Head = r.Newest.Digest.String()
	}
	if broken, ok := errors.AsType[*BreakError](err); ok {
		c.Broken, c.Error = true, broken.Error()
	} else if err != nil {
		c.Error = err.Error()
	}
	return c
}

// verifyTries bounds the attempts if the head is written during the verification.
const verifyTries = 10

// Verify follows the chain of the log of a directory from its oldest entry, and compares its end with the head. If
// expect is not nil, the log must contain that line. It fails with a [*BreakError] at the first mismatch, and with
// [ErrNotKept]. The log may be written meanwhile, so what follows the last line feed is ignored. A missing directory is
// an empty log.
func Verify(dir string, expect *Point) (Report, error) {
	return VerifyContext(context.Background(), dir, expect)
}

// VerifyContext is [Verify] until a context is done.
func VerifyContext(ctx context.Context, dir string, expect *Point) (Report, error) {
	path := dir + headSuffix
	for try := 1; ; try++ {
		// The head comes first: the log may be ahead of it, and it is never ahead of the log.
		h, unreadable := readHead(path)
		if unreadable != nil && !errors.Is(unreadable, errHead) {
			return Report{}, fmt.Errorf("verify audit log: %w", unreadable)
		}
		c := chain{head: h, expect: expect}
		err := c.follow(ctx, dir)
		if err == nil {
			err = c.checkEnd(path, unreadable)
		}
		r := Report{Entries: c.entries, Newest: Point{c.seq, c.digest}, Recorded: c.recorded, Headless: h == nil && c.entries > 0}
		if err == nil {
			return r, nil
		}
		if now, _ := readHead(path); try < verifyTries && now != nil && h != nil && *now != *h {
			continue
		}
		return r, fmt.Errorf("verify audit log: %w", err)
	}
}

// chain is the state of a verification.
type chain struct {
	entries int
	// seq, digest and at are those of the newest verified line.
	seq    uint64
	digest pannier.Digest
	at     BreakError
	// oldest is the number of the oldest entry. recorded counts the entries about breaks.
	oldest   uint64
	recorded int
	// head and expect must be met; nil is none.
	head               *head
	expect             *Point
	metHead, metExpect bool
	// each is called with every verified entry; nil does nothing.
	each func(pannier.AuditEntry)
}

// follow verifies all files.
func (c *chain) follow(ctx context.Context, dir string) error {
	names, err := seqlog.Segments(dir, maxName)
	if err != nil {
		return err
	}
	for i, name := range names {
		path := seqlog.SegmentPath(dir, name)
		err := c.file(ctx, path, name, i == len(names)-1)
		if errors.Is(err, fs.ErrNotExist) && c.entries == 0 {
			continue // rotated away concurrently
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEnd compares the end of the chain with the head, and fails if the expected line was not met. path is that of the
// head, and unreadable what is wrong with it.
func (c *chain) checkEnd(path string, unreadable error) error {
	reason := ""
	switch h, p := c.head, c.expect; {
	case unreadable != nil:
		reason = unreadable.Error()
	case h != nil && h.Broken != "":
		reason = "the log was found broken when it was opened: " + h.Broken
	case h != nil && h.difference(c.oldest, c.seq, c.metHead) != "":
		reason = h.difference(c.oldest, c.seq, c.metHead)
	case p == nil || c.metExpect:
		return nil
	case p.Seq < c.oldest:
		return fmt.Errorf("%w: entry %d, the log begins at %d", ErrNotKept, p.Seq, c.oldest)
	case p.Seq > c.seq:
		reason = fmt.Sprintf("the log ends at entry %d, before the expected %d", c.seq, p.Seq)
	default:
		reason = fmt.Sprintf("entry %d does not match the expected one: it was changed or replaced", p.Seq)
	}
	return &BreakError{File: path, Line: 1, Reason: reason}
}

func (c *chain) file(ctx context.Context, path string, name uint64, newest bool) error {
	f, info, err := fsx.OpenRegular(path, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	l := seqlog.NewLines(f, 0, info.Size(), maxLine)
	for at := (BreakError{File: path, Line: 1}); ; at.Line++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := l.Next()
		switch {
		case errors.Is(err, io.EOF) && (newest || at.Line > 1), errors.Is(err, seqlog.ErrNotEnded) && newest:
			return nil
		case errors.Is(err, io.EOF):
			return at.withReason("the file is empty, but another one follows")
		case errors.Is(err, seqlog.ErrNotEnded):
			return at.withReason("the line has no line feed")
		case errors.Is(err, seqlog.ErrTooLong):
			return at.withReason("the line is too long for an entry")
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := c.line(line, name, at); err != nil {
			return err
		}
	}
}

// line verifies a line without its line feed.
func (c *chain) line(line []byte, name uint64, at BreakError) error {
	e, err := decode(line)
	switch {
	case err != nil:
		return at.withReason("the line is not an entry: " + err.Error())
	case c.entries > 0 && e.Seq != c.seq+1 && !(e.Action == pannier.ActionAuditBroken && e.Seq > c.seq):
		return at.withReason(fmt.Sprintf("the line has number %d, but the one before it %d", e.Seq, c.seq))
	case at.Line == 1 && e.Seq != name:
		return at.withReason(fmt.Sprintf("the first line of the file has number %d", e.Seq))
	case c.entries > 0 && e.Previous != c.digest:
		return c.at.withReason("the line does not match \"previous\" of the next line: one of the two was changed")
	case e.Seq == 1 && !e.Previous.IsZero():
		return at.withReason("the first entry refers to one before it")
	}
	if c.each != nil {
		c.each(e)
	}
	c.entries, c.seq, c.digest, c.at = c.entries+1, e.Seq, pannier.DigestOf(line), at
	if c.entries == 1 {
		c.oldest = e.Seq
	}
	if e.Action == pannier.ActionAuditBroken {
		c.recorded++
	}
	here := Point{c.seq, c.digest}
	c.metHead = c.metHead || c.head != nil && here == c.head.Point
	c.metExpect = c.metExpect || c.expect != nil && here == *c.expect
	return nil
}

func (e *BreakError) withReason(reason string) error {
	return &BreakError{File: e.File, Line: e.Line, Reason: reason}
}
