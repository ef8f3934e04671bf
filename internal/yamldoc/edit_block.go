package yamldoc

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// appendBlock puts a line behind the last item of a list whose items begin with a dash.
func (e *edit) appendBlock(item string) bool {
	last := len(e.items) - 1
	dash := e.dashLine(last)
	if dash == 0 {
		return false
	}
	line, _ := e.line(dash)
	indent := line[:e.offset(dash, e.at.Value.Column())-e.lines[dash-1]]
	if len(bytes.Trim(indent, " ")) > 0 {
		return false
	}
	number := e.lastLine(last, dash)
	_, end := e.line(number)
	behind := line[len(indent)+1:]
	gap := behind[:len(behind)-len(bytes.TrimLeft(behind, " "))]
	if len(gap) == 0 || len(gap) == len(behind) {
		gap = []byte(" ")
	}
	added := string(indent) + "-" + string(gap) + item
	if len(end) > 0 {
		e.insert(e.lines[number], added+string(end))
		return true
	}
	// The last line of the text has no end, and does not get one.
	usual := "\n"
	if _, end := e.line(1); len(end) > 0 {
		usual = string(end)
	}
	e.insert(e.lines[number], usual+added)
	return true
}

// removeBlock takes out the lines of an item.
func (e *edit) removeBlock(index int) bool {
	dash := e.dashLine(index)
	if dash == 0 || multiline(e.items[index]) {
		return false
	}
	from, to := e.lines[dash-1], e.lines[e.lastLine(index, dash)]
	if len(e.items) > 1 {
		e.out = append(append([]byte{}, e.text[:from]...), e.text[to:]...)
		return true
	}
	colon := e.colon()
	if colon < 0 || colon > from {
		return false
	}
	e.out = append(append(append([]byte{}, e.text[:colon]...), " []"...), e.text[colon:from]...)
	e.out = append(e.out, e.text[to:]...)
	return true
}

// colon returns the offset behind the colon of the key, or -1.
func (e *edit) colon() int {
	at := e.offset(e.at.Line, e.at.Column)
	if at < 0 {
		return -1
	}
	rest := e.text[at:]
	for _, key := range []string{e.key, `"` + e.key + `"`, "'" + e.key + "'"} {
		if behind, ok := bytes.CutPrefix(rest, []byte(key)); ok {
			if behind = bytes.TrimLeft(behind, " "); len(behind) > 0 && behind[0] == ':' {
				return len(e.text) - len(behind) + 1
			}
		}
	}
	return -1
}

// dashLine returns the line that the dash of an item is in, or 0. The item itself may begin further below.
func (e *edit) dashLine(index int) int {
	column := e.at.Value.Column()
	first := e.at.Value.Line()
	if index > 0 {
		first = e.items[index-1].Line + 1
	}
	for number := e.items[index].Line; number >= first; number-- {
		line, _ := e.line(number)
		at := e.offset(number, column) - e.lines[number-1]
		if at >= 0 && at < len(line) && line[at] == '-' && len(bytes.Trim(line[:at], " ")) == 0 && (at+1 == len(line) || line[at+1] == ' ') {
			return number
		}
	}
	return 0
}

// lastLine returns the last line of an item: that of the dash, or the last that is indented deeper and no comment.
func (e *edit) lastLine(index, dash int) int {
	last := dash
	for number := dash + 1; number < len(e.lines); number++ {
		line, _ := e.line(number)
		content := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		if len(line)-len(content) < e.at.Value.Column() {
			break
		}
		if content[0] != '#' || multiline(e.items[index]) {
			last = number
		}
	}
	return last
}

// multiline reports whether there is a block text in a value, in which a line that looks like a comment is none.
func multiline(n *yaml.Node) bool {
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return true
	}
	for _, child := range n.Content {
		if multiline(child) {
			return true
		}
	}
	return false
}
