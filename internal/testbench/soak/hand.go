package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// kind is one sort of change whose way through the sidecar is measured.
type kind struct {
	name string
	// skills are the directories below the root that change number n changes, and that all show it when it is visible.
	skills func(n int) []string
	// do makes change number n with a text.
	do func(root string, n int, text string) error
}

// burstSize is how many files a burst changes.
const burstSize = 200

func kinds() []kind {
	one := func(int) []string { return []string{"s00"} }
	return []kind{
		{"in-place write", one, func(root string, _ int, text string) error {
			return writeFile(filepath.Join(root, "s00", "SKILL.md"), text)
		}},
		{"rename replace", one, func(root string, _ int, text string) error {
			return replaceFile(filepath.Join(root, "s00", "SKILL.md"), text)
		}},
		{"`..data` swap", func(int) []string { return []string{"data-a", "data-b", "data-c"} }, swapData},
		{"200 files replaced", burstNames, replaceAll},
		{"new directory tree", func(n int) []string { return []string{newTree(n)} }, func(root string, n int, text string) error {
			return writeSkill(filepath.Join(root, newTree(n)), text)
		}},
	}
}

func newTree(n int) string { return fmt.Sprintf("new%03d/a/b/c", n) }

func burstNames(int) []string {
	names := make([]string, burstSize)
	for i := range names {
		names[i] = fmt.Sprintf("b%03d", i)
	}
	return names
}

func replaceAll(root string, n int, text string) error {
	for _, name := range burstNames(n) {
		if err := replaceFile(filepath.Join(root, name, "SKILL.md"), text); err != nil {
			return err
		}
	}
	return nil
}

// swapData makes a new generation, then one rename, then removes the old one.
func swapData(root string, n int, text string) error {
	generation := fmt.Sprintf("..gen-%d", n)
	for _, name := range groupSkills {
		if err := writeSkill(filepath.Join(root, generation, name), text); err != nil {
			return err
		}
	}
	if err := symlinkOver(generation, filepath.Join(root, "..data")); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(root, fmt.Sprintf("..gen-%d", n-1)))
}

// prepare makes what the changes need.
func prepare(root string) error {
	for _, name := range append(burstNames(0), "s00") {
		if err := writeSkill(filepath.Join(root, name), newToken(0, 0).text(0)); err != nil {
			return err
		}
	}
	if err := swapData(root, 0, newToken(0, 0).text(0)); err != nil {
		return err
	}
	for _, name := range groupSkills {
		if err := os.Symlink("..data/"+name, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}

func writeSkill(dir, text string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "SKILL.md"), text)
}

// replaceFile writes beside a file and renames over it.
func replaceFile(file, text string) error {
	beside := file + ".tmp"
	if err := writeFile(beside, text); err != nil {
		return err
	}
	return os.Rename(beside, file)
}

// hand is the program that makes the changes of a measurement: for each line, a kind and a number, it makes one change and
// says when it was done, in unix nanoseconds.
func hand(in io.Reader, out io.Writer, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("a hand needs the root")
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var which, n int
		if _, err := fmt.Sscan(lines.Text(), &which, &n); err != nil {
			return err
		}
		err := kinds()[which].do(args[0], n, newToken(which, n).text(1000))
		if err != nil {
			return err
		}
		fmt.Fprint(out, done{ops: n, at: time.Now()}.line())
	}
	return nil
}
