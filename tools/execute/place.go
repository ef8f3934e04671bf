package execute

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"pannier/internal/fsx"
)

// placePrefix begins the name of each private directory.
const placePrefix = "pannier-tools-"

// place is the private directory of an executor. Only its user can write there. Its lock says that it is in use.
type place struct {
	dir  string
	lock *os.File
}

// newPlace makes a private directory below parent, and removes those of processes that were killed. Others may search it if
// tools run as another user.
func newPlace(parent string, mode fs.FileMode) (*place, error) {
	parent, err := filepath.Abs(parent)
	if err == nil {
		parent, err = filepath.EvalSymlinks(parent)
	}
	if err != nil {
		return nil, fmt.Errorf("directory of tools: %w", err)
	}
	removeStale(parent)
	dir, err := os.MkdirTemp(parent, placePrefix)
	if err != nil {
		return nil, fmt.Errorf("directory of tools: %w", err)
	}
	p := &place{dir: dir}
	if p.lock, err = os.OpenFile(p.path("new-lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		err = fsx.Lock(p.lock)
	}
	if err == nil { // under this name it is locked from the first moment on
		err = os.Rename(p.path("new-lock"), p.path("lock"))
	}
	for _, sub := range []string{"skills", "calls"} {
		if err == nil {
			err = os.Mkdir(p.path(sub), 0o700)
		}
		if err == nil {
			err = os.Chmod(p.path(sub), mode)
		}
	}
	if err == nil {
		err = os.Mkdir(p.path("artifacts"), 0o700)
	}
	if err == nil {
		err = os.Chmod(dir, mode)
	}
	if err != nil {
		p.remove()
		return nil, fmt.Errorf("directory of tools: %w", err)
	}
	return p, nil
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) remove() {
	removePlace(p.dir)
	if p.lock != nil {
		fsx.Unlock(p.lock)
	}
}

// removeStale removes private directories that are this user's and that no process has locked. One without a lock file may be
// about to get it.
func removeStale(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), placePrefix) {
			continue // without a stat: what others mount there may not answer
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if free, err := fsx.TryLock(lock); err == nil && free {
			removePlace(dir)
		}
		fsx.Unlock(lock)
	}
}

// removePlace removes a private directory, the lock last: without it, the next process would not remove what is left.
func removePlace(dir string) {
	for _, sub := range []string{"calls", "artifacts", "skills"} {
		removeTree(filepath.Join(dir, sub))
	}
	removeTree(dir)
}

// removeTree removes a directory with all that is in it, of any depth, also where modes forbid it. It follows no link out of the
// directory.
func removeTree(dir string) {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return
	}
	defer parent.Close()
	allowAll(parent, filepath.Base(dir))
	if root, err := fsx.OpenRootIn(parent, filepath.Base(dir)); err == nil {
		flatten(root)
		root.Close()
	}
	_ = parent.Remove(filepath.Base(dir))
}

// flatten removes what is in a directory. Directories are moved up to it first, so that neither the length of a path nor the
// number of open files bounds how deep they may lie.
func flatten(root *os.Root) {
	for pending := []string{"."}; len(pending) > 0; pending = pending[1:] {
		dir, err := fsx.OpenRootIn(root, pending[0])
		if err != nil {
			continue
		}
		for _, e := range entriesOf(dir) {
			if !e.IsDir() {
				_ = dir.Remove(e.Name())
				continue
			}
			allowAll(dir, e.Name()) // only who may write in a directory can move it
			name := e.Name()
			if pending[0] != "." {
				name = rand.Text()
				err = root.Rename(path.Join(pending[0], e.Name()), name)
			}
			if err == nil {
				pending = append(pending, name)
			}
		}
		dir.Close()
		if pending[0] != "." {
			_ = root.Remove(pending[0])
		}
	}
}

// allowAll changes a directory whose mode forbids its owner something.
func allowAll(parent *os.Root, name string) {
	if info, err := parent.Lstat(name); err == nil && info.IsDir() && info.Mode()&0o700 != 0o700 {
		_ = parent.Chmod(name, 0o700)
	}
}

func entriesOf(dir *os.Root) []fs.DirEntry {
	list, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer list.Close()
	entries, _ := list.ReadDir(-1)
	return entries
}
