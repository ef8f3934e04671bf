package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"pannier"
)

// maxEnvelope bounds one recorded event, in bytes.
const maxEnvelope = 8 << 20

// recording is a row of recorded events, with their data as [json.RawMessage].
type recording struct {
	events []pannier.Event
	// gap is set where events between others are missing.
	gap bool
}

func (r recording) first() uint64 { return r.events[0].Seq }
func (r recording) last() uint64  { return r.events[len(r.events)-1].Seq }

var segmentFile = regexp.MustCompile(`^\d{20}\.jsonl$`)

// readRecording reads events from a journal directory, a file, or stdin. It only reads: the journal may be in use.
func readRecording(path string) (recording, error) {
	if path == "-" {
		var r recording
		return r.checked(r.read(os.Stdin, "stdin", false))
	}
	info, err := os.Stat(path)
	if err != nil {
		return recording{}, err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = segmentsIn(path); err != nil {
			return recording{}, err
		}
	}
	var r recording
	for i, file := range files {
		if err = r.readFile(file, info.IsDir() && i == len(files)-1); err != nil {
			break
		}
	}
	return r.checked(err)
}

// segmentsIn returns the files of a journal, in the order of their events.
func segmentsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if segmentFile.MatchString(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if files == nil {
		return nil, fmt.Errorf("%s has no segment of a journal", dir)
	}
	return files, nil // ReadDir orders them
}

// checked returns the recording, unless reading it failed or there is nothing in it.
func (r *recording) checked(err error) (recording, error) {
	if err == nil && len(r.events) == 0 {
		err = errors.New("no event found")
	}
	return *r, err
}

func (r *recording) readFile(path string, torn bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.read(f, filepath.Base(path), torn)
}

// read reads lines. torn allows an incomplete last line, because the sidecar may be writing it.
func (r *recording) read(from io.Reader, name string, torn bool) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(lines)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if len(line) > 0 && (!ended || !torn) {
			if err := r.appendLine(line); err != nil {
				return fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
		if ended {
			return nil
		}
	}
}

// readLine returns a line without its end; io.EOF with one that is not ended.
func readLine(lines *bufio.Reader) (line []byte, err error) {
	for {
		part, err := lines.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxEnvelope {
			return nil, fmt.Errorf("the line has more than %d bytes", maxEnvelope)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

// appendLine adds the event of a line.
func (r *recording) appendLine(line []byte) error {
	var data json.RawMessage
	e := pannier.Event{Data: &data}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("not an event: %w", err)
	}
	if e.Type == "" || e.Seq == 0 || data == nil {
		return errors.New("not an event: seq, type or data is missing")
	}
	if n := len(r.events); n > 0 {
		if e.Seq <= r.last() {
			return fmt.Errorf("event %d follows event %d", e.Seq, r.last())
		}
		r.gap = r.gap || e.Seq != r.last()+1
	}
	e.Data = data
	r.events = append(r.events, e)
	return nil
}
