package seqlog

import (
	"bufio"
	"errors"
	"io"
)

// readAhead is how many bytes [Lines] reads at a time.
const readAhead = 16 << 10

// ErrTooLong says that a line is longer than the lines of the log may be.
var ErrTooLong = errors.New("the line is too long")

// ErrNotEnded says that the last line has no line feed.
var ErrNotEnded = errors.New("the line is not ended")

// Lines reads a segment line by line.
type Lines struct {
	// Offset is where in the segment the next line begins.
	Offset int64

	r    *bufio.Reader
	most int
	long []byte
}

// NewLines reads a segment from one offset up to another. A line with its line feed has at most so many bytes.
func NewLines(r io.ReaderAt, offset, end int64, most int) *Lines {
	return &Lines{Offset: offset, r: bufio.NewReaderSize(io.NewSectionReader(r, offset, end-offset), readAhead), most: most}
}

// Next returns a line without its line feed, valid until the next call. After [ErrTooLong] the next call continues
// after that line. At the end it returns [ErrNotEnded] or [io.EOF].
func (l *Lines) Next() ([]byte, error) {
	l.long = l.long[:0]
	part, err := l.r.ReadSlice('\n')
	for ; errors.Is(err, bufio.ErrBufferFull); part, err = l.r.ReadSlice('\n') {
		l.collect(part)
	}
	if len(l.long) > 0 {
		l.collect(part)
		part = l.long
	} else {
		l.Offset += int64(len(part))
	}
	switch {
	case (err == nil || errors.Is(err, io.EOF)) && len(part) > l.most:
		return nil, ErrTooLong
	case errors.Is(err, io.EOF) && len(part) > 0:
		return nil, ErrNotEnded
	case err != nil:
		return nil, err
	}
	return part[:len(part)-1], nil
}

// collect keeps a part of a long line, but of one that is too long only enough to show that it is.
func (l *Lines) collect(part []byte) {
	l.Offset += int64(len(part))
	if len(l.long) <= l.most {
		l.long = append(l.long, part...)
	}
}
