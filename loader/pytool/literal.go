package pytool

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object in the order in which it is told.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// set adds a member, or changes the one that is there.
func (o *object) set(key string, value json.RawMessage) {
	if i := slices.IndexFunc(*o, func(m member) bool { return m.key == key }); i >= 0 {
		(*o)[i].value = value
		return
	}
	*o = append(*o, member{key, value})
}

func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.key == key })
}

func (o object) json() json.RawMessage {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(m.key)...), ':'), m.value...)
	}
	return append(b, '}')
}

func array(items []json.RawMessage) json.RawMessage {
	return slices.Concat([]byte{'['}, bytes.Join(toBytes(items), []byte{','}), []byte{']'})
}

func toBytes(items []json.RawMessage) [][]byte {
	all := make([][]byte, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// quoted returns a text as JSON, `<` and `&` as they are.
func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text and a buffer do not fail
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// literal returns a value as JSON, if it is written out and JSON can hold it.
func (n node) literal() (json.RawMessage, bool) {
	switch n.kind {
	case nodeText:
		return quoted(n.text), true
	case nodeNumber:
		return number(n.text)
	case nodeName:
		word, ok := map[string]string{"True": "true", "False": "false", "None": "null"}[n.text]
		return json.RawMessage(word), ok
	case nodeList, nodeTuple:
		items := make([]json.RawMessage, len(n.items))
		for i, item := range n.items {
			var ok bool
			if items[i], ok = item.literal(); !ok {
				return nil, false
			}
		}
		return array(items), true
	case nodeDict:
		return n.literalDict()
	}
	return nil, false
}

func (n node) literalDict() (json.RawMessage, bool) {
	var o object
	seen := map[string]int{}
	for i := 0; i < len(n.items); i += 2 {
		value, ok := n.items[i+1].literal()
		if !ok || n.items[i].kind != nodeText {
			return nil, false
		}
		key := n.items[i].text
		if at, again := seen[key]; again {
			o[at].value = value
			continue
		}
		seen[key] = len(o)
		o = append(o, member{key, value})
	}
	return o.json(), true
}

// number returns a number of Python as one of JSON, if it is one and of usual size.
func number(text string) (json.RawMessage, bool) {
	digits := strings.TrimLeft(text, "+-")
	if len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' {
		return nil, false // Python has no such octal numbers
	}
	if whole, err := strconv.ParseInt(text, 0, 64); err == nil {
		return strconv.AppendInt(nil, whole, 10), true
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || math.IsInf(value, 0) || strings.ContainsAny(digits, "xX") || !strings.ContainsAny(digits, ".eE") {
		return nil, false
	}
	short, err := json.Marshal(value)
	return short, err == nil
}
