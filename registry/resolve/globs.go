package resolve

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// The bounds of a glob. One that is beyond them comes from a skill that was not written by hand, and matches nothing.
const (
	maxGlobBytes = 512
	// maxAlternatives is how many globs its braces stand for; each is tried apart.
	maxAlternatives = 64
	// maxGlobs is how many of a skill count.
	maxGlobs = 64
)

// files are what a turn is about.
type files struct{ paths []string }

func (f files) none() bool { return len(f.paths) == 0 }

// match reports whether one of some globs matches one of the files.
func (f files) match(globs []string) bool {
	if f.none() {
		return false
	}
	for _, text := range globs[:min(len(globs), maxGlobs)] {
		g := newGlob(text)
		if slices.ContainsFunc(f.paths, g.near) && g.valid() && slices.ContainsFunc(f.paths, g.match) {
			return true
		}
	}
	return false
}

// glob is a glob with what every path that it matches begins and ends with. Most globs are of other files than a turn is
// about, and that shows at once.
type glob struct {
	text       string
	begin, end string
	literal    int // how many bytes at the start stand for themselves
}

// meta are the characters of a glob that do not stand for themselves.
var meta = [256]bool{'*': true, '?': true, '[': true, ']': true, '{': true, '}': true, '\\': true}

// newGlob looks at each byte once, at most. The glob may not be [glob.valid].
func newGlob(text string) glob {
	text = strings.TrimPrefix(strings.TrimSpace(text), "./")
	if len(text) > maxGlobBytes {
		return glob{}
	}
	g := glob{text: text, begin: text, end: text, literal: len(text)}
	first := 0
	for first < len(text) && !meta[text[first]] {
		first++
	}
	if first == len(text) {
		return g
	}
	last := len(text) - 1
	for !meta[text[last]] {
		last--
	}
	// `a/**` matches a, and `**/a` does.
	g.begin, g.end, g.literal = strings.TrimSuffix(text[:first], "/"), strings.TrimPrefix(text[last+1:], "/"), first
	if last > 0 && (text[last-1] == '\\' || text[last] == '\\') {
		g.end = ""
	}
	return g
}

// near reports whether a path begins and ends as those do that the glob matches.
func (g *glob) near(p string) bool {
	return strings.HasPrefix(p, g.begin) && strings.HasSuffix(p, g.end)
}

// match is for globs that are valid.
func (g *glob) match(p string) bool { return g.near(p) && doublestar.MatchUnvalidated(g.text, p) }

// valid reports whether a glob is one, within the bounds.
func (g *glob) valid() bool {
	return g.text != "" && utf8.ValidString(g.text) && alternatives(g.text) <= maxAlternatives && doublestar.ValidatePattern(g.text)
}

// alternatives returns how many globs without braces a glob stands for, or more where they are nested.
func alternatives(text string) int {
	product, open := 1, []int{}
	for i := 0; i < len(text) && product <= maxAlternatives; i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if n := len(open); n > 0 {
				open[n-1]++
			}
		case '}':
			if n := len(open); n > 0 {
				product *= open[n-1]
				open = open[:n-1]
			}
		}
	}
	return product
}
