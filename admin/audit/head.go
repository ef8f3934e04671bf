package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"pannier"
	"pannier/internal/fsx"
	"pannier/internal/seqlog"
)

// headSuffix is appended to the name of the directory. The head is beside the directory, so that it survives the loss
// of the directory.
const headSuffix = ".head"

// maxHead bounds the head file, in bytes.
const maxHead = 4 << 10

// head says where a log ends. It is written after each line is on disk, so that after a crash the log can be ahead of
// the head, but never the other way round.
type head struct {
	// First is the number in the name of the oldest file.
	First uint64 `json:"first"`
	Point
	// Broken is what did not match when the log was opened, until an operator acknowledges it.
	Broken string `json:"broken,omitempty"`
}

// Point identifies a line of a log. Its text is SEQ:DIGEST.
type Point struct {
	Seq uint64 `json:"seq"`
	// Digest is that of the line without its line feed.
	Digest pannier.Digest `json:"digest"`
}

// String returns the text that [ParsePoint] parses.
func (p Point) String() string { return fmt.Sprintf("%d:%s", p.Seq, p.Digest) }

// ParsePoint parses SEQ:DIGEST.
func ParsePoint(text string) (p Point, err error) {
	var digest string
	if _, err = fmt.Sscanf(text, "%d:%s", &p.Seq, &digest); err == nil {
		err = p.Digest.UnmarshalText([]byte(digest))
	}
	if err != nil || p.Seq == 0 || p.String() != text {
		return Point{}, fmt.Errorf("%.100q is not a point of an audit log such as 12:sha256:… (number of an entry and digest of its line)", text)
	}
	return p, nil
}

// errHead says that the content of a head file is invalid.
var errHead = errors.New("the head file is damaged")

// readHead returns the head of a log, nil if there is none.
func readHead(path string) (*head, error) {
	text, _, err := fsx.ReadRegular(path, 0, maxHead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, fsx.ErrNotRegular):
		return nil, fmt.Errorf("%w: %w", errHead, err)
	case err != nil:
		return nil, fmt.Errorf("read the head of the audit log: %w", err)
	}
	var h head
	if err := json.Unmarshal(text, &h); err != nil || len(text) > maxHead || h.Seq == 0 || h.Seq > maxSeq || h.Digest.IsZero() {
		return nil, errHead
	}
	return &h, nil
}

// writeHead replaces the head file. The directory is not synced: if a power cut reverts the rename, the log is ahead of
// an older head.
func writeHead(path string, h head) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	o := fsx.WriteOptions{Temporary: path + ".new", SkipDirSync: true}
	err = fsx.WriteFile(path, text, o)
	if errors.Is(err, fs.ErrExist) { // a directory is in its place
		if err = os.Rename(path, path+".damaged"); err == nil {
			err = fsx.WriteFile(path, text, o)
		}
	}
	return err
}

// differenceFrom compares a log with its head, and returns what does not match, empty if the log ends at the head or
// after it.
func (h *head) differenceFrom(dir string, segments []seqlog.Segment, next uint64) (string, error) {
	seq, met := next, false
	for line, err := range seqlog.Newest(dir, segments, maxLine) {
		if err != nil {
			return "", err
		}
		if seq--; seq <= h.Seq {
			met = seq == h.Seq && pannier.DigestOf(line) == h.Digest
			break
		}
	}
	oldest := h.First
	if len(segments) > 0 {
		oldest = segments[0].Name
	}
	return h.difference(oldest, next-1, met), nil
}

// difference returns what does not match in a log from one entry to another, empty if it ends at the head or after it.
// met says that it has the line of the head.
func (h *head) difference(oldest, newest uint64, met bool) string {
	switch {
	case newest < h.Seq:
		return fmt.Sprintf("the log ends at entry %d, but its head is at %d: the newest entries were removed", newest, h.Seq)
	case oldest > h.First:
		return fmt.Sprintf("the log begins at entry %d, but its head begins at %d: the oldest entries were removed", oldest, h.First)
	case !met:
		return fmt.Sprintf("entry %d does not match the head: it was changed or replaced", h.Seq)
	}
	return ""
}
