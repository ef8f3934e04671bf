// Package seqlog keeps a numbered log of JSON lines in the segments of a directory, whatever the lines are about.
//
// A segment is a file that is named by the number of its first line:
//
//	00000000000000000001.jsonl
//	00000000000000004217.jsonl
//
// A [Log] appends lines completely or not at all. Segments are read forward by [Lines], backward by [Newest].
//
// The journal of events and the audit log are such logs. What they keep, and what a damaged line means, is up to them:
// the journal gives up the events before it, the audit log keeps it as evidence.
package seqlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pannier/internal/fsx"
)

const (
	nameDigits = 20
	nameSuffix = ".jsonl"
)

// Segment is a file of a log.
type Segment struct {
	// Name is the number in the name of the file.
	Name uint64
	// First and Last are the numbers of its first and last line. It has no lines if Last is below First.
	First, Last uint64
	// Begin is the offset of the first line, and End the end of the last one, in bytes.
	Begin, End int64
}

// Empty reports whether a segment has no lines.
func (s Segment) Empty() bool { return s.Last < s.First }

// SegmentPath returns the path of the segment whose first line has the number first.
func SegmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", nameDigits, first, nameSuffix))
}

// Segments returns the numbers in the names of the segments of a directory, ascending, none of them above limit. Other
// files are ignored, and a missing directory has no segments.
func Segments(dir string, limit uint64) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	var numbers []uint64
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), nameSuffix)
		number, err := strconv.ParseUint(digits, 10, 64)
		if ok && err == nil && len(digits) == nameDigits && number > 0 && number <= limit {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// LastRun finds the last lines of a segment whose numbers have no gap, and returns the size of its file. number returns
// the number of a line. An invalid line is a gap, and so is a line whose number is not the next one, unless nothing
// follows it. Nothing after limit is read, and no line may be longer than most.
func LastRun(dir string, name uint64, limit int64, most int, number func(line []byte) (uint64, error)) (Segment, int64, error) {
	run := Segment{Name: name, First: name, Last: name - 1}
	f, info, err := fsx.OpenRegular(SegmentPath(dir, name), 0)
	if err != nil {
		return run, 0, err
	}
	defer f.Close()
	broken := false
	for l := NewLines(f, 0, min(info.Size(), limit), most); ; {
		begin := l.Offset
		line, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return run, info.Size(), nil
		case err != nil && !errors.Is(err, ErrTooLong) && !errors.Is(err, ErrNotEnded):
			return run, 0, err
		}
		var seq uint64
		if err == nil {
			seq, err = number(line)
		}
		if err != nil || seq <= run.Last { // numbers never go back
			broken = true
			continue
		}
		if broken || seq != run.Last+1 {
			run.First, run.Begin, broken = seq, begin, false
		}
		run.Last, run.End = seq, l.Offset
	}
}
