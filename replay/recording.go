package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"pannier"
	"pannier/internal/seqlog"
)

// maxEnvelope bounds one recorded event, in bytes.
const maxEnvelope = 8 << 20

// Recording is a row of recorded events, with their data as [json.RawMessage].
type Recording struct {
	events []pannier.Event
	// gap is set where events between others are missing.
	gap bool
}

func (r *Recording) first() uint64 { return r.events[0].Seq }
func (r *Recording) last() uint64  { return r.events[len(r.events)-1].Seq }

// Read reads events from a journal directory, a file, or for "-" from stdin. It only reads: the journal may be in use.
func Read(path string) (*Recording, error) {
	r := &Recording{}
	info, err := os.Stat(path)
	switch {
	case path == "-":
		err = r.read(os.Stdin, "stdin", false)
	case err != nil:
	case !info.IsDir():
		err = r.readFile(path, false)
	default:
		err = r.readJournal(path)
	}
	if err == nil && len(r.events) == 0 {
		err = errors.New("no event found")
	}
	return r, err
}

func (r *Recording) readJournal(dir string) error {
	numbers, err := seqlog.Segments(dir, math.MaxUint64)
	if err == nil && len(numbers) == 0 {
		err = fmt.Errorf("%s has no segment of a journal", dir)
	}
	for i := 0; err == nil && i < len(numbers); i++ {
		err = r.readFile(seqlog.SegmentPath(dir, numbers[i]), i == len(numbers)-1)
	}
	return err
}

func (r *Recording) readFile(path string, torn bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.read(f, filepath.Base(path), torn)
}

// read reads lines. torn allows an incomplete last line, because the sidecar may be writing it.
func (r *Recording) read(from io.Reader, name string, torn bool) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEnvelope)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if atEOF && torn && !bytes.Contains(data, []byte("\n")) {
			return len(data), nil, nil
		}
		return bufio.ScanLines(data, atEOF)
	})
	n := 1
	for ; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := r.appendLine(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n, err)
	}
	return nil
}

func (r *Recording) appendLine(line []byte) error {
	var data json.RawMessage
	e := pannier.Event{Data: &data}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("not an event: %w", err)
	}
	if e.Type == "" || e.Seq == 0 || data == nil {
		return errors.New("not an event: seq, type or data is missing")
	}
	if len(r.events) > 0 {
		if e.Seq <= r.last() {
			return fmt.Errorf("event %d follows event %d", e.Seq, r.last())
		}
		r.gap = r.gap || e.Seq != r.last()+1
	}
	e.Data = data
	r.events = append(r.events, e)
	return nil
}
