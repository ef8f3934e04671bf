// Package answer encodes what protocols answer with, and keeps what many clients ask for while the snapshot stays.
package answer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"pannier"
)

// Encode returns a value as JSON on one line.
func Encode(value any) ([]byte, error) {
	if text, ok := value.(json.RawMessage); ok {
		if len(text) == 0 {
			return []byte("null"), nil
		}
		return bytes.TrimRight(text, "\n"), nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return bytes.TrimRight(text.Bytes(), "\n"), nil
}

// Encoded is an encoded answer with its strong ETag, as a header has it; nil is none.
type Encoded struct {
	Body []byte
	Tag  []string
}

// New returns a body with its ETag.
func New(body []byte) Encoded {
	sum := sha256.Sum256(body)
	return Encoded{body, TagOf(sum[:])}
}

// Of returns a value as JSON on one line.
func Of(value any) (Encoded, error) {
	body, err := Encode(value)
	return New(append(body, '\n')), err
}

// TagOf returns the ETag of a body by its SHA-256.
func TagOf(sum []byte) []string { return []string{`"` + hex.EncodeToString(sum[:16]) + `"`} }

// Each returns what appends the JSON of a value that an entry has.
func Each(item func(*pannier.Entry) any) func([]byte, *pannier.Entry) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	return func(dst []byte, e *pannier.Entry) ([]byte, error) {
		text.Reset()
		err := enc.Encode(item(e))
		return append(dst, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
	}
}

// List returns the JSON of an object that ends with an empty list, with an item for each entry in that list. The
// items are encoded one by one: the text is in memory once, the values of the items are not.
func List(
	object any, entries []*pannier.Entry, appendItem func([]byte, *pannier.Entry) ([]byte, error),
) (Encoded, error) {
	body, err := Encode(object)
	if err != nil {
		return Encoded{}, err
	}
	const end, measured = "]}", 64
	body = bytes.TrimSuffix(body, []byte(end))
	head := len(body)
	for i, e := range entries {
		if i == measured { // the others are about as long
			body = slices.Grow(body, (len(body)-head)*(len(entries)-measured)/measured*17/16)
		}
		if body, err = appendItem(body, e); err != nil {
			return Encoded{}, fmt.Errorf("encode %s: %w", e.Slug, err)
		}
		body = append(body, ',')
	}
	return New(append(bytes.TrimSuffix(body, []byte(",")), end+"\n"...)), nil
}
