package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// BreakError says where the chain of a log breaks.
type BreakError struct {
	// File is a path, Line counts from 1.
	File string
	Line int
	// Reason says what is wrong there.
	Reason string
}

// Error implements error.
func (e *BreakError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Report is what [Verify] has found of a log whose chain holds.
type Report struct {
	// Entries is how many entries follow from one another, from the oldest that is kept.
	Entries int
	// Newest is the newest of them; zero where there is none.
	Newest Point
	// Recorded is how many of them record that the log was once found broken.
	Recorded int
	// Headless says that there is a log and no head, so that nothing shows whether the newest entries were removed.
	Headless bool
}

// ErrNotKept says that an expected entry is older than what is kept.
var ErrNotKept = errors.New("the expected entry is older than what is kept")

// verifyTries is how often a log is verified again because its head moved meanwhile.
const verifyTries = 10

// Verify follows the chain of the log of a directory, from the oldest entry that is kept, and compares its end with the
// head. Where expect is not nil, the log must also have that line. It fails with a [*BreakError] at the first that does not
// match, and with [ErrNotKept]. A log may be written to meanwhile, so what stands after the last line feed is not looked
// at. A directory that is missing is a log without entries.
func Verify(dir string, expect *Point) (Report, error) {
	path := dir + headSuffix
	for try := 1; ; try++ {
		// The head comes first: the log may be ahead of it, and it is never ahead of the log.
		h, unreadable := readHead(path)
		if unreadable != nil && !errors.Is(unreadable, errHead) {
			return Report{}, fmt.Errorf("verify audit log: %w", unreadable)
		}
		c := chain{head: h, expect: expect}
		err := c.follow(dir)
		if err == nil {
			err = c.checkEnd(path, unreadable)
		}
		if err == nil {
			err = c.checkExpected(path)
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

// chain is how far a log was followed.
type chain struct {
	entries int
	// seq, digest and at are of the newest line that was looked at.
	seq    uint64
	digest pannier.Digest
	at     BreakError
	// oldest is the number of the oldest entry, recorded counts entries about breaks.
	oldest   uint64
	recorded int
	// head and expect are what must be met on the way; nil where there is none.
	head               *head
	expect             *Point
	metHead, metExpect bool
}

// follow reads all files of a log.
func (c *chain) follow(dir string) error {
	names, err := seqlog.Segments(dir, maxName)
	if err != nil {
		return err
	}
	for i, name := range names {
		path := seqlog.SegmentPath(dir, name)
		err := c.file(path, name, i == len(names)-1)
		if errors.Is(err, fs.ErrNotExist) && c.entries == 0 {
			continue // rotated away just now
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEnd compares what was followed with the head.
func (c *chain) checkEnd(path string, unreadable error) error {
	at := BreakError{File: path, Line: 1}
	switch h := c.head; {
	case unreadable != nil:
		return at.because(unreadable.Error())
	case h == nil:
		return nil
	case h.Broken != "":
		return at.because("the log was found broken when it was opened: " + h.Broken)
	case c.seq < h.Seq:
		return at.because(fmt.Sprintf("the log ends at entry %d, and its head says %d: the newest entries were removed", c.seq, h.Seq))
	case c.oldest > h.First:
		return at.because(fmt.Sprintf("the log begins at entry %d, and its head says %d: the oldest entries were removed", c.oldest, h.First))
	case !c.metHead:
		return at.because(fmt.Sprintf("entry %d is not the one that the head was written after: it was changed or replaced", h.Seq))
	}
	return nil
}

// checkExpected looks whether the expected line was met.
func (c *chain) checkExpected(path string) error {
	switch p := c.expect; {
	case p == nil || c.metExpect:
		return nil
	case p.Seq < c.oldest:
		return fmt.Errorf("%w: entry %d, and the log begins at %d", ErrNotKept, p.Seq, c.oldest)
	case p.Seq > c.seq:
		return (&BreakError{File: path, Line: 1}).because(fmt.Sprintf("the log ends at entry %d, before the expected %d", c.seq, p.Seq))
	}
	return (&BreakError{File: path, Line: 1}).because(fmt.Sprintf("entry %d is not the expected one: it was changed or replaced", c.expect.Seq))
}

// file follows one file.
func (c *chain) file(path string, name uint64, newest bool) error {
	f, info, err := fsx.OpenRegular(path, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	l := seqlog.NewLines(f, 0, info.Size(), maxLine)
	for at := (BreakError{File: path, Line: 1}); ; at.Line++ {
		line, err := l.Next()
		switch {
		case errors.Is(err, io.EOF) && (newest || at.Line > 1), errors.Is(err, seqlog.ErrNotEnded) && newest:
			return nil
		case errors.Is(err, io.EOF):
			return at.because("the file is empty, and another one follows")
		case errors.Is(err, seqlog.ErrNotEnded):
			return at.because("the line is not ended")
		case errors.Is(err, seqlog.ErrTooLong):
			return at.because("the line is too long for an entry")
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := c.line(line, name, at); err != nil {
			return err
		}
	}
}

// line follows one line, without its line feed.
func (c *chain) line(line []byte, name uint64, at BreakError) error {
	e, err := decode(line)
	switch {
	case err != nil:
		return at.because("the line is no entry: " + err.Error())
	case c.entries > 0 && e.Seq != c.seq+1 && !(e.Action == pannier.ActionAuditBroken && e.Seq > c.seq):
		return at.because(fmt.Sprintf("the line has the number %d, and the one before it %d", e.Seq, c.seq))
	case at.Line == 1 && e.Seq != name:
		return at.because(fmt.Sprintf("the first line of the file has the number %d", e.Seq))
	case c.entries > 0 && e.Previous != c.digest:
		return c.at.because("the line is not the one that the next was written behind: it was changed, or \"previous\" of the next was")
	case e.Seq == 1 && !e.Previous.IsZero():
		return at.because("the first entry of all names one before it")
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

// because returns the break at a place.
func (e *BreakError) because(reason string) error {
	return &BreakError{File: e.File, Line: e.Line, Reason: reason}
}
