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

// Bounds of a path, in bytes and in components. The first two are a quarter of what Linux takes, and what file systems take.
const (
	maxPathBytes      = 1024
	maxComponentBytes = 255
	maxDepth          = 32
)

// split judges the name of an entry and returns its components, none for the directory that the archive begins in.
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

// checkText refuses names that are no text, or other text than they look like. Length comes first, so that no more is read.
func checkText(name string) error {
	switch {
	case len(name) > 2*maxPathBytes:
		return refuseEntry("path_length", name, "is a path of %d bytes", len(name))
	case !utf8.ValidString(name):
		return refuseEntry("name_encoding", name, "is not UTF-8")
	case strings.ContainsFunc(name, isInvisible):
		return refuseEntry("name_control", name, "has a control character in it")
	case strings.Contains(name, `\`):
		return refuseEntry("name_backslash", name, "has a backslash in it")
	}
	return nil
}

func isInvisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp)
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

// isDesktopFile says whether a path belongs to what desktops leave behind.
func isDesktopFile(parts []string) bool {
	for _, part := range parts {
		switch {
		case part == "__MACOSX", part == ".DS_Store", part == "Thumbs.db", strings.HasPrefix(part, "._"):
			return true
		}
	}
	return false
}

// foldPath is what all spellings of a path have in common, where neither case nor Unicode forms are told apart: about what Unicode
// calls NFKC_Casefold. What can not be seen is left out, since some file systems do that.
func foldPath(path string) string {
	plain := true
	for i := 0; plain && i < len(path); i++ {
		plain = path[i] < utf8.RuneSelf
	}
	if plain {
		return strings.ToLower(path)
	}
	path = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(path)))
	return norm.NFC.String(strings.Map(dropInvisible, path))
}

func dropInvisible(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// VersionControl are the directories in which version control systems keep a repository, and the files that lead to one. Their
// configuration names commands that the system runs wherever it is called below them, so no archive may bring one. CVS stands
// apart: people call other things so in lower case.
var VersionControl = []string{".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS"}

// isVersionControl reports whether a component of a path is one of [VersionControl] on any file system: some tell neither case nor
// Unicode forms apart, leave out what can not be seen, drop dots and blanks at the end, take a colon for the start of a stream, or
// have short names.
func isVersionControl(part string, isDir bool) bool {
	name, _, _ := strings.Cut(foldPath(part), ":")
	name = strings.TrimRight(name, ". ")
	if name == "cvs" {
		return isDir && part == "CVS"
	}
	return name == "git~1" || slices.Contains(VersionControl, name)
}
