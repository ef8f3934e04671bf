package execute

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pannier/tools/sandbox"
)

// lookPath returns the first program of PATH, and then of the usual directories, that tools can execute. PATH of the runner can name
// directories that the sandbox, or the user of the tools, does not get to: shims in the home directory of root, for example.
func (e *Executor) lookPath(name string) (string, error) {
	for _, dir := range slices.Concat(filepath.SplitList(pathOf(e.Environ)), filepath.SplitList(usualPath)) {
		path := filepath.Join(dir, name)
		if target, err := filepath.EvalSymlinks(path); err == nil && e.canExecute(path) && e.canExecute(target) {
			return path, nil
		}
	}
	return "", fs.ErrNotExist
}

// path returns the directories of PATH that tools get to. With another one, a shell calls a missing program "Permission denied".
func (e *Executor) path() string {
	dirs := slices.DeleteFunc(filepath.SplitList(pathOf(e.Environ)), func(dir string) bool {
		info, err := os.Stat(dir)
		return err != nil || !e.reaches(dir, info)
	})
	if len(dirs) == 0 {
		return usualPath
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// canExecute reports whether tools get to a program and can execute it.
func (e *Executor) canExecute(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && e.reaches(path, info)
}

// reaches reports whether tools get to a path and can execute the program there, or pass the directory.
func (e *Executor) reaches(path string, info fs.FileInfo) bool {
	if e.support.Landlock > 0 && !e.isReadable(path) {
		return false
	}
	if os.Geteuid() != 0 {
		return unix.Access(path, unix.X_OK) == nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if parent, err := os.Stat(dir); err != nil || !e.mayExecute(parent) {
			return false
		}
		if dir == "/" {
			return e.mayExecute(info)
		}
	}
}

// isReadable reports whether the sandbox lets tools read a path.
func (e *Executor) isReadable(path string) bool {
	return sandbox.IsSystem(path) || slices.ContainsFunc(e.Read, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	})
}

// mayExecute reports whether the mode lets the user of the tools, who is in one group only, execute a file or pass a directory.
func (e *Executor) mayExecute(info fs.FileInfo) bool {
	var bit fs.FileMode = 0o001
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == e.UID {
		bit = 0o100
	} else if ok && int(st.Gid) == e.GID {
		bit = 0o010
	}
	return info.Mode()&bit != 0
}
