package config

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks bounds the links on one way, as the kernel does.
const maxLinks = 40

// linked returns what to watch of a file that is a link, besides the directory that holds it: its own path. The watcher goes
// the way of that as it does for a directory that is missing, link by link and to what is at the end, and of each directory on
// it only the entry counts that the way leads through. Of whatever is no link it is empty.
func linked(file string) []string {
	if _, err := os.Readlink(file); err != nil {
		return nil
	}
	return []string{file}
}

// outward goes along a path below dir, and opens nothing. Where a link leads out of dir, or is absolute, which [os.Root] takes
// for the same, it returns the directories, below dir, that hold the links up to there. Nothing outside of dir is looked at, so
// that no disk that does not answer there stops the look.
func outward(dir, name string) (links []string, out bool) {
	at, rest := ".", name // at is what of the way is behind, without links
	for rest != "" {
		var next string
		switch next, rest, _ = strings.Cut(rest, "/"); {
		case next == "..":
			if at == "." {
				return links, true
			}
			at = path.Dir(at)
			continue
		case next == "" || next == ".":
			continue
		}
		target, err := os.Readlink(filepath.Join(dir, filepath.FromSlash(at), next))
		if errors.Is(err, unix.EINVAL) { // no link
			at = path.Join(at, next)
			continue
		}
		if err != nil { // what is missing leads nowhere
			return nil, false
		}
		if links = append(links, at); path.IsAbs(target) {
			return links, true
		}
		if len(links) > maxLinks {
			return nil, false
		}
		rest = target + "/" + rest
	}
	return nil, false
}

// appendParents appends a directory below the workspace and those on the way to it, whether they are there or not: each can
// be replaced by another, or come. One that no system call takes can not.
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
