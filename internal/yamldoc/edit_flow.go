package yamldoc

import (
	"bytes"
	"slices"
	"strings"
)

// span is a piece of a text: from an offset to before another.
type span struct{ from, to int }

// flowList is where the parts of a list in brackets are.
type flowList struct {
	open   int
	items  []span
	commas []int
}

// removeFlow takes an item out of a list in brackets, with the comma that is behind it, or else before it.
func (e *edit) removeFlow(index int) bool {
	l, ok := e.flowParts()
	if !ok {
		return false
	}
	item := l.items[index]
	switch {
	case index+1 < len(l.items):
		comma := l.comma(index)
		comma.to = len(e.text) - len(bytes.TrimLeft(e.text[comma.to:], " \t"))
		e.cut(item, comma)
	case index < len(l.commas):
		e.cut(item, l.comma(index))
	case index > 0:
		e.cut(l.comma(index-1), item)
	default:
		e.cut(item, span{item.to, item.to})
	}
	return true
}

func (l *flowList) comma(index int) span { return span{l.commas[index], l.commas[index] + 1} }

// cut removes two spans, with the blanks between them if there is nothing else. A line of which nothing is left goes too.
func (e *edit) cut(first, second span) {
	e.out = slices.Clone(e.text)
	if len(bytes.Trim(e.text[first.to:second.from], " \t")) == 0 {
		first, second = span{first.from, second.to}, span{second.to, second.to}
	}
	for _, s := range []span{second, first} {
		s = e.widened(s)
		e.out = slices.Delete(e.out, s.from, s.to)
	}
}

// widened returns a span with the blanks around it and the end of its line, if that is all that the line has.
func (e *edit) widened(s span) span {
	if s.from == s.to {
		return s
	}
	from, to := s.from, s.to
	for from > 0 && (e.text[from-1] == ' ' || e.text[from-1] == '\t') {
		from--
	}
	rest := e.text[to:]
	blank := len(rest) - len(bytes.TrimLeft(rest, " \t\r"))
	if (from == 0 || e.text[from-1] == '\n') && to+blank < len(e.text) && e.text[to+blank] == '\n' {
		return span{from, to + blank + 1}
	}
	return s
}

// flowParts finds the items and commas of a list in brackets. It fails where it comes to another number of items than the
// library.
func (e *edit) flowParts() (l flowList, ok bool) {
	l.open = e.offset(e.at.Value.Line(), e.at.Value.Column())
	if l.open < 0 || l.open >= len(e.text) || e.text[l.open] != '[' {
		return l, false
	}
	const blanks = " \t\r\n"
	item, depth := span{-1, -1}, 0 // the item that is being read
	for at := l.open + 1; at < len(e.text); {
		from := at
		at++
		switch c := e.text[from]; {
		case strings.IndexByte(blanks, c) >= 0:
			continue
		case c == '#' && strings.IndexByte(blanks, e.text[from-1]) >= 0:
			comment, _, _ := bytes.Cut(e.text[from:], []byte("\n"))
			at = from + len(comment)
			continue
		case c == '"' || c == '\'':
			before := bytes.TrimRight(e.text[:from], blanks)
			if item.from < 0 || strings.IndexByte("[{,:", before[len(before)-1]) >= 0 { // not in the midst of a text
				at = from + quoted(e.text[from:])
			}
		case depth == 0 && (c == ',' || c == ']'):
			if item.from >= 0 {
				l.items = append(l.items, item)
			}
			if c == ']' {
				return l, len(l.items) == len(e.items)
			}
			l.commas, item = append(l.commas, from), span{-1, -1}
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if item.from < 0 {
			item.from = from
		}
		item.to = at
	}
	return l, false
}

// quoted returns the length of a text in quotes, with them.
func quoted(text []byte) int {
	for at := 1; at < len(text); at++ {
		switch {
		case text[0] == '"' && text[at] == '\\':
			at++
		case text[at] == text[0] && text[0] == '\'' && at+1 < len(text) && text[at+1] == '\'':
			at++
		case text[at] == text[0]:
			return at + 1
		}
	}
	return len(text)
}
