package loader

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/fsx"
)

// MaxFileBytes bounds a file that [Loader.Open] opens.
const MaxFileBytes = 50 << 20

// fileChunk is how much of a file is in memory at a time.
const fileChunk = 256 << 10

// File is a file of a skill that is open for reading, with the digest of its bytes. It is for one caller at a time.
type File struct {
	file     openFile
	canceled func() error // of the request that it was opened for, which is as long as it lives
	size     int64
	digest   pannier.Digest
}

// Open opens a file below the directory of a skill of a catalog. It fails with a [pannier.FileError] if it has no such
// file to serve. What the snapshot has a digest of must have it: SKILL.md and _meta.json fail with [pannier.ErrChanged]
// where the disk has moved on, and SKILL.md with [pannier.ErrNotServable] where it cannot be read any more, as
// every file of a skill that has vanished.
//
// No path leads out of the skill directory: the kernel keeps to it in one step, and where it cannot, [os.Root] does. A
// SKILL.md or _meta.json that is itself a link may lead elsewhere in its root, or into its link targets, as it may for
// discovery. What the rules do not serve is not served through a link either.
func (l *Loader) Open(ctx context.Context, s *pannier.Skill, name string) (*File, error) {
	serves := l.servedOf(s)
	if fault := checkPath(name, serves); fault != "" {
		return nil, &pannier.FileError{Fault: fault, Path: name}
	}
	if s.Deleting || name == s.File && (s.Broken || s.LastGood) {
		return nil, pannier.ErrNotServable
	}
	file, err := l.openBelow(s, name, serves)
	if err != nil {
		return nil, describeOpen(err, s, name)
	}
	f := &File{file: file, canceled: ctx.Err}
	if err := f.identify(name, digestIn(s, name)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkPath says what is wrong with a path before anything is opened.
func checkPath(name string, serves func(string) bool) pannier.FileFault {
	switch {
	case name == "" || name == "." || strings.HasSuffix(name, "/") && fs.ValidPath(strings.TrimSuffix(name, "/")):
		return pannier.FileIsDirectory
	case !fs.ValidPath(name):
		return pannier.FileOutside
	}
	if !serves(name) {
		return pannier.FileSkipped
	}
	return ""
}

// digestIn returns the digest that the snapshot has of a file, zero where it has none.
func digestIn(s *pannier.Skill, name string) pannier.Digest {
	switch name {
	case s.File:
		return s.Digest
	case pannier.MetaFile:
		return s.MetaFileDigest
	}
	return pannier.Digest{}
}

// openBelow opens a file below the skill directory; what discovery has read as discovery does.
func (l *Loader) openBelow(s *pannier.Skill, name string, serves func(string) bool) (openFile, error) {
	dir, err := l.placeOf(s).Dir(path.Clean(s.PathBelowRoot))
	if err != nil {
		return openFile{}, changedUnlessBusy(err)
	}
	defer dir.Close()
	if digestIn(s, name).IsZero() {
		return openServed(name, dir, name, dir, serves)
	}
	found, err := l.placeOf(s).Find(path.Join(s.PathBelowRoot, name))
	if err != nil {
		return openFile{}, changedUnlessBusy(err)
	}
	defer found.Root.Close()
	return openServed(name, found.Root, found.Rel, dir, serves)
}

// openServed opens a file below a directory, and refuses one that is not served by the path that links have led to. name is what
// was asked for, dir is the skill directory.
func openServed(name string, root *os.Root, rel string, dir *os.Root, serves func(string) bool) (openFile, error) {
	file, err := openIn(root, rel)
	if err != nil {
		return openFile{}, err
	}
	below, fault, err := checkOpen(file, dir, root, serves)
	file.below = below
	if err == nil && fault != "" {
		err = &pannier.FileError{Fault: fault, Path: name}
	}
	if err != nil {
		file.close()
	}
	return file, err
}

// checkOpen says why an open file is not served, and its path below the skill directory. The kernel says where it lies, whatever
// links led there: below the skill directory, or else below the root that it was opened in, where the path is empty.
func checkOpen(file openFile, dir, root *os.Root, serves func(string) bool) (string, pannier.FileFault, error) {
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.fd))
	if err != nil {
		return "", "", err
	}
	var of, in unix.Stat_t
	if err := unix.Fstat(file.fd, &of); err != nil {
		return "", "", err
	}
	for _, base := range []*os.Root{dir, root} {
		top, err := base.Open(".")
		if err != nil {
			return "", "", err
		}
		defer top.Close()
		if base == dir {
			if err := unix.Fstat(int(top.Fd()), &in); err != nil {
				return "", "", err
			}
		}
		above, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", top.Fd()))
		if err != nil {
			return "", "", err
		}
		if at == above {
			return "", "", nil // a directory, which is refused as such
		}
		below, ok := strings.CutPrefix(at, strings.TrimSuffix(above, "/")+"/")
		switch {
		case !ok:
			continue
		case !serves(pannier.ResolvedFile(below)):
			return "", pannier.FileSkipped, nil
		case base == dir && isForeign(file.fd, int(top.Fd())):
			return "", pannier.FileForeign, nil
		case base != dir && isOthers(&of, &in):
			return "", pannier.FileForeign, nil
		case base != dir:
			below = ""
		}
		return below, "", nil
	}
	return "", "", pannier.ErrChanged // it was moved since it was opened
}

// isForeign reports whether a file has several hard links and another owner than the directory of the skill: the one who linked it
// there need not be allowed to read it.
func isForeign(file, dir int) bool {
	var of, in unix.Stat_t
	return unix.Fstat(file, &of) == nil && unix.Fstat(dir, &in) == nil && of.Mode&unix.S_IFMT == unix.S_IFREG && of.Nlink > 1 && of.Uid != in.Uid
}

// isOthers reports whether the owner of a directory, an ordinary user, need not be allowed to read a file that a link in it leads to.
func isOthers(file, dir *unix.Stat_t) bool { return file.Uid != dir.Uid && !fsx.Trusts(dir.Uid) }

// openIn opens a file below a directory, as [reader.open] does. Its errors are those of [os.Root].
func openIn(root *os.Root, name string) (openFile, error) {
	if dir, err := root.Open("."); err == nil {
		fd, err := fsx.OpenAt(int(dir.Fd()), name)
		dir.Close()
		if err == nil {
			return openFile{fd: fd}, nil
		}
	}
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return openFile{}, err
	}
	return openFile{fd: int(file.Fd()), file: file}, nil
}

// describeOpen says why a file could not be opened. What a snapshot has read has changed where it cannot be opened; of any
// other file that is the answer.
func describeOpen(err error, s *pannier.Skill, name string) error {
	if _, refused := errors.AsType[*pannier.FileError](err); refused {
		return err
	}
	if errors.Is(err, pannier.ErrChanged) {
		return fmt.Errorf("open %s/%s: %w", s.Path, name, err)
	}
	fault := faultOf(err)
	switch {
	case fault == "":
		return fmt.Errorf("open %s/%s: %w", s.Path, name, err)
	case !digestIn(s, name).IsZero():
		return fmt.Errorf("open %s/%s: %w: %w", s.Path, name, pannier.ErrChanged, err)
	}
	return &pannier.FileError{Fault: fault, Path: name}
}

// faultOf returns what an error of os.Root says of a file; empty where it says nothing of it.
func faultOf(err error) pannier.FileFault {
	if fsx.EscapesRoot(err) {
		return pannier.FileOutside
	}
	switch number, _ := errors.AsType[syscall.Errno](err); number {
	case unix.ENOENT, unix.ENOTDIR, unix.ENAMETOOLONG, unix.EINVAL:
		return pannier.FileMissing
	case unix.ELOOP:
		return pannier.FileOutside
	case unix.EACCES, unix.EPERM:
		return pannier.FileUnreadable
	case unix.ENXIO, unix.ENODEV, unix.EOPNOTSUPP:
		return pannier.FileSpecial
	}
	return ""
}

// identify finds the digest of an open file, and compares it with the one that it must have, unless that is zero.
func (f *File) identify(name string, want pannier.Digest) error {
	before, err := f.file.stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	f.size = before.Size
	switch {
	case before.IsDir():
		return &pannier.FileError{Fault: pannier.FileIsDirectory, Path: name}
	case !before.IsRegular():
		return &pannier.FileError{Fault: pannier.FileSpecial, Path: name}
	case f.size > MaxFileBytes:
		return &pannier.FileError{Fault: pannier.FileTooLarge, Path: name}
	}
	if f.digest, err = f.pass(io.Discard, pannier.Digest{}); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	after, err := f.file.stat()
	if err != nil || after != before || !want.IsZero() && f.digest != want {
		return fmt.Errorf("read %s: %w", name, pannier.ErrChanged)
	}
	return nil
}

// Digest returns the digest of the bytes.
func (f *File) Digest() pannier.Digest { return f.digest }

// Size returns their number.
func (f *File) Size() int64 { return f.size }

// Path returns where the file lies below the directory of the skill, whatever links led there; empty for one that lies elsewhere.
func (f *File) Path() string { return f.file.below }

// WriteTo implements [io.WriterTo]: it writes the bytes that Digest tells of, and the last of them only once all are known
// to be those. Where they are not any more it fails with [pannier.ErrChanged], and what was written is short of Size.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	counted := &countingWriter{w: w}
	if _, err := unix.Seek(f.file.fd, 0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("seek: %w", err)
	}
	_, err := f.pass(counted, f.digest)
	return counted.n, err
}

// Close gives the descriptor back.
func (f *File) Close() error {
	f.file.close()
	return nil
}

// pass reads the file once, writes it, and returns its digest. Where want is not zero and the digest is another one, it
// fails before it writes the last part. It writes at least once.
func (f *File) pass(w io.Writer, want pannier.Digest) (digest pannier.Digest, err error) {
	sum, buf := sha256.New(), make([]byte, min(f.size, fileChunk))
	for left := f.size; ; {
		part := buf[:min(left, fileChunk)]
		if _, err := io.ReadFull(f.file, part); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return digest, pannier.ErrChanged
		} else if err != nil {
			return digest, err
		}
		sum.Write(part)
		if left -= int64(len(part)); left == 0 {
			digest = pannier.Digest(sum.Sum(nil))
		}
		if left == 0 && !want.IsZero() && digest != want {
			return digest, pannier.ErrChanged
		}
		if _, err := w.Write(part); err != nil || left == 0 {
			return digest, err
		}
		if err := f.canceled(); err != nil {
			return digest, err
		}
	}
}

// countingWriter counts what goes through it.
type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements [io.Writer].
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
