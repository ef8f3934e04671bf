package fsx

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks bounds the symlinks on one path, as the kernel does.
const maxLinks = 40

// LinkRules say how [FollowPath] resolves the components of a path. Directories are slash-separated paths without
// symlinks.
type LinkRules struct {
	// Readlink returns the target of an entry of a directory. As for readlink(2), [unix.EINVAL] says that the entry is not
	// a symlink; any other error ends the path.
	Readlink func(dir, name string) (target string, err error)
	// Parent returns the directory above another. An error ends the path. Nil means [path.Dir].
	Parent func(dir string) (string, error)
	// Absolute returns the directory from which an absolute target is followed. An error ends the path. Nil means "/".
	Absolute func() (string, error)
}

// FollowPath follows a path from a directory, symlink by symlink, and opens nothing. It returns what the path leads to.
// On an error, at is the directory in which the path ends and rest what follows the entry there; more than 40 symlinks
// are [unix.ELOOP].
func FollowPath(dir, name string, rules LinkRules) (at, rest string, err error) {
	at, rest = dir, strings.TrimLeft(name, "/")
	for links := 0; rest != ""; {
		entry, after, _ := strings.Cut(rest, "/")
		rest = strings.TrimLeft(after, "/")
		switch entry {
		case ".":
			continue
		case "..":
			next := path.Dir(at)
			if rules.Parent != nil {
				if next, err = rules.Parent(at); err != nil {
					return at, rest, err
				}
			}
			at = next
			continue
		}
		target, err := rules.Readlink(at, entry)
		if err == unix.EINVAL {
			at = path.Join(at, entry)
			continue
		}
		if err != nil {
			return at, rest, err
		}
		if links++; links > maxLinks {
			return at, rest, unix.ELOOP
		}
		if path.IsAbs(target) {
			next := "/"
			if rules.Absolute != nil {
				if next, err = rules.Absolute(); err != nil {
					return at, rest, err
				}
			}
			at = next
		}
		rest = strings.TrimLeft(target+"/"+rest, "/")
	}
	return at, "", nil
}
