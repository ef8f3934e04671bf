package yamldoc

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Entries returns the entries of the list under a key of the root, as they are written; that of a mapping stands under
// `name`. There is no list where the key is missing or says nothing. What is something else fails with [ErrLayout].
func Entries(text []byte, key string) (entries []string, listed bool, err error) {
	doc, _, err := Parse(text)
	if err != nil {
		return nil, false, err
	}
	list := doc.Get(key)
	switch list.Kind() {
	case Missing, Null:
		return nil, false, nil
	case Text, Map:
		if MeansAll(list) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("%w: it is %s, not a list", ErrLayout, list.Kind())
	}
	for item := range list.Items() {
		if item.Kind() == Map {
			item = item.Get("name")
		}
		entry, _ := item.Text()
		entries = append(entries, entry)
	}
	return entries, true, nil
}

// MeansAll reports whether a value in the place of a list of skills stands for all of them, as no list does.
func MeansAll(v Value) bool {
	text, _ := v.Text()
	text = strings.TrimSpace(text)
	return text == "all" || text == "*"
}

// IndexEntry returns which entry means a folder, -1 where none does. The ornaments of a shell do not count.
func IndexEntry(entries []string, folder string) int {
	return slices.IndexFunc(entries, func(entry string) bool {
		entry = strings.TrimSpace(entry)
		return entry != "" && path.Clean(entry) == folder
	})
}

// Enlist returns a text whose list, where it has one, names a folder. All other bytes stay.
func Enlist(text []byte, key, folder string) ([]byte, error) {
	entries, listed, err := Entries(text, key)
	if err != nil || !listed || IndexEntry(entries, folder) >= 0 {
		return text, err
	}
	return AppendItem(text, key, folder)
}

// Delist returns a text whose list has no entry that means a folder. All other bytes stay.
func Delist(text []byte, key, folder string) ([]byte, error) {
	for {
		entries, _, err := Entries(text, key)
		at := IndexEntry(entries, folder)
		if err != nil || at < 0 {
			return text, err
		}
		if text, err = RemoveItem(text, key, at); err != nil {
			return nil, err
		}
	}
}
