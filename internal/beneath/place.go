package beneath

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

// Place is a directory, and what links in it may lead to besides what lies in it.
type Place struct {
	// Path is the directory.
	Path string
	// Targets are absolute. A link may lead into each, whether it says so by an absolute path or by a relative one.
	Targets []string
	// resolved says that the paths of the targets lead through no links.
	resolved bool
}

// Resolved returns the place with its targets as they are called without links, those that are there. It is for one look, which
// asks for that once: links on the ways of the targets that are turned later lead nowhere else for it.
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

// Found is where a path below a [Place] leads. Whoever has it closes Root.
type Found struct {
	// Root is the place, or the target that the path leads into, and Path how it is called.
	Root *os.Root
	Path string
	// Rel is the path below Root, with slashes.
	Rel string
}

// Find opens what a path leads into: the place, or, where it leads out of that, one of the targets. It fails as [os.Root] does
// where it leads into none of them ([Escapes]), and with [fs.ErrNotExist] where it leads to nothing.
func (p Place) Find(rel string) (Found, error) {
	root, err := Open(p.Path)
	if err != nil {
		return Found{}, err
	}
	if len(p.Targets) > 0 {
		_, err = root.Stat(rel)
	}
	if !Escapes(err) {
		return Found{root, p.Path, rel}, nil // whoever opens it meets what is wrong with it
	}
	root.Close()
	// What this says may be outdated at once. What is opened below the target is in it nevertheless.
	real, gone := filepath.EvalSymlinks(p.Path + "/" + rel)
	if gone != nil {
		return Found{}, gone
	}
	target, below, ok := p.Holder(real)
	if !ok {
		return Found{}, err
	}
	if root, err = Open(target); err != nil {
		return Found{}, err
	}
	return Found{root, target, below}, nil
}

// Dir opens a directory, without ever waiting.
func (p Place) Dir(rel string) (*os.Root, error) {
	found, err := p.Find(rel)
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	return OpenIn(found.Root, found.Rel)
}

// File opens a file for reading, without ever waiting for the writer of a FIFO.
func (p Place) File(rel string) (*os.File, error) {
	found, err := p.Find(rel)
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	return found.Root.OpenFile(found.Rel, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// Stat tells of what a path leads to.
func (p Place) Stat(rel string) (fs.FileInfo, error) {
	found, err := p.Find(rel)
	if err != nil {
		return nil, err
	}
	defer found.Root.Close()
	return found.Root.Stat(found.Rel)
}

// Holder returns the target that a path without links lies in, and the path below it. Where targets lie in each other it is the
// outermost, so that links among them stay in it.
func (p Place) Holder(real string) (target, below string, ok bool) {
	for _, t := range p.Resolved().Targets {
		rest, inside := strings.CutPrefix(real, strings.TrimSuffix(t, "/"))
		if inside && (rest == "" || rest[0] == '/') && (!ok || len(t) < len(target)) {
			target, below, ok = t, cmp.Or(strings.TrimPrefix(rest, "/"), "."), true
		}
	}
	return target, below, ok
}

// Escapes reports whether an error of an [os.Root] says that a path leads out of it. That has no error of the system, and none
// that could be told from others.
func Escapes(err error) bool {
	if err == nil {
		return false
	}
	number, ok := errors.AsType[syscall.Errno](err)
	return !ok || number == unix.EXDEV
}
