package yamldoc

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
)

// Plain scalars as YAML 1.2 types them (YAML specification 1.2.2, core schema). A date, which that schema does not
// know, stays a text.
var (
	decimal = regexp.MustCompile(`^[-+]?[0-9]+$`)
	octal   = regexp.MustCompile(`^0o[0-7]+$`)
	hexa    = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	endless = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	float   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

func isNull(text string) bool {
	return text == "" || text == "~" || text == "null" || text == "Null" || text == "NULL"
}

// JSON returns the value as JSON with the types of YAML 1.2, the keys of mappings in source order. A Missing value is
// null.
func (v Value) JSON() json.RawMessage { return v.appendJSON(nil) }

func (v Value) appendJSON(b []byte) []byte {
	switch v.Kind() {
	case List:
		b = append(b, '[')
		first := true
		for item := range v.Items() {
			b = item.appendJSON(comma(b, &first))
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		first := true
		for pair := range v.Pairs() {
			b = appendString(comma(b, &first), pair.Key)
			b = pair.Value.appendJSON(append(b, ':'))
		}
		return append(b, '}')
	case Text:
		return v.appendScalar(b)
	}
	return append(b, "null"...)
}

func comma(b []byte, first *bool) []byte {
	if *first {
		*first = false
		return b
	}
	return append(b, ',')
}

func (v Value) appendScalar(b []byte) []byte {
	text := v.node.Value
	if !v.plain() {
		return appendString(b, text)
	}
	if value, ok := v.Bool(); ok {
		return strconv.AppendBool(b, value)
	}
	if number, ok := jsonNumber(text); ok {
		return append(b, number...)
	}
	return appendString(b, text)
}

// jsonNumber returns the JSON form of a plain scalar that is a number: null for one that JSON has no form for, as
// JSON.stringify has it.
func jsonNumber(text string) (string, bool) {
	switch {
	case octal.MatchString(text):
		return integer(text[2:], 8), true
	case hexa.MatchString(text):
		return integer(text[2:], 16), true
	case decimal.MatchString(text):
		return integer(text, 10), true
	case float.MatchString(text):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "null", true
		}
		number, err := json.Marshal(f)
		return string(number), err == nil
	case endless.MatchString(text):
		return "null", true
	}
	return "", false
}

// integer returns digits in the decimal form that JSON wants, however many there are.
func integer(digits string, base int) string {
	if n, err := strconv.ParseInt(digits, base, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	n, _ := new(big.Int).SetString(digits, base)
	return n.String()
}

func appendString(b []byte, text string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return append(b, `""`...) // a string always encodes
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}
