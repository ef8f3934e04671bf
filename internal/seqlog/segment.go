// Package seqlog has what a numbered log of JSON lines in segments needs, whatever its lines are about.
//
// A segment is a file in the directory of the log, named by the number of its first line:
//
//	00000000000000000001.jsonl
//	00000000000000004217.jsonl
//
// The journal of events and the audit log are such logs. They differ in what a line costs (an event is not synced, an entry and its
// head are), in what a failed write means (the event stays in memory, the entry is refused) and in what a damaged line means (the
// events before it are given up, the audit log keeps it as evidence), so that writing and recovery stay with them.
package seqlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	nameDigits = 20
	nameSuffix = ".jsonl"
)

// SegmentPath returns the path of the segment whose first line has the number first.
func SegmentPath(dir string, first uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", nameDigits, first, nameSuffix))
}

// Segments returns the numbers in the names of the segments of a directory, ascending, none of them above limit. Other files are
// ignored, and a missing directory has no segments.
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
