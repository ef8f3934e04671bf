package archive

import (
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"

	"pannier"
)

// blockBytes is how much is held of an archive, or of a file in it, at a time.
const blockBytes = 64 << 10

// source is the archive, read in places. It stops when the context is done, and keeps the errors of reading apart from
// those of what was read: only the latter are the archive's.
type source struct {
	ctx  context.Context
	from io.ReaderAt
	size int64
	// err is the first error of reading.
	err error
}

// whole reads the archive from its beginning.
func (s *source) whole() io.Reader { return io.NewSectionReader(s, 0, s.size) }

// ReadAt implements [io.ReaderAt].
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.from.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) && s.err == nil {
		s.err = err
	}
	return n, err
}

// classify says what an error means that came out of reading an archive.
func (s *source) classify(err error) error {
	_, refused := errors.AsType[*pannier.Refusal](err)
	_, ours := errors.AsType[targetError](err)
	switch {
	case refused || ours:
		return err
	case s.ctx.Err() != nil:
		return fmt.Errorf("unpack: %w", s.ctx.Err())
	case s.err != nil:
		return fmt.Errorf("read archive: %w", s.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("truncated", "the archive ends before its end")
	}
	return refuse("damaged", "the archive is damaged: "+reason(err))
}

// reason is the text of an error of a decoder, or of our own about a header. The text of flate carries an offset.
func reason(err error) string {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return "its compressed data do not hold"
	}
	return err.Error()
}

// stream is what comes out of a gzip. It stops at its limit and when the context is done, and knows when it has ended.
type stream struct {
	ctx   context.Context
	from  io.Reader
	left  int64
	limit int64
	ended bool
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.from.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, refuse("total_size", fmt.Sprintf("the archive unpacks to more than %d bytes, with its headers", s.limit))
	}
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil // it is told by the next Read, when nobody else asks for more
	}
	s.ended = s.ended || errors.Is(err, io.EOF)
	return n, err
}
