package fingerprint

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

type walker struct {
	o       Options
	known   *Known
	learned []knownFile
	look    time.Time

	lines   []line
	dirs    []string
	entries int
	bytes   int64 // of all regular files
	read    int64
}

// buffers are what files are read through. Most skills have a few small files, and there are thousands of skills.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// listBatch is how many entries are asked for at a time, so that no directory is listed past the bound.
const listBatch = 512

func (w *walker) walk(ctx context.Context, dir *os.Root, rel string, depth int) error {
	if depth > w.o.MaxDepth {
		return inPath(rel, fmt.Errorf("%w: it has directories deeper than %d", ErrTooLarge, w.o.MaxDepth))
	}
	list, err := dir.Open(".")
	if err != nil {
		return inPath(rel, err)
	}
	defer list.Close()
	if rel != "" {
		w.dirs = append(w.dirs, rel)
	}
	for {
		entries, err := list.ReadDir(listBatch)
		for _, e := range entries {
			if rel == "" && e.Name() == pannier.OwnDir {
				continue
			}
			if w.entries++; w.entries > w.o.MaxEntries {
				return inPath(rel, fmt.Errorf("%w: it has more than %d files and directories", ErrTooLarge, w.o.MaxEntries))
			}
			if err := w.entry(ctx, dir, path.Join(rel, e.Name()), e.Name(), depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return inPath(rel, err)
		}
	}
}

func (w *walker) entry(ctx context.Context, dir *os.Root, rel, name string, depth int) error {
	if err := w.o.Pace(ctx, statCost); err != nil {
		return err
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return inPath(rel, err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return w.enter(ctx, dir, rel, name, info, depth+1)
	case mode.IsRegular():
		return w.file(ctx, dir, rel, name, info)
	case mode&fs.ModeSymlink != 0:
		text, err := dir.Readlink(name)
		w.lines = append(w.lines, line{path: rel, mark: markLink, content: pannier.DigestOf([]byte(text)), target: text})
		return inPath(rel, err)
	}
	w.lines = append(w.lines, line{path: rel, mark: markOther})
	return nil
}

// enter goes into a directory, unless another one, or a link to one, has taken its place.
func (w *walker) enter(ctx context.Context, parent *os.Root, rel, name string, info fs.FileInfo, depth int) error {
	dir, err := fsx.OpenRootIn(parent, name)
	if err != nil {
		if now, gone := parent.Lstat(name); gone != nil || !os.SameFile(now, info) {
			err = pannier.ErrChanged
		}
		return inPath(rel, err)
	}
	defer dir.Close()
	opened, err := dir.Stat(".")
	if err == nil && !os.SameFile(opened, info) {
		err = pannier.ErrChanged
	}
	if err != nil {
		return inPath(rel, err)
	}
	return w.walk(ctx, dir, rel, depth)
}

// fileTries bounds how often a file that changes while it is read is read.
const fileTries = 3

// file adds a regular file, from what is known of it or from its bytes.
func (w *walker) file(ctx context.Context, dir *os.Root, rel, name string, info fs.FileInfo) error {
	for range fileTries {
		mark, proves := markOf(rel, fsx.StampOf(info), w.look)
		content, known := w.known.content(mark)
		if !known {
			var err error
			content, err = w.content(ctx, dir, rel, name, info)
			if errors.Is(err, pannier.ErrChanged) {
				if info, err = dir.Lstat(name); err == nil && info.Mode().IsRegular() {
					continue
				}
				return inPath(rel, pannier.ErrChanged)
			}
			if err != nil {
				return inPath(rel, err)
			}
		}
		if proves {
			w.learned = append(w.learned, knownFile{mark, content})
		}
		if w.bytes += info.Size(); w.bytes > w.o.MaxBytes {
			return inPath(rel, pastBytes(w.o.MaxBytes))
		}
		l := line{path: rel, mark: markPlain, content: content, size: info.Size()}
		if info.Mode()&0o111 != 0 {
			l.mark = markExecutable
		}
		w.lines = append(w.lines, l)
		return nil
	}
	return inPath(rel, pannier.ErrChanged)
}

// content reads a file through its digest. It is [pannier.ErrChanged] where that is not the file that was listed,
// before or after.
func (w *walker) content(ctx context.Context, dir *os.Root, rel, name string, info fs.FileInfo) (pannier.Digest, error) {
	if w.bytes+info.Size() > w.o.MaxBytes {
		return pannier.Digest{}, pastBytes(w.o.MaxBytes)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ELOOP) {
		return pannier.Digest{}, pannier.ErrChanged // a link has taken its place
	}
	if err != nil {
		return pannier.Digest{}, err
	}
	defer f.Close()
	w.o.opened(rel)
	if err := unchanged(f, info); err != nil {
		return pannier.Digest{}, err
	}
	content, err := w.stream(ctx, f, info.Size())
	if err != nil {
		return pannier.Digest{}, err
	}
	return content, unchanged(f, info)
}

func unchanged(f *os.File, info fs.FileInfo) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	if fsx.StampOf(opened) != fsx.StampOf(info) {
		return pannier.ErrChanged
	}
	return nil
}

// stream reads size bytes through their digest. One more byte, or one less, is a change.
func (w *walker) stream(ctx context.Context, f *os.File, size int64) (pannier.Digest, error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	for left := size; ; {
		n, err := f.Read(buf[:])
		w.read += int64(n)
		if left -= int64(n); left < 0 || errors.Is(err, io.EOF) && left > 0 {
			return pannier.Digest{}, pannier.ErrChanged
		}
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return pannier.Digest(h.Sum(nil)), nil
		}
		if err != nil {
			return pannier.Digest{}, err
		}
		if err := w.o.Pace(ctx, int64(n)); err != nil {
			return pannier.Digest{}, err
		}
	}
}

func pastBytes(bound int64) error {
	return fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, bound)
}

// inPath says where below the skill directory an error was met. A file removed since it was listed has changed.
func inPath(rel string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = pannier.ErrChanged
	}
	if rel == "" {
		return fsx.Cause(err)
	}
	return fmt.Errorf("%q: %w", rel, fsx.Cause(err))
}
