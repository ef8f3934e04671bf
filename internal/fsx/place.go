package fsx

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Place is a directory together with the targets outside of it that symlinks in it may lead to.
type Place struct {
	// Path is the directory.
	Path string
	// Targets are absolute. A symlink may lead into each, by an absolute or by a relative path.
	Targets []string
	// resolved says that the paths of the targets contain no symlinks.
	resolved bool
}

// Resolved returns the place with the paths of its existing targets free of symlinks. It is for one scan: symlinks in
// the paths of the targets that are changed later have no effect on it.
func (p Place) Resolved() Place {
	if p.resolved {
		return p
	}
	targets := p.Targets
	p.Targets, p.resolved = nil, true
	for _, t := range targets {
		if t, err := filepath.EvalSymlinks(t); err == nil {
			p.Targets = append(p.Targets, t)
		}
	}
	return p
}

// Found is where a path below a [Place] leads. The caller closes Root.
type Found struct {
	// Root is the place, or the target that the path leads into, and Path its path.
	Root *os.Root
	Path string
	// Rel is the path below Root, with slashes.
	Rel string
}

// Find opens the directory that a path leads into: the place, or one of its targets. It fails as [os.Root] does if the
// path leads elsewhere ([EscapesRoot]), and with [fs.ErrNotExist] if it leads to nothing.
func (p Place) Find(rel string) (Found, error) {
	root, err := OpenRoot(p.Path)
	if err != nil {
		return Found{}, err
	}
	if len(p.Targets) > 0 {
		_, err = root.Stat(rel)
	}
	if !EscapesRoot(err) {
		return Found{root, p.Path, rel}, nil // opening it gives any other error
	}
	root.Close()
	// The answer may be outdated at once. What is opened below the target is in it nevertheless.
	real, gone := filepath.EvalSymlinks(p.Path + "/" + rel)
	if gone != nil {
		return Found{}, gone
	}
	target, below, ok := p.TargetOf(real)
	if !ok {
		return Found{}, err
	}
	if root, err = OpenRoot(target); err != nil {
		return Found{}, err
	}
	return Found{root, target, below}, nil
}

// openAt opens what a path in the place leads to, in two steps. The caller leaves what it refuses to [Place.Find].
func (p Place) openAt(rel string) (int, error) {
	dir, err := unix.Open(p.Path, asDirectory|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return OpenAt(dir, rel)
}

// Dir opens a directory. It does not wait for the writer of a FIFO.
func (p Place) Dir(rel string) (*os.Root, error) {
	if fd, err := p.openAt(rel + "/."); err == nil {
		defer unix.Close(fd)
		return reopen(fd)
	}
	found, err := p.Find(rel)
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	return OpenRootIn(found.Root, found.Rel)
}

// File opens a file for reading. It does not wait for the writer of a FIFO.
func (p Place) File(rel string) (*os.File, error) {
	if fd, err := p.openAt(rel); err == nil {
		return os.NewFile(uintptr(fd), p.Path+"/"+rel), nil
	}
	found, err := p.Find(rel)
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	return found.Root.OpenFile(found.Rel, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// Stat returns the stat of what a path leads to.
func (p Place) Stat(rel string) (fs.FileInfo, error) {
	found, err := p.Find(rel)
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	return found.Root.Stat(found.Rel)
}

// TargetOf returns the target that contains a path without symlinks, and the path below it. Of nested targets it
// returns the outermost, so that symlinks among them stay in it.
func (p Place) TargetOf(real string) (target, below string, ok bool) {
	for _, t := range p.Resolved().Targets {
		rest, inside := strings.CutPrefix(real, strings.TrimSuffix(t, "/"))
		if inside && (rest == "" || rest[0] == '/') && (!ok || len(t) < len(target)) {
			target, below, ok = t, cmp.Or(strings.TrimPrefix(rest, "/"), "."), true
		}
	}
	return target, below, ok
}

// EscapesRoot reports whether an error of an [os.Root] says that a path leads out of it. The package os exports no
// error for that; it is the only one without an error of the system.
func EscapesRoot(err error) bool {
	if err == nil {
		return false
	}
	number, ok := errors.AsType[syscall.Errno](err)
	return !ok || number == unix.EXDEV
}
