package archive

import (
	"compress/flate"
	"errors"
	"fmt"
	"io"
)

// blockBytes is the size of reads.
const blockBytes = 64 << 10

// source reads an archive. It stops when the context is done, and remembers errors of reading, to distinguish them from
// errors in the archive.
type source struct {
	File
	// stopped returns the error of a context that is done.
	stopped func() error
	// err is the first error of reading.
	err error
}

// whole reads the archive from its start.
func (s *source) whole() io.Reader { return io.NewSectionReader(s, 0, s.Size) }

// ReadAt implements [io.ReaderAt].
func (s *source) ReadAt(p []byte, offset int64) (int, error) {
	if err := s.stopped(); err != nil {
		return 0, err
	}
	n, err := s.From.ReadAt(p, offset)
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
	case s.stopped() != nil:
		return fmt.Errorf("unpack: %w", s.stopped())
	case s.err != nil:
		return fmt.Errorf("read archive: %w", s.err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse("truncated", "the archive is incomplete")
	}
	reason := err.Error()
	if _, ok := errors.AsType[flate.CorruptInputError](err); ok {
		reason = "its compressed data is invalid" // the error contains an offset
	}
	return refuse("damaged", "the archive is damaged: "+reason)
}

// stream is the output of gzip. It fails at its limit and when the context is done, and records its end.
type stream struct {
	stopped     func() error
	from        io.Reader
	left, limit int64
	ended       bool
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	if err := s.stopped(); err != nil {
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
