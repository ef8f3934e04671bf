package scan

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

var errEscapes = errors.New("it leads out of the root")

// resolve returns the target of a path, below the root and without symlinks. It fails with [errEscapes] if the target is
// outside. [os.Root] cannot follow them, because it rejects every absolute symlink, and its errors do not identify an escape.
func (w *walker) resolve(rel string) (string, error) {
	if path.IsAbs(rel) {
		return "", errEscapes
	}
	at, _, err := fsx.FollowPath(".", rel, fsx.LinkRules{
		Readlink: func(dir, name string) (string, error) {
			target, err := w.root.Readlink(path.Join(dir, name))
			if errors.Is(err, unix.EINVAL) {
				return "", unix.EINVAL
			}
			if err != nil || !path.IsAbs(target) {
				return target, err
			}
			below, ok := w.belowRoot(target)
			if !ok {
				return "", errEscapes
			}
			if dir == "." {
				return "./" + below, nil
			}
			return strings.Repeat("../", strings.Count(dir, "/")+1) + below, nil
		},
		Parent: func(dir string) (string, error) {
			if dir == "." {
				return "", errEscapes
			}
			info, err := w.root.Lstat(dir)
			if err == nil && !info.IsDir() {
				err = unix.ENOTDIR
			}
			return path.Dir(dir), err
		},
	})
	return at, err
}

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

func (w *walker) isRoot(name string) bool {
	there, err := os.Stat(name)
	if err != nil {
		return false
	}
	opened, err := w.root.Stat(".")
	return err == nil && os.SameFile(there, opened)
}
