package pytool

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxDigits bounds the whole numbers that are given as defaults.
const maxDigits = 64

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

// number returns a number of Python as one of JSON, a whole one as a whole one.
func number(text string) (json.RawMessage, bool) {
	sign := ""
	if text[0] == '-' || text[0] == '+' {
		sign, text = strings.TrimPrefix(text[:1], "+"), text[1:]
	}
	lower := strings.ToLower(text)
	based := len(lower) > 1 && lower[0] == '0' && strings.IndexByte("xob", lower[1]) >= 0
	if len(text) <= maxDigits && (based || !strings.ContainsAny(lower, ".ej")) {
		// Base 0 reads prefixes and underscores as Python does, but for `017`, which neither Python nor JSON has.
		whole, ok := new(big.Int).SetString(text, 0)
		if !ok || (!based && len(strings.Trim(text, "0_")) > 0 && text[0] == '0') {
			return nil, false
		}
		if whole.Sign() == 0 {
			sign = ""
		}
		return json.RawMessage(sign + whole.String()), true
	}
	if based || !strings.ContainsAny(lower, ".e") || strings.ContainsAny(lower, "xpinf") {
		return nil, false
	}
	return float(sign, text)
}

func float(sign, text string) (json.RawMessage, bool) {
	digits := strings.ReplaceAll(text, "_", "")
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(value, 0) {
		return nil, false
	}
	short, err := json.Marshal(value)
	if err != nil {
		return nil, false
	}
	if !bytes.ContainsAny(short, ".e") {
		short = append(short, ".0"...)
	}
	return append(json.RawMessage(sign), short...), true
}
