package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// operation is one way to change a workspace. What cannot be done, because others did something meanwhile, is not a fault.
type operation struct {
	name   string
	weight int
	// untold operations are not, or not always, told of by the kernel.
	untold bool
	do     func(w *writer) error
}

// operations lists everything that a writer does.
func operations() []operation {
	return append([]operation{
		{name: "create", weight: 12, do: create},
		{name: "edit in place", weight: 12, do: editInPlace},
		{name: "replace", weight: 12, do: replace},
		{name: "append", weight: 6, do: appendText},
		{name: "delete", weight: 8, do: remove},
		{name: "rename", weight: 6, do: rename},
		{name: "rename over", weight: 4, do: renameOver},
		{name: "meta", weight: 5, do: editMeta},
		{name: "break and mend", weight: 6, do: breakAndMend},
		{name: "touch", weight: 3, do: touch},
		{name: "burst", weight: 1, do: burst},
		{name: "checkout", weight: 2, do: checkout},
		{name: "same size and times", weight: 3, do: sameSizeAndTimes},
		{name: "config", weight: 2, do: editConfig},
		{name: "grow a log", weight: 8, do: growLog},
		{name: "series of edits", weight: 2, do: editSeries},
		{name: "vanish and return", weight: 3, do: vanishAndReturn},
	}, append(linkOperations(), oddOperations()...)...)
}

// choose returns an operation, by weight.
func (w *writer) choose() operation {
	all, sum := operations(), 0
	for i := range all {
		if all[i].untold && !w.any {
			all[i].weight = 0
		}
		sum += all[i].weight
	}
	n := w.rng.IntN(sum)
	for _, op := range all {
		if n -= op.weight; n < 0 {
			return op
		}
	}
	return all[0]
}

// writeFile writes a file in place, and never waits for the reader of a FIFO.
func writeFile(file, text string) error {
	f, err := openAlone(file, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return err
}

// openAlone opens a file to change it and waits until no other writer has it open, so that no two contents are mixed.
func openAlone(file string, flags int) (*os.File, error) {
	f, err := os.OpenFile(file, syscall.O_NONBLOCK|flags, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func create(w *writer) error {
	dir := w.somewhere()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "SKILL.md"), w.text())
}

// editInPlace truncates a file, writes one half, and now and then pauses before the other.
func editInPlace(w *writer) error {
	f, err := openAlone(w.file(), os.O_WRONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(0); err != nil {
		return err
	}
	text := w.text()
	half := w.rng.IntN(len(text))
	if _, err := f.WriteString(text[:half]); err != nil {
		return err
	}
	if w.rng.IntN(2) == 0 {
		w.rest(time.Duration(w.rng.IntN(100)) * time.Millisecond)
	}
	_, err = f.WriteString(text[half:])
	return err
}

// replace writes beside a file and renames over it.
func replace(w *writer) error { return w.replaceWith(w.file(), w.text()) }

func (w *writer) replaceWith(file, text string) error {
	beside := file + ".tmp" + string(w.token())
	if err := writeFile(beside, text); err != nil {
		return err
	}
	err := os.Rename(beside, file)
	if err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}

func appendText(w *writer) error {
	f, err := openAlone(w.file(), os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("And " + string(w.token()) + ".\n")
	return err
}

// growLog appends to a file that decides nothing, beside a skill or in the root.
func growLog(w *writer) error {
	dir := w.existing()
	if w.rng.IntN(4) == 0 {
		dir = w.skills()
	}
	f, err := openAlone(filepath.Join(dir, "run.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("line\n")
	return err
}

// editSeries replaces one skill again and again, a little more or less than settle apart.
func editSeries(w *writer) error {
	file := w.file()
	for range 5 {
		if err := replaceFile(file, w.text()); err != nil {
			return err
		}
		w.rest(settle/2 + time.Duration(w.rng.Int64N(int64(settle))))
	}
	return nil
}

func remove(w *writer) error {
	if w.rng.IntN(3) == 0 {
		return os.Remove(w.file())
	}
	return os.RemoveAll(w.existing())
}

func rename(w *writer) error { return os.Rename(w.existing(), w.somewhere()) }

func renameOver(w *writer) error {
	to := w.somewhere()
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(w.existing(), to)
}

func editMeta(w *writer) error {
	file := filepath.Join(w.existing(), "_meta.json")
	switch w.rng.IntN(4) {
	case 0:
		return os.Remove(file)
	case 1:
		return writeFile(file, `{"slug": `)
	case 2:
		return w.replaceWith(file, `{"owner": "`+string(w.token())+`"}`)
	}
	return writeFile(file, `{"version": "`+string(w.token())+`"}`)
}

// breakAndMend writes a frontmatter that is none, and mostly mends it soon.
func breakAndMend(w *writer) error {
	file := w.file()
	if _, err := os.Lstat(file); err != nil {
		return err
	}
	if err := w.replaceWith(file, w.token().broken()); err != nil || w.rng.IntN(4) == 0 {
		return err
	}
	w.rest(time.Duration(w.rng.IntN(400)) * time.Millisecond)
	return w.replaceWith(file, w.text())
}

func touch(w *writer) error {
	now := time.Now()
	return os.Chtimes(w.file(), now, now)
}

// burst makes two hundred skills, or takes them away.
func burst(w *writer) error {
	dir := w.skills("burst")
	if w.rng.IntN(2) == 0 {
		return os.RemoveAll(dir)
	}
	for i := range 200 {
		name := filepath.Join(dir, "b"+string(newToken(0, i)))
		if err := os.MkdirAll(name, 0o755); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(name, "SKILL.md"), w.token().text(0)); err != nil {
			return err
		}
	}
	return nil
}

// checkout replaces many files as git does: unlinked, then made anew.
func checkout(w *writer) error {
	var errs []error
	for range 20 {
		file := w.file()
		if err := os.Remove(file); err != nil {
			continue
		}
		f, err := openAlone(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, err = f.WriteString(w.text())
		errs = append(errs, err, f.Close())
	}
	return errors.Join(errs...)
}

// sameSizeAndTimes changes one byte and puts the times back as they were.
func sameSizeAndTimes(w *writer) error {
	file := w.file()
	before, err := os.Stat(file)
	if err != nil || !before.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	at := strings.LastIndexByte(string(text), '.')
	if at < 0 {
		return nil
	}
	text[at] = '!'
	f, err := openAlone(file, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(text[at:at+1], int64(at)); err != nil {
		return err
	}
	return os.Chtimes(file, before.ModTime(), before.ModTime())
}

// editConfig writes a config.yaml: valid, broken, with and without a list.
func editConfig(w *writer) error {
	text := "name: desk " + string(w.token()) + "\nruntime: langgraph\n"
	switch w.rng.IntN(6) {
	case 0:
		text += "skills: [s01, s02, s03, absent]\n"
	case 1:
		text += "skills: []\n"
	case 2:
		text += "description: [open\n"
	}
	file := filepath.Join(w.workspace, "config.yaml")
	if w.rng.IntN(2) == 0 {
		return writeFile(file, text)
	}
	return w.replaceWith(file, text)
}

// vanishAndReturn takes a skill away for a moment.
func vanishAndReturn(w *writer) error {
	dir := w.existing()
	away := filepath.Join(w.workspace, "away-"+string(w.token()))
	if err := os.Rename(dir, away); err != nil {
		return err
	}
	w.rest(time.Duration(w.rng.IntN(300)) * time.Millisecond)
	if err := os.Rename(away, dir); err != nil {
		return errors.Join(err, os.RemoveAll(away))
	}
	return nil
}
