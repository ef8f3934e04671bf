package profile

import (
	"bytes"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
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
	glob     string
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
	p.glob = strings.ToLower(strings.ReplaceAll(line, "{", `\{`)) // braces have no meaning here
	if !tied && !strings.Contains(p.glob, "/") {
		p.glob = "**/" + p.glob
	}
	if p.glob == "**" || strings.HasSuffix(p.glob, "/**") {
		p.glob += "/*" // what lies in a directory, not the directory itself
	}
	return p, true
}

// ignores reports whether a file, by its path below the skill directory, is left out.
func (r *ignoreRules) ignores(file string) bool {
	if len(r.patterns) == 0 {
		return false
	}
	file = strings.ToLower(file)
	for i, c := range file + "/" {
		if c == '/' && r.excludes(file[:i], i < len(file)) {
			return true
		}
	}
	return false
}

// excludes returns what the last pattern says that matches a path.
func (r *ignoreRules) excludes(name string, isDir bool) bool {
	for i := len(r.patterns) - 1; i >= 0; i-- {
		p := r.patterns[i]
		if matches, err := doublestar.Match(p.glob, name); matches && err == nil && (isDir || !p.dirsOnly) {
			return !p.negated
		}
	}
	return false
}
