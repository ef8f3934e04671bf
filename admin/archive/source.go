package archive

import (
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
)

// blockBytes is the size of reads.
const blockBytes = 64 << 10

// source reads an archive. It stops when the context is done, and remembers errors of reading, to distinguish them from
// errors in the archive.
type source struct {
	ctx  context.Context
	from io.ReaderAt
	size int64
	// err is the first error of reading.
	err error
}

// whole reads the archive from its start.
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

// classify returns what an error of unpacking means: a refusal, or an error that is not caused by the archive.
func (s *source) classify(err error) error {
	_, ours := errors.AsType[targetError](err)
	switch {
	case isRefusal(err) || ours:
		return err
	case s.ctx.Err() != nil:
		return fmt.Errorf("unpack: %w", s.ctx.Err())
	case s.err != nil:
		return fmt.Errorf("read archive: %w", s.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("truncated", "the archive is incomplete")
	}
	return refuse("damaged", "the archive is damaged: "+reason(err))
}

// reason returns the text of a decoding error. That of flate contains an offset.
func reason(err error) string {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) {
		return "its compressed data is invalid"
	}
	return err.Error()
}

// stream is the output of gzip. It fails at its limit and when the context is done, and records its end.
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
		err = nil // the next Read returns it, if there is one
	}
	s.ended = s.ended || errors.Is(err, io.EOF)
	return n, err
}
