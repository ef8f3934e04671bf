package repair

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"pannier/internal/yamldoc"
	"pannier/loader/fields"
)

// restricting are parts of the names of fields that restrict a skill: what it may use, what it needs, when it may be used. A
// field that may restrict is never dropped, because a skill without it would be allowed more than its author meant.
var restricting = []string{
	"allow", "deny", "denied", "block", "forbid", "restrict", "permi", "polic", "securit", "sandbox", "trust", "require", "depend", "prereq",
	"eligib", "disabl", "enabl", "invoc", "invok", "conflict", "runtime", "scope", "guard", "limit", "exclu", "approv", "confirm", "hook",
}

// restrictingFields never begin a sentence: a line that begins with one is a field without its colon.
var restrictingFields = append(fields.Names(func(f *fields.Field) bool { return f.Restricts }), "allowed_tools", "disallowed-tools")

// restrictingKeys restrict too, for pannier or for another agent, and are too short to be looked for as parts of a name.
var restrictingKeys = []string{"os", "platform", "platforms", "bins", "anybins", "agent", "context", "paths", "globs"}

// restricts reports whether a field of this name, at any depth, may restrict the skill.
func restricts(key string) bool {
	key = strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(key))
	return slices.Contains(restrictingKeys, key) || slices.ContainsFunc(restricting, func(part string) bool { return strings.Contains(key, part) })
}

var required = fields.Names(func(f *fields.Field) bool { return f.Required })

// innerKey is what looks like a key anywhere in a line, also within JSON in a text.
var innerKey = regexp.MustCompile(`([\w.-]+)\\*["']?[ \t]*:`)

// broken returns the one block that is not YAML by itself, with the reason, where it can be left out.
func (s *sheet) broken() (b block, f *yamldoc.Fault, ok bool) {
	for _, other := range s.blocks {
		source := bytes.Join(s.mended[other.line:other.end], []byte("\n"))
		_, _, err := yamldoc.Parse(source)
		if err == nil {
			continue
		}
		fault, isFault := err.(*yamldoc.Fault)
		if !isFault || ok || isRefusal(err) {
			return block{}, nil, false
		}
		b, f, ok = other, fault, true
	}
	return b, f, ok && s.canDrop(b)
}

// canDrop reports whether a block can be left out: it is a field of its own that does not restrict the skill, and holds nothing
// that may be another field, indented or not.
func (s *sheet) canDrop(b block) bool {
	if s.allowsAll(b) {
		return true
	}
	if b.key == "" || slices.Contains(required, b.key) || restricts(b.key) {
		return false
	}
	first := bytes.TrimLeft(s.lines[b.line][b.value:], " \t")
	inline := len(first) > 0 && bytes.IndexByte([]byte("\"'[{|>#"), first[0]) < 0
	for i, line := range s.lines[b.line:b.end] {
		if i == 0 {
			line = first
		}
		for _, key := range innerKey.FindAllSubmatch(line, -1) {
			if restricts(string(key[1])) || i > 0 && inline {
				return false
			}
		}
		if i > 0 && len(line) > 0 && !isSpace(line[0]) && !partOfValue(line) {
			return false
		}
	}
	return true
}

// allTools matches an asterisk without quotes, alone or as the one item of a list.
var allTools = regexp.MustCompile(`^\s*(\*|\[\s*\*\s*\]|-\s+\*)\s*$`)

// allowsAll reports whether a block is a list of allowed tools that is *, which restricts nothing.
func (s *sheet) allowsAll(b block) bool {
	return (b.key == "allowed-tools" || b.key == "allowed_tools") && allTools.Match(s.source(b)[b.value:])
}

// partOfValue reports whether a line at column 0 within a block belongs to a list or to brackets.
func partOfValue(line []byte) bool {
	return line[0] == '#' || bytes.Equal(line, []byte("-")) || bytes.HasPrefix(line, []byte("- ")) || bytes.IndexByte([]byte("[]{}\"'"), line[0]) >= 0
}

// canMiss reports whether what is left after a block was dropped is still a skill: it has a description, and none of the
// fields that identify a skill can have been in the block alone.
func (s *sheet) canMiss(b block, left yamldoc.Value) bool {
	if _, ok := left.Get("description").Text(); !ok {
		return false
	}
	for _, key := range innerKey.FindAllSubmatch(s.source(b), -1) {
		if name := string(key[1]); (name == "name" || name == "description") && left.Get(name).Kind() == yamldoc.Missing {
			return false
		}
	}
	return true
}
