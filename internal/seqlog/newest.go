package seqlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"pannier/internal/fsx"
)

// chunk is the number of bytes of a backward read.
const chunk = 64 << 10

// Newest returns the lines of segments, newest first and without line feeds. They may be kept. A line with more than
// most bytes is nil. A missing segment has none: it may have been removed meanwhile.
func Newest(dir string, segments []Segment, most int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, s := range slices.Backward(segments) {
			if !eachLine(SegmentPath(dir, s.Name), s.End, most, yield) {
				return
			}
		}
	}
}

// eachLine yields the lines of a file below end.
func eachLine(path string, end int64, most int, yield func([]byte, error) bool) bool {
	f, info, err := fsx.OpenRegular(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return yield(nil, err) && false
	}
	defer f.Close()
	parts := backward{r: f, start: min(end, info.Size()), most: most}
	for first := true; ; first = false {
		line, err := parts.next()
		if errors.Is(err, io.EOF) {
			return true
		}
		if first && err == nil && len(line) == 0 {
			continue // after the last line feed
		}
		if !yield(line, err) || err != nil {
			return false
		}
	}
}

// WholeEnd returns the end of the last complete line of a file, and the size of the file. After a power cut a line can
// begin with zeros, which JSON never contains. No line is longer than most.
func WholeEnd(path string, most int) (end, size int64, err error) {
	f, info, err := fsx.OpenRegular(path, 0)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	size = info.Size()
	parts := backward{r: f, start: size, most: most}
	if _, err = parts.next(); err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", path, err)
	}
	if end = parts.begin; end < size {
		return end, size, nil
	}
	last, err := parts.next()
	switch {
	case errors.Is(err, io.EOF):
		return end, size, nil
	case err != nil:
		return 0, 0, fmt.Errorf("read %s: %w", path, err)
	case bytes.IndexByte(last, 0) >= 0:
		end = parts.begin
	}
	return end, size, nil
}

// backward reads the lines of a file from the last to the first.
type backward struct {
	r    io.ReaderAt
	most int
	// buf has the content from start on that was read but not returned.
	start int64
	buf   []byte
	// begin is the offset of the last returned line.
	begin int64
	done  bool
}

// next returns the previous line without its line feed, and [io.EOF] at the start of the file. The first line is what
// follows the last line feed, usually nothing. The slice stays valid. It is nil if the line is too long.
func (b *backward) next() ([]byte, error) {
	for long := false; !b.done; {
		i := bytes.LastIndexByte(b.buf, '\n')
		if i >= 0 || b.start == 0 {
			part := b.buf[i+1:]
			b.begin = b.start + int64(i+1)
			b.buf = b.buf[:max(i, 0)]
			b.done = i < 0
			if long || len(part) >= b.most {
				part = nil
			}
			return part, nil
		}
		if len(b.buf) >= b.most {
			long, b.buf = true, nil
		}
		n := min(b.start, chunk)
		buf := make([]byte, n, n+int64(len(b.buf))) // a new one, since returned lines stay valid
		if read, err := b.r.ReadAt(buf, b.start-n); int64(read) < n {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("read %d bytes from %d: %w", n, b.start-n, err)
		}
		b.buf = append(buf, b.buf...)
		b.start -= n
	}
	return nil, io.EOF
}
