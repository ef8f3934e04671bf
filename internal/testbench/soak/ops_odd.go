package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

func oddOperations() []operation {
	return []operation{
		{name: "exchange", weight: 4, do: exchange},
		{name: "chmod", weight: 4, do: chmod},
		{name: "special file", weight: 2, do: special},
		{name: "root away", weight: 1, do: rootAway},
		{name: "deep tree", weight: 3, do: deepTree},
		{name: "other case", weight: 2, do: otherCase},
		{name: "tools only", weight: 2, do: toolsOnly},
		{name: "nested", weight: 2, do: nested},
		{name: "too long", weight: 1, do: tooLong},
	}
}

func exchange(w *writer) error {
	return unix.Renameat2(unix.AT_FDCWD, w.existing(), unix.AT_FDCWD, w.existing(), unix.RENAME_EXCHANGE)
}

// chmod makes something unreadable: a file for good, or a directory for a moment, because what was known of a directory stays,
// and a walk cannot say what that was.
func chmod(w *writer) error {
	dir, file := w.existing(), w.file()
	if w.rng.IntN(2) == 0 {
		dir = file
	}
	info, err := os.Lstat(dir)
	if err != nil || info.Mode().Type()&^os.ModeDir != 0 { // a link would take it anywhere
		return err
	}
	if dir == file {
		return os.Chmod(file, []os.FileMode{0, 0o644}[w.rng.IntN(2)])
	}
	if err := os.Chmod(dir, 0); err != nil {
		return err
	}
	w.rest(time.Duration(w.rng.IntN(200)) * time.Millisecond)
	return w.allowAll()
}

// allowAll makes every directory readable again, also one that was moved meanwhile.
func (w *writer) allowAll() error {
	return filepath.WalkDir(w.workspace, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if info, err := d.Info(); err == nil && info.Mode().Perm() == 0 {
				os.Chmod(path, 0o755)
			}
		}
		return nil
	})
}

// special puts a FIFO or a socket in the place of a SKILL.md.
func special(w *writer) error {
	dir := w.somewhere()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := filepath.Join(dir, []string{"SKILL.md", "_meta.json"}[w.rng.IntN(2)])
	os.Remove(file)
	if w.rng.IntN(2) == 0 {
		return unix.Mkfifo(file, 0o644)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: file})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	return ln.Close()
}

// rootAway takes the whole root away for a moment.
func rootAway(w *writer) error {
	away := filepath.Join(w.workspace, "away")
	if err := os.Rename(w.skills(), away); err != nil {
		return err
	}
	w.rest(time.Duration(w.rng.IntN(200)) * time.Millisecond)
	if unix.Renameat2(unix.AT_FDCWD, away, unix.AT_FDCWD, w.skills(), unix.RENAME_NOREPLACE) == nil {
		return nil
	}
	// Another one was made meanwhile.
	err := unix.Renameat2(unix.AT_FDCWD, away, unix.AT_FDCWD, w.skills(), unix.RENAME_EXCHANGE)
	return errors.Join(err, os.RemoveAll(away))
}

// deepTree makes directories, one in the other, with a skill at the end, or takes them away. Some are too deep.
func deepTree(w *writer) error {
	top := w.skills("tree" + string(rune('0'+w.rng.IntN(3))))
	if w.rng.IntN(3) == 0 {
		return os.RemoveAll(top)
	}
	dir := top
	for range w.rng.IntN(8) {
		dir = filepath.Join(dir, "t")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "SKILL.md"), w.text())
}

// otherCase writes or removes a skill.md, which only counts where there is no SKILL.md.
func otherCase(w *writer) error {
	file := filepath.Join(w.existing(), []string{"skill.md", "Skill.md", "SKILL.MD"}[w.rng.IntN(3)])
	if w.rng.IntN(3) == 0 {
		return os.Remove(file)
	}
	return writeFile(file, w.text())
}

// toolsOnly makes a skill of Python files, or takes them away.
func toolsOnly(w *writer) error {
	dir := filepath.Join(w.skills("box"+string(rune('0'+w.rng.IntN(3)))), "tools")
	if w.rng.IntN(3) == 0 {
		return os.RemoveAll(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "tool.py"), "pass\n")
}

// nested writes a SKILL.md that makes no skill: below another one, or in a directory that is skipped. In one that is
// skipped it does where it lies right in it.
func nested(w *writer) error {
	dir := filepath.Join(w.existing(), []string{"inner", ".hidden", "node_modules", ".hidden/inner"}[w.rng.IntN(4)])
	if w.rng.IntN(2) == 0 {
		return os.RemoveAll(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "SKILL.md"), w.text())
}

// tooLong writes a SKILL.md past the bound.
func tooLong(w *writer) error {
	file := w.file()
	if err := os.Truncate(file, 2<<20); err != nil {
		return err
	}
	return nil
}
