package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"pannier"
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

// Verify reads the log of a directory and returns how many entries follow from one another, from the oldest that is kept.
// It fails with a [*BreakError] at the first that does not. A log may be written to meanwhile, so what stands behind the
// last line feed is not looked at. A directory that is missing is a log without entries.
func Verify(dir string) (entries int, err error) {
	names, err := fileNames(dir)
	if err != nil {
		return 0, fmt.Errorf("verify audit log: %w", err)
	}
	var c chain
	for i, name := range names {
		path := (&disk{dir: dir}).path(name)
		err := c.file(path, name, i == len(names)-1)
		if errors.Is(err, fs.ErrNotExist) && c.entries == 0 {
			continue // rotated away just now
		}
		if err != nil {
			return c.entries, fmt.Errorf("verify audit log: %w", err)
		}
	}
	return c.entries, nil
}

// chain is how far a log was followed.
type chain struct {
	entries int
	// seq, digest and at are of the newest line that was looked at.
	seq    uint64
	digest pannier.Digest
	at     BreakError
}

// file follows one file.
func (c *chain) file(path string, name uint64, newest bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxLine)
	for at := (BreakError{File: path, Line: 1}); ; at.Line++ {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && (newest || len(line) == 0 && at.Line > 1):
			return nil
		case errors.Is(err, io.EOF) && len(line) == 0:
			return at.because("the file is empty, and another one follows")
		case errors.Is(err, io.EOF):
			return at.because("the line is not ended")
		case errors.Is(err, bufio.ErrBufferFull):
			return at.because("the line is too long for an entry")
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := c.line(line, name, at); err != nil {
			return err
		}
	}
}

// line follows one line, which has its line feed.
func (c *chain) line(line []byte, name uint64, at BreakError) error {
	e, err := decode(line[:len(line)-1])
	switch {
	case err != nil:
		return at.because("the line is no entry: " + err.Error())
	case c.entries > 0 && e.Seq != c.seq+1:
		return at.because(fmt.Sprintf("the line has the number %d, and the one before it %d", e.Seq, c.seq))
	case at.Line == 1 && e.Seq != name:
		return at.because(fmt.Sprintf("the first line of the file has the number %d", e.Seq))
	case c.entries > 0 && e.Previous != c.digest:
		return c.at.because("the line is not the one that the next was written behind: it was changed, or \"previous\" of the next was")
	case e.Seq == 1 && !e.Previous.IsZero():
		return at.because("the first entry of all names one before it")
	}
	c.entries, c.seq, c.digest, c.at = c.entries+1, e.Seq, digestOf(line), at
	return nil
}

// because returns the break at a place.
func (e *BreakError) because(reason string) error {
	return &BreakError{File: e.File, Line: e.Line, Reason: reason}
}
