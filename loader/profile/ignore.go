package profile

import (
	"bytes"
	"path"
	"strings"
)

// maxPatterns bounds the patterns of one skill. Each file is held against all of them.
const maxPatterns = 1000

// ignoreRules are the patterns of .clawhubignore, in the syntax of gitignore(5): `#` begins a comment, `!` takes a file in
// again, a slash at the end means directories, any other slash ties the pattern to the skill directory; `*`, `?` and
// `[a-z]` do not match a slash, a part `**` matches any number of directories; the last pattern that matches decides, and
// what lies in a directory that is left out cannot be taken in again. Case does not count: ClawHub's tool reads them so.
type ignoreRules struct {
	patterns []ignorePattern
	cut      bool // there were more
}

type ignorePattern struct {
	parts    []string // one for each level, `**` for any number of them
	negated  bool
	dirsOnly bool
}

// add appends the patterns of a file.
func (r *ignoreRules) add(text []byte) {
	for line := range bytes.Lines(text) {
		p, ok := parsePattern(strings.TrimRight(string(line), "\r\n"))
		if !ok {
			continue
		}
		if len(r.patterns) == maxPatterns {
			r.cut = true
			return
		}
		r.patterns = append(r.patterns, p)
	}
}

func parsePattern(line string) (p ignorePattern, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return p, false
	}
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirsOnly = strings.CutSuffix(line, "/")
	line, tied := strings.CutPrefix(line, "/")
	if line == "" {
		return p, false
	}
	p.parts = strings.Split(strings.ToLower(strings.ReplaceAll(line, "[!", "[^")), "/")
	if !tied && len(p.parts) == 1 {
		p.parts = []string{"**", p.parts[0]}
	}
	if p.parts[len(p.parts)-1] == "**" {
		p.parts = append(p.parts, "*") // what lies in a directory, not the directory itself
	}
	return p, true
}

// ignores reports whether a file, by its path below the skill directory, is left out.
func (r *ignoreRules) ignores(file string) bool {
	if len(r.patterns) == 0 {
		return false
	}
	parts := strings.Split(strings.ToLower(file), "/")
	for depth := 1; depth <= len(parts); depth++ {
		if r.excludes(parts[:depth], depth < len(parts)) {
			return true
		}
	}
	return false
}

// excludes reports what the last pattern says that matches a path.
func (r *ignoreRules) excludes(parts []string, isDir bool) bool {
	for i := len(r.patterns) - 1; i >= 0; i-- {
		p := r.patterns[i]
		if (isDir || !p.dirsOnly) && matchParts(p.parts, parts) {
			return !p.negated
		}
	}
	return false
}

// matchParts matches level by level. A `**` first takes no level, and one more each time that what follows it fails;
// only the last one needs to be tried again, so that no pattern takes long.
func matchParts(pattern, parts []string) bool {
	i, j := 0, 0
	again, from := -1, 0 // where to go on behind the last `**`, and the level that it then ends before
	for j < len(parts) {
		switch {
		case i < len(pattern) && pattern[i] == "**":
			i++
			again, from = i, j
		case i < len(pattern) && matchPart(pattern[i], parts[j]):
			i++
			j++
		case again >= 0:
			from++
			i, j = again, from
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "**" {
		i++
	}
	return i == len(pattern)
}

// matchPart matches one level. A pattern that is none matches nothing.
func matchPart(pattern, part string) bool {
	ok, err := path.Match(pattern, part)
	return ok && err == nil
}
