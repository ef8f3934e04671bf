package yamldoc

import (
	"bytes"
	"slices"
)

// span is a piece of a text: from an offset to before another.
type span struct{ from, to int }

// flowList is where the parts of a list in brackets are.
type flowList struct {
	open   int
	items  []span
	commas []int
	// pending is the item that is being read.
	pending span
	depth   int
}

// appendFlow puts an item behind the last one of a list in brackets.
func (e *edit) appendFlow(item string) bool {
	l, ok := e.flowParts()
	if !ok {
		return false
	}
	if len(l.items) == 0 {
		e.insert(l.open+1, item)
	} else {
		e.insert(l.items[len(l.items)-1].to, ", "+item)
	}
	return true
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
		e.cut(item, e.withBlanks(l.comma(index)))
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

// withBlanks returns a span with the blanks behind it.
func (e *edit) withBlanks(s span) span {
	for s.to < len(e.text) && (e.text[s.to] == ' ' || e.text[s.to] == '\t') {
		s.to++
	}
	return s
}

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
func (e *edit) flowParts() (flowList, bool) {
	l := flowList{open: e.offset(e.at.Value.Line(), e.at.Value.Column())}
	if l.open < 0 || l.open >= len(e.text) || e.text[l.open] != '[' {
		return l, false
	}
	l.pending = span{-1, -1}
	for at := l.open + 1; at < len(e.text); {
		next, closed := l.take(e.text, at)
		if closed {
			return l, len(l.items) == len(e.items)
		}
		at = next
	}
	return l, false
}

// take reads one part of the list, and returns where the next one begins, or that the list is closed.
func (l *flowList) take(text []byte, at int) (next int, closed bool) {
	switch c := text[at]; {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		return at + 1, false
	case c == '#' && isBlank(text[at-1]):
		return at + len(firstLine(text[at:])), false
	case (c == '"' || c == '\'') && l.begins(text, at):
		next = at + quoted(text[at:])
		l.note(at, next)
		return next, false
	case l.depth == 0 && c == ',':
		l.end()
		l.commas = append(l.commas, at)
		return at + 1, false
	case l.depth == 0 && c == ']':
		l.end()
		return at + 1, true
	case c == '[' || c == '{':
		l.depth++
	case c == ']' || c == '}':
		l.depth--
	}
	l.note(at, at+1)
	return at + 1, false
}

// begins reports whether a quote begins a text, and does not stand in the midst of one.
func (l *flowList) begins(text []byte, at int) bool {
	before := bytes.TrimRight(text[:at], " \t\r\n")
	return l.pending.from < 0 || bytes.IndexByte([]byte("[{,:"), before[len(before)-1]) >= 0
}

func (l *flowList) note(from, to int) {
	if l.pending.from < 0 {
		l.pending.from = from
	}
	l.pending.to = to
}

func (l *flowList) end() {
	if l.pending.from >= 0 {
		l.items = append(l.items, l.pending)
	}
	l.pending = span{-1, -1}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
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
