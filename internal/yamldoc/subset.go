package yamldoc

import (
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The subset is what nearly all frontmatters consist of: mappings and lists in block and flow style, plain scalars and
// texts in quotes in one line, and block texts; without tabs, comments, anchors, tags, directives and repeated keys.
// Its scanner is several times as fast as the library. It reports no errors: a text that it does not read exactly as
// the library does is left to the library.
//
// Nodes of the subset have no tags and no comments, because nothing in this package reads them.

const (
	maxSubsetLen    = MaxNodes // bytes; so short that the bound of nodes holds
	maxSubsetKeys   = 64       // of a mapping; keys are compared one by one
	maxSubsetKeyLen = 128      // bytes; the library takes keys of up to 1,024 characters
)

// parseSubset reads a text as the library does. ok is false if the text is not in the subset.
func parseSubset(text []byte) (v Value, ok bool) {
	s := scanner{text: string(text), line: 1}
	if len(text) > maxSubsetLen || !strings.HasSuffix(s.text, "\n") || !hasSubsetChars(s.text) {
		return Value{}, false
	}
	s.skipBreaks()
	key := s.flowValue(false, MaxDepth)
	if key == nil || key.Column != 1 {
		return Value{}, false
	}
	root := s.blockMap(key, 0, 1)
	return Value{root}, root != nil && s.at == len(s.text)
}

// hasSubsetChars reports whether a text consists of line feeds and printable characters. The library refuses control
// characters, and takes more characters than LF for line breaks.
func hasSubsetChars(text string) bool {
	for _, r := range text {
		switch {
		case r < ' ' && r != '\n', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff',
			r >= '\ufffd' && r <= '\uffff': // U+FFFD is also what range makes of bytes that are not UTF-8
			return false
		}
	}
	return true
}

// scanner reads a text of the subset. Its methods return nil where the text is not in the subset. The text ends with a
// line feed, so there is a next byte until that one is read.
type scanner struct {
	text string
	at   int // offset of the next byte

	line      int // number of the line, from 1
	lineStart int // offset of its first byte
	counted   int // an offset in the line
	column    int // number of characters of the line before counted

	free []yaml.Node  // allocated and not used
	open []*yaml.Node // contents of the collections that are being read
}

// node returns a new node that begins with the next byte.
func (s *scanner) node(kind yaml.Kind, style yaml.Style) *yaml.Node {
	if len(s.free) == 0 {
		s.free = make([]yaml.Node, 16)
	}
	n := &s.free[0]
	s.free = s.free[1:]
	s.column += utf8.RuneCountInString(s.text[s.counted:s.at])
	s.counted = s.at
	n.Kind, n.Style, n.Line, n.Column = kind, style, s.line, s.column+1
	return n
}

// closed returns a collection with the contents that are open from an index on.
func (s *scanner) closed(n *yaml.Node, from int) *yaml.Node {
	n.Content = slices.Clone(s.open[from:])
	s.open = s.open[:from]
	return n
}

// peek returns the next byte, and 0 at the end of the text.
func (s *scanner) peek() byte {
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *scanner) skipSpaces() {
	for s.peek() == ' ' {
		s.at++
	}
}

// skipBreaks skips spaces and line feeds.
func (s *scanner) skipBreaks() {
	for s.skipSpaces(); s.peek() == '\n'; s.skipSpaces() {
		s.startLine()
	}
}

// startLine goes to the next line. The next byte is a line feed.
func (s *scanner) startLine() {
	s.at++
	s.line++
	s.lineStart, s.counted, s.column = s.at, s.at, 0
}

// indent returns how far the next byte is indented, and -1 at the end of the text.
func (s *scanner) indent() int {
	if s.at == len(s.text) {
		return -1
	}
	return s.at - s.lineStart
}

// blockMap reads the lines of a mapping after its first key, to a line that is indented less.
func (s *scanner) blockMap(key *yaml.Node, indent, depth int) *yaml.Node {
	n, from := s.node(yaml.MappingNode, 0), len(s.open)
	n.Line, n.Column = key.Line, key.Column
	for depth < MaxDepth && key != nil && s.isColon(s.at) && s.openKey(key, from) {
		value := s.blockValue(indent, depth+1)
		if value == nil || s.indent() > indent {
			return nil
		}
		s.open = append(s.open, value)
		if s.indent() < indent {
			return s.closed(n, from)
		}
		key = s.flowValue(false, MaxDepth)
	}
	return nil
}

// isColon reports whether a colon that ends a plain scalar is at an offset.
func (s *scanner) isColon(at int) bool {
	return at < len(s.text) && s.text[at] == ':' && (s.text[at+1] == ' ' || s.text[at+1] == '\n')
}

// openKey adds a key to a mapping whose contents are open from an index on, and reads its colon.
func (s *scanner) openKey(key *yaml.Node, from int) bool {
	keys := s.open[from:]
	if len(key.Value) > maxSubsetKeyLen || len(keys) >= 2*maxSubsetKeys || findKey(keys, key.Value) >= 0 {
		return false
	}
	s.at++
	s.open = append(s.open, key)
	return true
}

// blockValue reads the value of a key in a mapping with an indent, and goes to the next line.
func (s *scanner) blockValue(indent, depth int) *yaml.Node {
	colon := s.at
	s.skipSpaces()
	if s.peek() != '\n' {
		return s.lineValue(false, indent, depth)
	}
	s.at = colon
	null := s.node(yaml.ScalarNode, 0)
	s.skipBreaks()
	switch {
	case s.isItem() && s.indent() >= indent:
		return s.blockList(s.indent(), depth)
	case s.indent() <= indent:
		return null
	}
	return s.lineValue(true, indent, depth)
}

// isItem reports whether an item of a block list is next.
func (s *scanner) isItem() bool { return s.peek() == '-' && s.text[s.at+1] == ' ' }

// blockList reads the lines of a list, from its first dash to a line that is not an item of it.
func (s *scanner) blockList(indent, depth int) *yaml.Node {
	n, from := s.node(yaml.SequenceNode, 0), len(s.open)
	for depth < MaxDepth {
		s.at++
		s.skipSpaces()
		item := s.lineValue(true, indent, depth+1)
		if item == nil || s.indent() > indent {
			return nil
		}
		s.open = append(s.open, item)
		if s.indent() < indent || !s.isItem() {
			return s.closed(n, from)
		}
	}
	return nil
}

// lineValue reads a value of a mapping or a list with an indent, and goes to the next line. The value can be a mapping
// in block style where nothing but dashes is before it in the line.
func (s *scanner) lineValue(canBeMap bool, indent, depth int) *yaml.Node {
	if c := s.peek(); c == '|' || c == '>' {
		return s.blockText(indent)
	}
	column := s.indent()
	n := s.flowValue(false, depth)
	if n != nil && n.Kind == yaml.ScalarNode && canBeMap && s.isColon(s.at) {
		return s.blockMap(n, column, depth)
	}
	line := s.line
	if s.skipBreaks(); s.line == line {
		return nil
	}
	return n
}

// flowValue reads a value that is not in block style; at the depth MaxDepth it is a scalar. A plain scalar in a
// collection in flow style ends before more characters than elsewhere.
func (s *scanner) flowValue(inFlow bool, depth int) *yaml.Node {
	switch s.peek() {
	case '[':
		return s.flow(yaml.SequenceNode, ']', depth)
	case '{':
		return s.flow(yaml.MappingNode, '}', depth)
	case '"', '\'':
		return s.quoted()
	}
	return s.plain(inFlow)
}

// flow reads a list in brackets or a mapping in braces, in one line or in several.
func (s *scanner) flow(kind yaml.Kind, end byte, depth int) *yaml.Node {
	if depth >= MaxDepth {
		return nil
	}
	n, from := s.node(kind, yaml.FlowStyle), len(s.open)
	s.at++
	for s.skipBreaks(); s.peek() != end; s.skipBreaks() {
		if len(s.open) > from {
			if s.peek() != ',' {
				return nil
			}
			s.at++
			s.skipBreaks()
		}
		if kind == yaml.MappingNode {
			key := s.flowValue(true, MaxDepth)
			if key == nil || s.peek() != ':' || !s.openKey(key, from) {
				return nil
			}
			s.skipBreaks()
		}
		value := s.flowValue(true, depth+1)
		if value == nil {
			return nil
		}
		s.open = append(s.open, value)
	}
	s.at++
	return s.closed(n, from)
}

// plain reads a plain scalar in one line. What ends it is not read, and is refused later if it is not in the subset. A
// scalar can begin with some more characters in the library, depending on what follows them.
func (s *scanner) plain(inFlow bool) *yaml.Node {
	if c := s.peek(); c <= ' ' || strings.IndexByte("-?:,[]{}#&*!|>'\"%@`.<", c) >= 0 {
		return nil
	}
	n, end := s.node(yaml.ScalarNode, 0), s.at
	for c := s.text[end]; c != '\n' && !s.isColon(end) && (c != '#' || s.text[end-1] != ' '); c = s.text[end] {
		if inFlow && strings.IndexByte(",?[]{}", c) >= 0 {
			break
		}
		end++
	}
	n.Value = strings.TrimRight(s.text[s.at:end], " ")
	s.at += len(n.Value)
	return n
}

var subsetEscapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`, `\n`, "\n")

// quoted reads a text in quotes that ends in the same line.
func (s *scanner) quoted() *yaml.Node {
	quote, from := s.peek(), s.at+1
	n := s.node(yaml.ScalarNode, yaml.DoubleQuotedStyle)
	for s.at++; s.text[s.at] != quote || quote == '\'' && s.text[s.at+1] == quote; s.at++ {
		switch c := s.text[s.at]; {
		case c == '\n':
			return nil
		case c == quote:
			s.at++
		case c == '\\' && quote == '"':
			if s.at++; strings.IndexByte(`\"'n`, s.text[s.at]) < 0 {
				return nil
			}
		}
	}
	n.Value = s.text[from:s.at]
	s.at++
	if quote == '\'' {
		n.Style, n.Value = yaml.SingleQuotedStyle, strings.ReplaceAll(n.Value, "''", "'")
	} else if strings.Contains(n.Value, `\`) {
		n.Value = subsetEscapes.Replace(n.Value)
	}
	return n
}

// blockText reads a literal or folded text that begins with |, |-, > or >-.
func (s *scanner) blockText(indent int) *yaml.Node {
	n, lineBreak := s.node(yaml.ScalarNode, yaml.LiteralStyle), "\n"
	header := s.restOfLine()
	if header[0] == '>' {
		n.Style, lineBreak = yaml.FoldedStyle, " "
	}
	if header[1:] != "" && header[1:] != "-" {
		return nil
	}
	var text strings.Builder
	width, join := 0, "" // the indent of the text, and what is between its last line and the next
	for s.startLine(); s.at < len(s.text); s.startLine() {
		s.skipSpaces()
		in, isEmpty := s.indent(), s.peek() == '\n'
		if isEmpty && in == 0 && width > 0 {
			join = strings.TrimLeft(join, " ") + "\n"
			continue
		}
		if !isEmpty && in < width {
			break
		}
		if width == 0 {
			width = in
		}
		if isEmpty || width <= indent || n.Style == yaml.FoldedStyle && in > width {
			return nil
		}
		s.at = s.lineStart + width
		text.WriteString(join + s.restOfLine())
		join = lineBreak
	}
	if width == 0 {
		return nil
	}
	if header[1:] == "" {
		text.WriteByte('\n')
	}
	n.Value = text.String()
	return n
}

// restOfLine reads what is left of a line.
func (s *scanner) restOfLine() string {
	rest := s.text[s.at:]
	rest = rest[:strings.IndexByte(rest, '\n')]
	s.at += len(rest)
	return rest
}
