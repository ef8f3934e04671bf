package yamldoc

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// ErrLayout says that a list is written in a way in which it is not edited: by hand it can be.
var ErrLayout = errors.New("the list is written in a way that is not edited by a program")

// AppendItem returns text with one more item, a text, at the end of the list that stands under a key of the mapping. It is
// put down as the item before it is, and every byte that was there stays. The error is a [*Fault] where the text cannot be
// read, and [ErrLayout] where there is no list under the key, or one that is written too strangely.
func AppendItem(text []byte, key, item string) ([]byte, error) {
	e, err := newEdit(text, key)
	if err != nil {
		return nil, err
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"
	added := item // plain where every reader takes that for a text
	if item == "" || strings.Trim(item, plain) != "" || strings.IndexByte("-_./", item[0]) >= 0 || isNull(item) || maybeTyped(item) {
		added = string(appendString(nil, item))
	}
	if !e.at.Value.Flow() {
		return e.result(e.appendBlock(added), append(e.meanings(), appendText(nil, item)))
	}
	l, ok := e.flowParts()
	switch {
	case !ok:
	case len(l.items) == 0:
		e.insert(l.open+1, added)
	default:
		e.insert(l.items[len(l.items)-1].to, ", "+added)
	}
	return e.result(ok, append(e.meanings(), appendText(nil, item)))
}

// RemoveItem returns text without the item that has an index, from 0, in the list that stands under a key of the mapping. A
// comment on the lines of the item goes with it, and every other byte stays; a list that had nothing else becomes `[]`. The
// errors are those of [AppendItem].
func RemoveItem(text []byte, key string, index int) ([]byte, error) {
	e, err := newEdit(text, key)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(e.items) {
		return nil, ErrLayout
	}
	remove := e.removeBlock
	if e.at.Value.Flow() {
		remove = e.removeFlow
	}
	return e.result(remove(index), slices.Delete(e.meanings(), index, index+1))
}

// edit is one change of one list.
type edit struct {
	text  []byte
	lines []int // where each line begins, and the end of the text
	key   string
	doc   Value
	at    Pair // of the list
	items []*yaml.Node
	out   []byte
}

func newEdit(text []byte, key string) (*edit, error) {
	doc, repeated, err := Parse(text)
	if err != nil {
		return nil, err
	}
	e := &edit{text: text, key: key, doc: doc, lines: []int{0}}
	for i, c := range text {
		if c == '\n' && i+1 < len(text) {
			e.lines = append(e.lines, i+1)
		}
	}
	e.lines = append(e.lines, len(text))
	for pair := range doc.Pairs() {
		if pair.Key == key {
			e.at = pair
		}
	}
	// There are line breaks that the library counts and an editor may not (YAML 1.1, 4.2.4). A byte order mark in the midst of
	// the text is as strange.
	known := bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	if e.at.Value.Kind() != List || len(repeated) > 0 || bytes.ContainsAny(known, "\r\u0085\u2028\u2029\ufeff") {
		return nil, ErrLayout
	}
	e.items = e.at.Value.node.Content
	return e, nil
}

// line returns a line without its end, which comes separately; lines count from 1.
func (e *edit) line(number int) (line, end []byte) {
	if number < 1 || number >= len(e.lines) {
		return nil, nil
	}
	whole := e.text[e.lines[number-1]:e.lines[number]]
	line = bytes.TrimRight(whole, "\r\n")
	return line, whole[len(line):]
}

// offset returns where a line and a column are in the text, -1 where there is no such place.
func (e *edit) offset(line, column int) int {
	text, _ := e.line(line)
	at := e.lines[max(0, min(line, len(e.lines))-1)]
	if rest, ok := bytes.CutPrefix(text, []byte("\ufeff")); ok && line == 1 {
		at, text = at+len("\ufeff"), rest
	}
	for range column - 1 {
		_, size := utf8.DecodeRune(text)
		if size == 0 {
			return -1
		}
		at, text = at+size, text[size:]
	}
	return at
}

func (e *edit) meanings() [][]byte {
	var all [][]byte
	for item := range e.at.Value.Items() {
		all = append(all, item.AppendMeaning(nil))
	}
	return all
}

// insert puts a text at an offset.
func (e *edit) insert(at int, text string) {
	e.out = slices.Concat(e.text[:at], []byte(text), e.text[at:])
}

// result returns what came out, if it says what it is meant to and everything else as before.
func (e *edit) result(ok bool, want [][]byte) ([]byte, error) {
	if !ok {
		return nil, ErrLayout
	}
	doc, repeated, err := Parse(e.out)
	if err != nil || len(repeated) > 0 {
		return nil, ErrLayout
	}
	after := edit{at: Pair{Value: doc.Get(e.key)}}
	if after.at.Value.Kind() != List || !slices.EqualFunc(after.meanings(), want, bytes.Equal) {
		return nil, ErrLayout
	}
	if !slices.Equal(e.others(e.doc), e.others(doc)) {
		return nil, ErrLayout
	}
	return e.out, nil
}

// others returns what every other key means.
func (e *edit) others(doc Value) []string {
	var all []string
	for pair := range doc.Pairs() {
		if pair.Key != e.key {
			all = append(all, pair.Key, string(pair.Value.AppendMeaning(nil)))
		} else {
			all = append(all, pair.Key, "")
		}
	}
	return all
}
