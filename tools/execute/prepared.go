package execute

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The bounds of packages that are prepared, and the names of their directories in an entry.
const (
	maxPrepared      = 64
	maxPreparedBytes = 2 << 30

	pythonPackages = "site-packages"
	nodePackages   = "node_modules"
)

// prepared are packages that were installed for scripts, in a directory for each declaration, by key. Calls can read
// them. They outlast the executor, so that a restart of it costs no installation.
type prepared struct {
	dir string

	mu   sync.Mutex
	uses map[string]int
}

// newPrepared returns what was prepared below a directory, which each user has one for.
func newPrepared(parent string) *prepared {
	return &prepared{dir: filepath.Join(parent, fmt.Sprintf("pannier-packages-%d", os.Geteuid())), uses: map[string]int{}}
}

// safe reports whether the directory is one that only this user can have written to.
func (p *prepared) safe() bool {
	info, err := os.Lstat(p.dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(owner.Uid) == os.Geteuid()
}

// use returns the directory of an entry, empty if there is none, which stays until release is called.
func (p *prepared) use(key string) (dir string, release func()) {
	dir = filepath.Join(p.dir, key)
	p.mu.Lock()
	p.uses[key]++
	p.mu.Unlock()
	release = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.uses[key]--; p.uses[key] == 0 {
			delete(p.uses, key)
		}
	})
	now := time.Now()
	if !p.safe() || os.Chtimes(dir, now, now) != nil { // those that were used last stay longest
		release()
		return "", func() {}
	}
	return dir, release
}

// keep takes over the directory that an installer has written, and removes entries that were not used for the longest
// time.
func (p *prepared) keep(n *need, from string) error {
	if err := os.Mkdir(p.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !p.safe() {
		return fmt.Errorf("%s does not belong to this user alone", p.dir)
	}
	name := pythonPackages
	if n.node {
		name = nodePackages
	}
	fresh := filepath.Join(p.dir, ".new-"+rand.Text())
	defer removeTree(fresh)
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	err := os.Rename(from, filepath.Join(fresh, name))
	if errors.Is(err, fs.ErrNotExist) { // nothing was needed
		err = os.Mkdir(filepath.Join(fresh, name), 0o755)
	}
	if err == nil {
		err = seal(filepath.Join(fresh, name))
	}
	if err != nil {
		return err
	}
	_, size := sizeOf(fresh)
	p.evict(size)
	err = os.Rename(fresh, filepath.Join(p.dir, n.key))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil // another call has prepared it meanwhile
	}
	return err
}

// evict removes the oldest entries, until there is space for one more.
func (p *prepared) evict(size int64) {
	type entry struct {
		name string
		used time.Time
		size int64
	}
	var entries []entry
	list, _ := os.ReadDir(p.dir)
	for _, e := range list {
		info, err := e.Info()
		switch {
		case err != nil:
		case !strings.HasPrefix(e.Name(), "."):
			_, bytes := sizeOf(filepath.Join(p.dir, e.Name()))
			entries = append(entries, entry{e.Name(), info.ModTime(), bytes})
			size += bytes
		case time.Since(info.ModTime()) > time.Hour: // of a process that was killed
			removeTree(filepath.Join(p.dir, e.Name()))
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name)) })
	for left := len(entries); len(entries) > 0 && (left >= maxPrepared || size > maxPreparedBytes); entries = entries[1:] {
		p.mu.Lock()
		used := p.uses[entries[0].name] > 0
		p.mu.Unlock()
		if !used {
			removeTree(filepath.Join(p.dir, entries[0].name))
			left, size = left-1, size-entries[0].size
		}
	}
}

// seal makes a tree that a tool has written one that only this user can change. It has nothing but
// directories, files and links.
func seal(dir string) error {
	root := os.Geteuid() == 0
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch mode := info.Mode(); {
		case mode&fs.ModeSymlink != 0:
			if root {
				err = os.Lchown(name, 0, 0)
			}
			return err
		case mode.IsDir(), mode.IsRegular() && mode&0o111 != 0:
			err = os.Chmod(name, 0o555)
		case mode.IsRegular():
			err = os.Chmod(name, 0o444)
		default:
			return fmt.Errorf("%s is neither a file nor a directory", name)
		}
		if err == nil && root {
			err = os.Lchown(name, 0, 0)
		}
		return err
	})
}
