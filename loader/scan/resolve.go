package scan

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxHops bounds the symlinks of a path, as the kernel does.
const maxHops = 40

// errEscapes says that a path leads out of the root.
var errEscapes = errors.New("it leads out of the root")

// resolve returns the target of a path, below the root and without symlinks. It fails with [errEscapes] if the target is
// outside. It follows symlinks itself, because [os.Root] rejects every absolute symlink, and its errors do not identify an
// escape.
func (w *walker) resolve(rel string) (string, error) {
	if path.IsAbs(rel) {
		return "", errEscapes
	}
	at := "."
	ahead := strings.Split(rel, "/")
	for hops := 0; len(ahead) > 0; {
		name := ahead[0]
		ahead = ahead[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", errEscapes
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		info, err := w.root.Lstat(next)
		switch {
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0 && !info.IsDir() && len(ahead) > 0:
			return "", unix.ENOTDIR
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if hops++; hops > maxHops {
			return "", unix.ELOOP
		}
		if at, ahead, err = w.follow(at, next, ahead); err != nil {
			return "", err
		}
	}
	return at, nil
}

// follow returns the directory and the remaining path after a symlink in the directory at.
func (w *walker) follow(at, link string, ahead []string) (string, []string, error) {
	target, err := w.root.Readlink(link)
	if err != nil {
		return "", nil, err
	}
	if path.IsAbs(target) {
		below, ok := w.belowRoot(target)
		if !ok {
			return "", nil, errEscapes
		}
		at, target = ".", below
	}
	return at, append(strings.Split(target, "/"), ahead...), nil
}

// belowRoot returns the part of an absolute path below the root.
func (w *walker) belowRoot(target string) (string, bool) {
	root, err := filepath.Abs(w.options.RootPath)
	if err != nil || w.options.RootPath == "" {
		return "", false
	}
	names := []string{root}
	if real, err := filepath.EvalSymlinks(root); err == nil && w.isRoot(real) {
		names = append(names, real)
	}
	for _, name := range names {
		if rest, ok := strings.CutPrefix(target, strings.TrimSuffix(name, "/")); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

// isRoot reports whether a path leads to the open root.
func (w *walker) isRoot(name string) bool {
	there, err := os.Stat(name)
	if err != nil {
		return false
	}
	opened, err := w.root.Stat(".")
	return err == nil && os.SameFile(there, opened)
}
