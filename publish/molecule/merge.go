package molecule

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ownKeys are the top-level keys of a card that pannier writes. They are never kept of the registered card, even if our
// card lacks one; for url see [merge].
var ownKeys = []string{"name", "description", "version", "url", "skills", "capabilities"}

// appendMerged appends our card, followed by what is kept of the registered one, sorted: the top-level keys that pannier does
// not write, and the url if ours has none. Values that a database or a peer could choke on are not kept. With a limit
// that is not 0, the largest of them are dropped until the card has no more bytes than that, and their keys are
// returned, sorted. A card that is not an object is appended as it is.
func appendMerged(text []byte, ours, registered parsedCard, limit int) (merged []byte, dropped []string, hasURL bool) {
	if ours.members == nil {
		return append(text, ours.text...), nil, false
	}
	own := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(ours.text), []byte("}")), " \t\r\n")
	theirs := membersBeside(ours.members, registered.members)
	if limit > 0 {
		dropped = dropLargest(theirs, limit-len(own)-len("}"))
	}
	size := len(own) + len("}}")
	for _, member := range theirs {
		size += len(",") + len(member)
	}
	merged = append(slices.Grow(text, size), own...)
	first := len(ours.members) == 0
	for _, key := range slices.Sorted(maps.Keys(theirs)) {
		if !first {
			merged = append(merged, ',')
		}
		merged, first = append(merged, theirs[key]...), false
	}
	_, inOurs := ours.members["url"]
	_, kept := theirs["url"]
	return append(merged, '}'), dropped, inOurs || kept
}

func membersBeside(ours, registered map[string]json.RawMessage) map[string][]byte {
	kept := map[string][]byte{}
	for key, value := range registered {
		if _, has := ours[key]; has || key != "url" && slices.Contains(ownKeys, key) {
			continue
		}
		if text, ok := decode(value).(string); key == "url" && (!ok || strings.TrimSpace(text) == "") {
			continue
		}
		if member, ok := memberOf(key, value); ok {
			kept[key] = member
		}
	}
	return kept
}

// dropLargest deletes the largest members until the others have at most size bytes, and returns their keys, sorted.
func dropLargest(members map[string][]byte, size int) (dropped []string) {
	for _, member := range members {
		size -= len(member) + len(",")
	}
	keys := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(members[b]), len(members[a])), cmp.Compare(a, b))
	})
	for _, key := range keys {
		if size >= 0 {
			break
		}
		size += len(members[key]) + len(",")
		delete(members, key)
		dropped = append(dropped, key)
	}
	slices.Sort(dropped)
	return dropped
}

// memberOf encodes a member of an object again, which replaces halves of surrogate pairs and invalid UTF-8. It refuses
// one with a NUL.
func memberOf(key string, value json.RawMessage) ([]byte, bool) {
	v := decode(value)
	if hasNUL(key) || hasNUL(v) {
		return nil, false
	}
	member, err := json.Marshal(map[string]any{key: v})
	if err != nil {
		return nil, false
	}
	return member[1 : len(member)-1], true
}

func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		return slices.ContainsFunc(v, hasNUL)
	case map[string]any:
		for key, member := range v {
			if hasNUL(key) || hasNUL(member) {
				return true
			}
		}
	}
	return false
}

// holds reports whether a registered card has each top-level key of ours with an equal value. Other keys are not
// compared: their writers may change them at any time, and a push for that would make two writers answer each other for
// ever.
func holds(registered, own json.RawMessage) bool { return parseCard(registered).holds(parseCard(own)) }

func (c parsedCard) holds(own parsedCard) bool {
	if c.members == nil || own.members == nil {
		return equal(decode(c.text), decode(own.text))
	}
	return differingKey(c.members, own.members) == ""
}

// differingKey returns the first top-level key of ours that the registered card lacks or has with another value, or "". Equal
// bytes are not decoded: lists of skills are long.
func differingKey(theirs, ours map[string]json.RawMessage) string {
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		their, has := theirs[key]
		if !has || !bytes.Equal(their, ours[key]) && !equal(decode(their), decode(ours[key])) {
			return key
		}
	}
	return ""
}

// equal compares decoded values without the order of keys, which a database does not keep. Numbers are compared as they
// are written: our card has none.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case []any, map[string]any: // == would panic
		return false
	}
	return a == b
}

// decode returns the value of a text, with numbers as they are written; nil if it is not JSON.
func decode(text json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}
