package scan

import (
	"errors"
	"os"
	"path"
	"strings"

	"pannier"
)

// Entry checks the name of an entry of an archive before it is unpacked. Backslashes and drives are checked, because
// archives come from Windows too.
func Entry(name string) []pannier.Finding {
	found := newFindings(Options{})
	slashed := strings.ReplaceAll(name, `\`, "/")
	drive := len(slashed) >= 2 && slashed[1] == ':' && isLetter(slashed[0])
	if drive || path.IsAbs(slashed) {
		found.add("scan.archive.absolute_path", displayPath(name), 0, "")
	}
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			found.add("scan.archive.traversal", displayPath(name), 0, "")
			break
		}
	}
	return found.sorted()
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Destination checks the path below the install root that a skill is to be installed to. If it does not exist, its parent
// directory is checked.
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
		found.add("scan.install.containment", displayPath(dir), 0, "")
	case err != nil:
		found.add("scan.install.path_unresolved", displayPath(dir), 0, cause(err))
	}
	return found.sorted()
}
