package config

import (
	"slices"
	"strconv"
	"strings"

	"pannier/internal/yamldoc"
)

// maxKeyDepth bounds the parts of a dotted key.
const maxKeyDepth = 8

// keysOf returns the dotted keys of a mapping whose values are something, sorted. A key that holds a dot itself is left
// out: no skill could ask for it.
func keysOf(doc yamldoc.Value) []string {
	keys := appendKeys(nil, "", doc, 1)
	slices.Sort(keys)
	return slices.Compact(keys)
}

func appendKeys(keys []string, prefix string, m yamldoc.Value, depth int) []string {
	for pair := range m.Pairs() {
		if strings.Contains(pair.Key, ".") || !something(pair.Value) {
			continue
		}
		key := prefix + pair.Key
		keys = append(keys, key)
		if depth < maxKeyDepth {
			keys = appendKeys(keys, key+".", pair.Value, depth+1)
		}
	}
	return keys
}

// something reports whether a value is what a program would take for true.
func something(v yamldoc.Value) bool {
	switch v.Kind() {
	case yamldoc.List:
		for range v.Items() {
			return true
		}
		return false
	case yamldoc.Map:
		for range v.Pairs() {
			return true
		}
		return false
	case yamldoc.Text:
		return truthy(v)
	}
	return false
}

func truthy(v yamldoc.Value) bool {
	text, _ := v.Text()
	if v.Quoted() {
		return text != ""
	}
	switch strings.ToLower(text) {
	case "false", "no", "off":
		return false
	}
	number, err := strconv.ParseFloat(text, 64)
	return err != nil || number != 0
}
