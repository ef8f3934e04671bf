package config

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"pannier/internal/fsx"
)

// errOutside ends a path that leads out of the workspace.
var errOutside = errors.New("outside of the workspace")

// linked returns what to watch of a file that is a link, besides the directory that holds it: its own path. The watcher goes
// the way of that as it does for a directory that is missing, link by link and to what is at the end, and of each directory on
// it only the entry counts that the way leads through. It is empty for anything but a link.
func linked(file string) []string {
	if _, err := os.Readlink(file); err != nil {
		return nil
	}
	return []string{file}
}

// escapesRoot follows a path below dir. If a symlink leads out of dir, or is absolute, which [os.Root] treats the same, it returns the
// directories below dir that contain the symlinks up to there. It stats nothing outside of dir: a disk that does not answer there
// must not block the scan.
func escapesRoot(dir, name string) (links []string, escapes bool) {
	_, _, err := fsx.FollowPath(".", name, fsx.LinkRules{
		Readlink: func(at, entry string) (string, error) {
			target, err := os.Readlink(filepath.Join(dir, filepath.FromSlash(at), entry))
			switch {
			case errors.Is(err, unix.EINVAL):
				return "", unix.EINVAL
			case err == nil:
				links = append(links, at)
			}
			return target, err
		},
		Parent: func(at string) (string, error) {
			if at == "." {
				return "", errOutside
			}
			return path.Dir(at), nil
		},
		Absolute: func() (string, error) { return "", errOutside },
	})
	if err != errOutside {
		return nil, false
	}
	return links, true
}

// appendParents appends a directory below the workspace and those on the way to it, whether they are there or not: each can
// be replaced by another, or come. One that no system call takes cannot.
func appendParents(dirs []string, dir string) []string {
	if len(dir) >= unix.PathMax {
		return dirs
	}
	for ; dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// below returns paths below the workspace as absolute ones.
func below(workspace string, paths []string) []string {
	all := make([]string, 0, len(paths))
	for _, p := range paths {
		all = append(all, filepath.Join(workspace, filepath.FromSlash(p)))
	}
	return all
}

// sorted returns all of the lists in one, each once.
func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
