package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Modes of written files. Only the executable bits of the archive are used.
const (
	plainMode      fs.FileMode = 0o644
	executableMode fs.FileMode = 0o755
	directoryMode  fs.FileMode = 0o755
)

// writer writes files below a directory.
type writer struct {
	root *os.Root
	// reserve is [Limits.Reserve]; it may be nil.
	reserve func(bytes int64) error
	buf     []byte
	files   int
	bytes   int64
}

func newWriter(into *os.Root, l Limits) *writer {
	return &writer{root: into, reserve: l.Reserve, buf: make([]byte, blockBytes)}
}

// targetError is an error that is not caused by the archive.
type targetError struct{ err error }

// Error implements error.
func (e targetError) Error() string { return "unpack: " + e.err.Error() }

// Unwrap returns the cause.
func (e targetError) Unwrap() error { return e.err }

// target marks write errors of a file as [targetError].
type target struct{ f *os.File }

// Write implements [io.Writer].
func (t target) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	if err != nil {
		err = targetError{err}
	}
	return n, err
}

// directory creates a directory and its parents, if they are missing.
func (w *writer) directory(rel string) error {
	if err := w.root.MkdirAll(rel, directoryMode); err != nil {
		return targetError{err}
	}
	return nil
}

// write writes the file of an entry. It returns errors of the reader unchanged.
func (w *writer) write(ctx context.Context, rel string, e entry, from io.Reader) error {
	if w.reserve != nil {
		if err := w.reserve(e.size); err != nil {
			return targetError{err}
		}
	}
	if err := w.directory(path.Dir(rel)); err != nil {
		return err
	}
	f, err := w.root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, plainMode)
	if err != nil {
		return targetError{err}
	}
	if err := w.fill(ctx, f, e, from); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return targetError{err}
	}
	w.files++
	w.bytes += e.size
	return nil
}

func (w *writer) fill(ctx context.Context, f *os.File, e entry, from io.Reader) error {
	err := copyExactly(ctx, target{f}, from, w.buf, e.size)
	if errors.Is(err, errOtherSize) {
		return refuseEntry("size_mismatch", e.name, "does not have the declared %d bytes", e.size)
	}
	if err != nil {
		return err
	}
	mode := plainMode
	if e.executable {
		mode = executableMode
	}
	// The umask applies to the mode of the open call.
	if err := f.Chmod(mode); err != nil {
		return targetError{err}
	}
	return nil
}

// errOtherSize says that a file does not have the declared size.
var errOtherSize = errors.New("unexpected size")

// copyExactly copies size bytes and fails if there are fewer or more. It writes no byte beyond them.
func copyExactly(ctx context.Context, to io.Writer, from io.Reader, buf []byte, size int64) error {
	for left := size; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := from.Read(buf)
		if left -= int64(n); left < 0 || left > 0 && errors.Is(err, io.EOF) {
			return errOtherSize
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
