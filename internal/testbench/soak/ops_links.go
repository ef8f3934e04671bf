package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func linkOperations() []operation {
	return []operation{
		{name: "data swap", weight: 6, do: dataSwap},
		{name: "retarget", weight: 4, do: retarget},
		{name: "link file", weight: 3, do: linkFile},
		{name: "write through link", weight: 3, do: writeTarget},
		{name: "dangling link", weight: 2, do: dangle},
		{name: "hard link write", weight: 3, untold: true, do: hardLinkWrite},
		{name: "mapped write", weight: 3, untold: true, do: mappedWrite},
		{name: "retarget on the way", weight: 3, do: retargetOnTheWay},
	}
}

// groupSkills are the skills that a `..data` swap changes together.
var groupSkills = []string{"data-a", "data-b", "data-c"}

// dataSwap replaces several skills in one step, as kubelet does: a new directory, then the link to it, then the links that
// are new, then the old directory goes. Every writer has a mount of its own.
func dataSwap(w *writer) error {
	t := w.token()
	mount := w.skills("mount" + string(rune('0'+w.number)))
	generation := generationOf(t)
	for _, name := range groupSkills {
		dir := filepath.Join(mount, generation, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, "SKILL.md"), t.text(0)); err != nil {
			return err
		}
	}
	if err := w.noteTorn(t, mount); err != nil {
		return err
	}
	old, _ := os.Readlink(filepath.Join(mount, "..data"))
	if err := symlinkOver(generation, filepath.Join(mount, "..data")); err != nil {
		return err
	}
	for _, name := range groupSkills {
		if err := os.Symlink("..data/"+name, filepath.Join(mount, w.linkOf(name))); err != nil && !os.IsExist(err) {
			return err
		}
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(mount, old))
}

// generationOf returns the name of the directory of a generation.
func generationOf(t token) string { return "..gen-" + string(t) }

// linkOf returns the name of the link to a skill of the writer's mount.
func (w *writer) linkOf(name string) string { return name + string(rune('0'+w.number)) }

// noteTorn names a generation that another writer has torn by moving the root away, before anybody can see it: it lacks a
// skill, or its mount is a new one, whose links come one after the other.
func (w *writer) noteTorn(t token, mount string) error {
	for _, name := range groupSkills {
		_, lacks := os.Stat(filepath.Join(mount, generationOf(t), name, "SKILL.md"))
		_, unlinked := os.Lstat(filepath.Join(mount, w.linkOf(name)))
		if lacks != nil || unlinked != nil {
			list, err := os.OpenFile(tornList(w.workspace), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(list, t)
			return errors.Join(err, list.Close())
		}
	}
	return nil
}

// symlinkOver makes a link in one step, whatever was there before.
func symlinkOver(target, link string) error {
	beside := link + "_tmp"
	if err := os.Symlink(target, beside); err != nil {
		return err
	}
	if err := os.Rename(beside, link); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}

// retarget makes a link to a skill directory lead elsewhere.
func retarget(w *writer) error {
	link := w.skills("link" + string(rune('0'+w.rng.IntN(4))))
	target, err := filepath.Rel(w.skills(), w.existing())
	if err != nil {
		return err
	}
	if w.rng.IntN(4) == 0 {
		return os.Remove(link)
	}
	if err := os.Symlink(target, link+"_"+string(w.token())); err != nil {
		return err
	}
	return os.Rename(link+"_"+string(newToken(w.number, w.tokens)), link)
}

// shared returns a file that links of SKILL.md lead to, in a directory that holds no skill.
func (w *writer) shared() string {
	return w.skills("shared", "text"+string(rune('0'+w.rng.IntN(4)))+".md")
}

// linkFile puts a link in the place of a SKILL.md.
func linkFile(w *writer) error {
	dir := w.somewhere()
	target, err := filepath.Rel(dir, w.shared())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return symlinkOver(target, filepath.Join(dir, "SKILL.md"))
}

// writeTarget changes a file that such links lead to.
func writeTarget(w *writer) error {
	file := w.shared()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if w.rng.IntN(2) == 0 {
		return w.replaceWith(file, w.text())
	}
	return writeFile(file, w.text())
}

// dangle makes a link that leads nowhere, out of the root, or to itself.
func dangle(w *writer) error {
	targets := []string{"nowhere", "../../..", "/etc", "loop", "../" + filepath.Base(w.existing()) + "/SKILL.md"}
	target := targets[w.rng.IntN(len(targets))]
	if w.rng.IntN(2) == 0 {
		return symlinkOver(target, w.skills("loop"))
	}
	dir := w.somewhere()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return symlinkOver(target, filepath.Join(dir, "SKILL.md"))
}

// hardLinkWrite changes a file by another of its names, of which no watched directory knows.
func hardLinkWrite(w *writer) error {
	other := filepath.Join(w.workspace, "outside-"+string(w.token()))
	if err := os.Link(w.file(), other); err != nil {
		return err
	}
	defer os.Remove(other)
	return writeFile(other, w.text())
}

// mappedWrite changes one byte through a mapping, which no event tells of.
func mappedWrite(w *writer) error {
	f, err := openAlone(w.file(), os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	text, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if at := bytes.LastIndexByte(text, '.'); at >= 0 {
		text[at] = '?'
	}
	return errors.Join(unix.Msync(text, unix.MS_SYNC), unix.Munmap(text))
}

// retargetOnTheWay makes a link lead elsewhere that another link leads through, in a directory that is not searched.
func retargetOnTheWay(w *writer) error {
	hub := w.skills(".hub")
	name := "target" + string(rune('0'+w.rng.IntN(3)))
	if err := os.MkdirAll(filepath.Join(hub, name), 0o755); err != nil {
		return err
	}
	if err := w.replaceWith(filepath.Join(hub, name, "SKILL.md"), w.text()); err != nil {
		return err
	}
	if err := os.Symlink(".hub/current", w.skills("through")); err != nil && !os.IsExist(err) {
		return err
	}
	return symlinkOver(name, filepath.Join(hub, "current"))
}
