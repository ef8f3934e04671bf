package archive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"pannier"
	"pannier/loader/scan"
)

// Bounds of a path, in bytes and in components.
const (
	maxPathBytes      = 1024
	maxComponentBytes = 255
	maxDepth          = 32
)

// split checks the name of an entry and returns its components, none for the top of the archive.
func split(name string) ([]string, error) {
	if err := checkText(name); err != nil {
		return nil, err
	}
	for _, f := range scan.Entry(name) {
		code := strings.TrimPrefix(f.Rule, "scan.")
		return nil, &pannier.Refusal{Code: code, Message: quote(name) + ": " + f.Message, Hint: f.Hint}
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts, checkLengths(name, parts)
}

// checkText refuses names that are not printable UTF-8. The length is checked first, to bound the work.
func checkText(name string) error {
	invisible := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp)
	}
	switch {
	case len(name) > 2*maxPathBytes:
		return refuseEntry("path_length", name, "is a path of %d bytes", len(name))
	case !utf8.ValidString(name):
		return refuseEntry("name_encoding", name, "is not UTF-8")
	case strings.ContainsFunc(name, invisible):
		return refuseEntry("name_control", name, "contains a control character")
	case strings.Contains(name, `\`):
		return refuseEntry("name_backslash", name, "contains a backslash")
	}
	return nil
}

func checkLengths(name string, parts []string) error {
	bytes := len(parts) - 1
	for _, part := range parts {
		if len(part) > maxComponentBytes {
			return refuseEntry("path_length", name, "has a part of %d bytes", len(part))
		}
		bytes += len(part)
	}
	switch {
	case bytes > maxPathBytes:
		return refuseEntry("path_length", name, "is a path of %d bytes", bytes)
	case len(parts) > maxDepth:
		return refuseEntry("depth", name, "is %d parts deep", len(parts))
	}
	return nil
}

// isDesktopFile reports whether a path is metadata of a desktop system.
func isDesktopFile(parts []string) bool {
	for _, part := range parts {
		switch {
		case part == "__MACOSX", part == ".DS_Store", part == "Thumbs.db", strings.HasPrefix(part, "._"):
			return true
		}
	}
	return false
}

// foldPath returns what all spellings of a path have in common on file systems that ignore case and Unicode forms:
// about NFKC_Casefold. Invisible characters are dropped, because some file systems ignore them.
func foldPath(path string) string {
	plain := true
	for i := 0; plain && i < len(path); i++ {
		plain = path[i] < utf8.RuneSelf
	}
	if plain {
		return strings.ToLower(path)
	}
	path = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(path)))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, path))
}

// VersionControl lists the directories of version control systems, and the files that point to one. Their configuration
// contains commands that the system runs when it is called below them, so archives must not contain one. CVS is matched
// exactly: lower-case names are used for other things.
var VersionControl = []string{".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS"}

// isVersionControl reports whether a component of a path is one of [VersionControl] on any file system: some ignore
// case, Unicode forms, invisible characters, trailing dots and blanks, or what follows a colon, or have short names.
func isVersionControl(part string, isDir bool) bool {
	name, _, _ := strings.Cut(foldPath(part), ":")
	name = strings.TrimRight(name, ". ")
	if name == "cvs" {
		return isDir && part == "CVS"
	}
	return name == "git~1" || slices.Contains(VersionControl, name)
}
