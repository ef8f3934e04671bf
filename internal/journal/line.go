package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pannier"
	"pannier/internal/seqlog"
)

const (
	// maxLine bounds the line of an event, with its line feed, in bytes.
	maxLine = 4 << 20
	// maxSeq bounds numbers, so that no garbage on disk makes them run over. Counting never reaches it.
	maxSeq = 1<<63 - 1
)

// canonical returns an event as it will be read back, whatever its number. The JSON of its data is made by foreign code,
// so this is called without a lock.
func canonical(e pannier.Event) (pannier.Event, error) {
	e.Seq = maxSeq // as long as a number gets
	e.Time = e.Time.UTC()
	text, err := json.Marshal(e)
	if err != nil {
		return pannier.Event{}, fmt.Errorf("encode event: %w", err)
	}
	if len(text)+1 > maxLine {
		return pannier.Event{}, fmt.Errorf("%w: it has %d bytes and may have %d", ErrTooLarge, len(text), maxLine-1)
	}
	return decode(text)
}

// appendLine appends the line of a canonical event.
func appendLine(b []byte, e pannier.Event) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return b, fmt.Errorf("encode event %d: %w", e.Seq, err)
	}
	return append(append(b, text...), '\n'), nil
}

// decode reads an event, with its data as [json.RawMessage].
func decode(line []byte) (pannier.Event, error) {
	var data json.RawMessage
	e := pannier.Event{Data: &data}
	if err := json.Unmarshal(line, &e); err != nil {
		return pannier.Event{}, fmt.Errorf("decode event: %w", err)
	}
	if e.Seq == 0 || e.Seq > maxSeq {
		return pannier.Event{}, fmt.Errorf("decode event: number %d", e.Seq)
	}
	if data == nil {
		data = json.RawMessage("null")
	}
	e.Data = data
	return e, nil
}

// errBadLine says that a line is longer than maxLine, is not ended, or is not the event that belongs there.
var errBadLine = errors.New("the line is not an event")

// lines reads the events of a segment.
type lines struct{ *seqlog.Lines }

// newLines reads what lies in a segment from one offset up to another.
func newLines(r io.ReaderAt, offset, end int64) lines {
	return lines{seqlog.NewLines(r, offset, end, maxLine)}
}

// event returns the event of the next line; errors are those of next.
func (l lines) event() (pannier.Event, error) {
	line, err := l.next()
	if err != nil {
		return pannier.Event{}, err
	}
	e, err := decode(line)
	if err != nil {
		return pannier.Event{}, fmt.Errorf("%w: %w", errBadLine, err)
	}
	return e, nil
}

// next returns the next line, errBadLine for a line that cannot be an event, or io.EOF at the end.
func (l lines) next() ([]byte, error) {
	line, err := l.Next()
	if errors.Is(err, seqlog.ErrTooLong) || errors.Is(err, seqlog.ErrNotEnded) {
		return nil, errBadLine
	}
	return line, err
}
