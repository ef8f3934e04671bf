package scan

import (
	"errors"
	"os"
	"path"
	"strings"

	"pannier"
)

// Entry judges the name of an entry of an archive, before anything is unpacked. Backslashes and drives count, because
// archives come from Windows too.
func Entry(name string) []pannier.Finding {
	found := newFindings(Options{})
	slashed := strings.ReplaceAll(name, `\`, "/")
	drive := len(slashed) >= 2 && slashed[1] == ':' && isLetter(slashed[0])
	if drive || path.IsAbs(slashed) {
		found.add("scan.archive.absolute_path", shown(name), 0, "")
	}
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			found.add("scan.archive.traversal", shown(name), 0, "")
			break
		}
	}
	return found.sorted()
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Destination judges the place that a skill is to be installed to, below the install root. What does not exist yet is
// judged by the directory that it will be in.
func Destination(root *os.Root, dir string) []pannier.Finding {
	found := newFindings(Options{})
	w := &walker{root: root}
	_, err := w.resolve(path.Clean(dir))
	if errors.Is(err, os.ErrNotExist) {
		if _, linkErr := root.Lstat(path.Clean(dir)); errors.Is(linkErr, os.ErrNotExist) {
			_, err = w.resolve(path.Dir(path.Clean(dir)))
		}
	}
	switch {
	case errors.Is(err, errEscapes) || path.Clean(dir) == ".":
		found.add("scan.install.containment", shown(dir), 0, "")
	case err != nil:
		found.add("scan.install.path_unresolved", shown(dir), 0, cause(err))
	}
	return found.sorted()
}
