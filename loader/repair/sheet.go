package repair

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

type sheet struct {
	lines  [][]byte
	blocks []block
	// mended are the lines with what the repairs put in their place. There are always as many, so that every line that a
	// reading of them tells is one of the text.
	mended [][]byte
	// edits are how to write what the repairs read, where they are to be recorded.
	record bool
	edits  []Edit
	steps  int // how far the search for closing brackets may still go in vain
}

// block is a top-level key with its value, or lines before the first key.
type block struct {
	key string // as it is written, without quotes; "" where it is more than a word
	// line and end are the indices of the first line and of the one behind the last that says something.
	line, end int
	// value is the index in the first line where the value begins, or the end of that line.
	value int
	// loose is the index of the first line that is neither indented nor a key nor within quotes or brackets, or 0.
	loose int
	// torn says that a comment stands before a loose line, or that one cannot belong to a text.
	torn bool
}

func newSheet(text []byte) *sheet {
	s := &sheet{lines: bytes.Split(text, []byte("\n")), steps: 4 * len(text)}
	for i := 0; i < len(s.lines); i++ {
		i = s.takeBlock(i)
	}
	s.mended = slices.Clone(s.lines)
	return s
}

// takeBlock puts a line into the last block or begins a new one with it. It returns the index of the last line that it took.
func (s *sheet) takeBlock(i int) int {
	line := s.lines[i]
	switch {
	case isBlank(line), line[0] == '#':
		return i // belongs to the block only if more of it follows
	case line[0] == ' ', line[0] == '\t':
		if len(s.blocks) == 0 {
			s.blocks = append(s.blocks, block{line: i, value: len(line)})
		}
		s.last().end = i + 1
		return i
	}
	key, value, ok := header(line)
	if !ok && len(s.blocks) > 0 {
		b := s.last()
		if b.loose == 0 {
			b.loose = i
		}
		b.torn = b.torn || !s.areBlank(b.end, i) || isForeign(s.lines[i])
		b.end = i + 1
		return i
	}
	if !ok {
		value = 0
	}
	last := s.closing(i, value)
	s.blocks = append(s.blocks, block{key: key, line: i, end: last + 1, value: value})
	return last
}

func (s *sheet) last() *block { return &s.blocks[len(s.blocks)-1] }

// areBlank reports whether the lines from one index to another are empty: a text that people write has paragraphs.
func (s *sheet) areBlank(from, to int) bool {
	return !slices.ContainsFunc(s.lines[from:to], func(line []byte) bool { return !isBlank(line) })
}

// foreign are the beginnings of lines that no sentence goes on with: fences, the marks of a conflict, the end of a bracket.
var foreign = []string{"---", "...", "<<<<<<<", "|||||||", "=======", ">>>>>>>", "```", "~~~", "}", "]"}

// mistypedKey is what a key looks like that YAML does not take for one, such as `version:1`. An address begins alike.
var mistypedKey = regexp.MustCompile(`^\W?[\w-]+\W?:(?:[^/]|/[^/]|$)`)

func isForeign(line []byte) bool {
	word, _, _ := bytes.Cut(line, []byte(" "))
	if mistypedKey.Match(line) || slices.Contains(restrictingFields, string(word)) {
		return true
	}
	for _, mark := range foreign {
		if bytes.HasPrefix(line, []byte(mark)) {
			return true
		}
	}
	return false
}

func isBlank(line []byte) bool { return len(bytes.TrimLeft(line, " \t")) == 0 }

// header returns the key that a line at column 0 begins with, and where its value begins. A key that is more than a word
// is told as "". Whatever YAML can take for a key is one, however much it looks like a sentence: the strict reading takes
// it so too.
func header(line []byte) (key string, value int, ok bool) {
	from, to := 0, 0 // where the key stands
	switch c := line[0]; {
	case c == '?' && len(line) > 1 && isSpace(line[1]):
		return "", len(line), true
	case c == '-' && (len(line) == 1 || isSpace(line[1])), bytes.HasPrefix(line, []byte("---")), bytes.IndexByte([]byte("*@`%,]}|>"), c) >= 0:
		return "", 0, false // an item, a mark, or what no key begins with
	case c == '"' || c == '\'':
		from, to = 1, 1+bytes.IndexByte(line[1:], c)
		if to < from {
			return "", 0, false
		}
	}
	colon := colonAt(line, to)
	switch {
	case colon < 0, from > 0 && !isBlank(line[to+1:colon]), from == 0 && bytes.Contains(line[:colon], []byte(" #")):
		return "", 0, false
	case from == 0:
		to = colon
	}
	value = len(line) - len(bytes.TrimLeft(line[colon+1:], " \t"))
	key = strings.TrimRight(string(line[from:to]), " \t")
	if strings.ContainsAny(key, "\"'\\ \t") || strings.IndexByte("&![{", line[0]) >= 0 {
		key = ""
	}
	return key, value, true
}

// colonAt returns the index of the first colon, not before from, that a blank or the end of the line follows, or -1.
func colonAt(line []byte, from int) int {
	for i := from; i < len(line); i++ {
		if line[i] == ':' && (i+1 == len(line) || isSpace(line[i+1])) {
			return i
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func (s *sheet) source(b block) []byte {
	return append(bytes.Join(s.lines[b.line:b.end], []byte("\n")), '\n')
}

// closing returns the index of the line that a value in quotes or brackets ends in, or i if that is not how it ends.
// Keys and loose lines in between are none.
func (s *sheet) closing(i, value int) int {
	first := s.lines[i][value:]
	if len(first) == 0 || !bytes.ContainsAny(first[:1], `"'[{`) || s.steps <= 0 {
		return i
	}
	c, before := closer{}, s.steps
	for j := i; j < len(s.lines); j++ {
		line := s.lines[j]
		if j == i {
			line = first
		}
		s.steps -= len(line) + 1
		end, closed := c.line(line)
		if !closed {
			continue
		}
		rest := bytes.TrimLeft(line[end:], " \t")
		if len(rest) > 0 && (rest[0] != '#' || len(rest) == len(line[end:])) {
			return i
		}
		s.steps = before // it was not in vain
		return j
	}
	return i
}

type closer struct {
	depth int
	quote byte // that is open, or 0
}

// line looks through a line and returns where in it the value ends, if it does.
func (c *closer) line(line []byte) (end int, closed bool) {
	for i := 0; i < len(line); i++ {
		switch ch := line[i]; {
		case c.quote == '"' && ch == '\\':
			i++
		case c.quote == '\'' && ch == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		case c.quote != 0:
			if ch == c.quote {
				c.quote = 0
			}
		case (ch == '"' || ch == '\'') && opensToken(line, i):
			c.quote = ch
		case ch == '[' || ch == '{':
			c.depth++
		case ch == ']' || ch == '}':
			c.depth--
		}
		if c.quote == 0 && c.depth <= 0 {
			return i + 1, true
		}
	}
	return 0, false
}

// opensToken reports whether a quote at an index of a line within brackets opens a text: it does at the beginning of an
// item, a key or a value, and is an apostrophe elsewhere.
func opensToken(line []byte, at int) bool {
	before := bytes.TrimRight(line[:at], " \t")
	return len(before) == 0 || bytes.IndexByte([]byte("[{,:"), before[len(before)-1]) >= 0
}
