package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// chunk is the number of bytes of a read.
const chunk = 64 << 10

// backward reads the lines of a file from the last to the first.
type backward struct {
	r io.ReaderAt
	// buf has the content from start on that was read but not returned.
	start int64
	buf   []byte
	// begin is the offset of the last returned line.
	begin int64
	done  bool
}

// newBackward reads the content below end. The first line is what follows the last line feed, usually nothing.
func newBackward(r io.ReaderAt, end int64) *backward { return &backward{r: r, start: end} }

// next returns the previous line without its line feed, and [io.EOF] at the start of the file. The slice stays valid. It is
// nil if the line is longer than an entry can be.
func (b *backward) next() ([]byte, error) {
	for long := false; !b.done; {
		i := bytes.LastIndexByte(b.buf, '\n')
		if i >= 0 || b.start == 0 {
			return b.cut(i, long), nil
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

// cut removes what follows the line feed at i from the buffer, everything if i is negative.
func (b *backward) cut(i int, long bool) []byte {
	part := b.buf[i+1:]
	b.begin = b.start + int64(i+1)
	b.buf = b.buf[:max(i, 0)]
	b.done = i < 0
	if long || len(part) >= maxLine {
		return nil
	}
	return part
}

// fill reads the chunk before the buffer. It never overwrites a returned line.
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
