package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
)

// Modes of what is written. The modes of an archive go no further than the bits to execute.
const (
	plainMode      fs.FileMode = 0o644
	executableMode fs.FileMode = 0o755
	directoryMode  fs.FileMode = 0o755
)

// writer puts files below a directory, and syncs them.
type writer struct {
	ctx  context.Context
	root *os.Root
	// reserve is [Limits.Reserve], which can be nil.
	reserve func(bytes int64) error
	buf     []byte
	files   int
	bytes   int64
}

// targetError is an error of this side, whatever the archive is like.
type targetError struct{ err error }

// Error implements error.
func (e targetError) Error() string { return "unpack: " + e.err.Error() }

// Unwrap returns the cause.
func (e targetError) Unwrap() error { return e.err }

// target is a file whose errors are told from those of the archive.
type target struct{ f *os.File }

// Write implements [io.Writer].
func (t target) Write(p []byte) (int, error) {
	n, err := t.f.Write(p)
	if err != nil {
		err = targetError{err}
	}
	return n, err
}

// directory makes a directory and those above it. Those that are there are fine.
func (w *writer) directory(rel string) error {
	if err := w.root.MkdirAll(rel, directoryMode); err != nil {
		return targetError{err}
	}
	return nil
}

// write makes the file of an entry with what comes from a reader, whose errors come out as they are.
func (w *writer) write(rel string, e entry, from io.Reader) error {
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
	if err := w.fill(f, e, from); err != nil {
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

func (w *writer) fill(f *os.File, e entry, from io.Reader) error {
	err := copyExactly(w.ctx, target{f}, from, w.buf, e.size)
	if errors.Is(err, errOtherSize) {
		return refuseEntry("size_mismatch", e.name, "does not have the %d bytes that the archive tells of", e.size)
	}
	if err != nil {
		return err
	}
	mode := plainMode
	if e.executable {
		mode = executableMode
	}
	// The mode of the open call passes through the umask of the process.
	if err := errors.Join(f.Chmod(mode), f.Sync()); err != nil {
		return targetError{err}
	}
	return nil
}

// errOtherSize says that a file is longer or shorter than was told.
var errOtherSize = errors.New("it has another size")

// copyExactly copies size bytes, which must be all that there are. Nothing behind them is written.
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

// finish sets the modes of directories and syncs them, the deepest first, and the target behind them.
func (w *writer) finish(dirs []string) error {
	for _, dir := range dirs {
		if err := w.syncDir(dir, true); err != nil {
			return err
		}
	}
	return w.syncDir(".", false)
}

func (w *writer) syncDir(dir string, chmod bool) error {
	if err := w.ctx.Err(); err != nil {
		return targetError{err}
	}
	f, err := w.root.Open(dir)
	if err != nil {
		return targetError{err}
	}
	defer func() { _ = f.Close() }()
	if chmod {
		err = f.Chmod(directoryMode)
	}
	if err := errors.Join(err, f.Sync()); err != nil {
		return targetError{err}
	}
	return nil
}
