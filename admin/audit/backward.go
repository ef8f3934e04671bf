package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// chunk is how many bytes are read at a time.
const chunk = 64 << 10

// backward reads the lines of a file from the last to the first.
type backward struct {
	r io.ReaderAt
	// buf holds what lies from start on and was read but not returned.
	start int64
	buf   []byte
	// begin is where in the file the part that was returned last begins.
	begin int64
	done  bool
}

// newBackward reads what lies below end. The first part is what stands behind the last line feed, most often nothing.
func newBackward(r io.ReaderAt, end int64) *backward { return &backward{r: r, start: end} }

// next returns a part without its line feed, which stays valid, and [io.EOF] at the start of the file. One that is too
// long for a line is nil.
func (b *backward) next() ([]byte, error) {
	for long := false; !b.done; {
		i := bytes.LastIndexByte(b.buf, '\n')
		if i >= 0 || b.start == 0 {
			return b.take(i, long), nil
		}
		if len(b.buf) >= maxLine {
			long, b.buf = true, nil
		}
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
	return nil, io.EOF
}

// take returns what stands behind the line feed at i, or without one all that there is.
func (b *backward) take(i int, long bool) []byte {
	part := b.buf[i+1:]
	b.begin = b.start + int64(i+1)
	b.buf = b.buf[:max(i, 0)]
	b.done = i < 0
	if long || len(part) >= maxLine {
		return nil
	}
	return part
}

// fill reads what lies before. It never writes over what was returned.
func (b *backward) fill() error {
	n := min(b.start, chunk)
	buf := make([]byte, n, n+int64(len(b.buf)))
	if read, err := b.r.ReadAt(buf, b.start-n); int64(read) < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read %d bytes from %d: %w", n, b.start-n, err)
	}
	b.buf = append(buf, b.buf...)
	b.start -= n
	return nil
}
