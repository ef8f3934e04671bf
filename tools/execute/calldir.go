package execute

import (
	"io"
	"os"
	"path/filepath"
	"sync"

	"pannier/internal/fsx"
)

// callDir is the directory of one call at a time: arguments.json, which the tool can read, and scratch, which it can write.
type callDir struct {
	dir       string
	arguments *os.File
	stamps    [len(writableDirs) + 1]fsx.Stamp // of the directories, before any tool saw them
}

// writableDirs are those that the tool can write, below the directory of a call: HOME, TMPDIR and the working directory of a script.
var writableDirs = [...]string{"scratch", "scratch/home", "scratch/tmp", "scratch/work"}

func (d *callDir) path(name string) string { return filepath.Join(d.dir, name) }

// newCallDir makes the directory of a call below another one. As root, the tool runs as another user.
func newCallDir(parent string, uid, gid int) (*callDir, error) {
	dir, err := os.MkdirTemp(parent, "")
	if err != nil {
		return nil, err
	}
	d := &callDir{dir: dir}
	root := os.Geteuid() == 0
	for _, sub := range writableDirs {
		if err == nil {
			err = os.Mkdir(d.path(sub), 0o700)
		}
		if err == nil && root {
			err = os.Chown(d.path(sub), uid, gid)
		}
	}
	if err == nil {
		d.arguments, err = os.OpenFile(d.path("arguments.json"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		err = d.arguments.Chmod(0o444)
	}
	if err == nil && root {
		err = os.Chmod(dir, 0o711)
	}
	if err == nil {
		d.stamps, err = d.look()
	}
	if err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

// look returns the stamps of the directories now.
func (d *callDir) look() (stamps [len(writableDirs) + 1]fsx.Stamp, err error) {
	for i, name := range append([]string{"."}, writableDirs[:]...) {
		if err == nil {
			stamps[i], err = fsx.Lstat(d.path(name))
		}
	}
	return stamps, err
}

// write replaces the arguments.
func (d *callDir) write(arguments []byte) error {
	if err := d.arguments.Truncate(0); err != nil {
		return err
	}
	_, err := d.arguments.WriteAt(arguments, 0)
	return err
}

// untouched reports whether the directory is as it was made, but for the arguments. The stamps alone do not tell in the first moment.
func (d *callDir) untouched() bool {
	if now, err := d.look(); err != nil || now != d.stamps {
		return false
	}
	named, err1 := os.Lstat(d.path("arguments.json"))
	open, err2 := d.arguments.Stat()
	if err1 != nil || err2 != nil || !os.SameFile(named, open) || named.Mode() != 0o444 {
		return false
	}
	for _, name := range writableDirs[1:] {
		dir, err := os.Open(d.path(name))
		if err != nil {
			return false
		}
		_, err = dir.Readdirnames(1)
		dir.Close()
		if err != io.EOF {
			return false
		}
	}
	return true
}

func (d *callDir) remove() {
	if d.arguments != nil {
		d.arguments.Close()
	}
	removeTree(d.dir)
}

// callDirs keeps directories of calls that left nothing, because making and removing them costs a file system more than a call.
type callDirs struct {
	mu    sync.Mutex
	spare []*callDir
}

// take returns a directory with the arguments of a call.
func (c *callDirs) take(parent string, uid, gid int, arguments []byte) (d *callDir, err error) {
	c.mu.Lock()
	if last := len(c.spare) - 1; last >= 0 {
		d, c.spare = c.spare[last], c.spare[:last]
	}
	c.mu.Unlock()
	if d == nil || !d.untouched() {
		if d != nil {
			d.remove()
		}
		if d, err = newCallDir(parent, uid, gid); err != nil {
			return nil, err
		}
	}
	if err := d.write(arguments); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

// give takes a directory back when its call has ended. At most so many are kept.
func (c *callDirs) give(d *callDir, most int) {
	if !d.untouched() || d.write(nil) != nil {
		d.remove()
		return
	}
	c.mu.Lock()
	kept := len(c.spare) < most
	if kept {
		c.spare = append(c.spare, d)
	}
	c.mu.Unlock()
	if !kept {
		d.remove()
	}
}

// close forgets the directories, which are removed with the one above.
func (c *callDirs) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.spare {
		d.arguments.Close()
	}
	c.spare = nil
}
