package config

import "strings"

const listHint = "pannier help settings lists every setting"

// suggestKey returns the hint for an unknown key of the settings file. In a section that exists only its keys are compared,
// without the name of the section: that would make everything in it look near.
func suggestKey(key string) string {
	section, rest, nested := strings.Cut(key, ".")
	if _, known := settingOf(key); known {
		return "write " + rest + " on a line of its own, indented below " + section + ":"
	}
	if !nested {
		section, rest = "", key
	}
	prefix := ""
	if isSection(section) {
		prefix = section + "."
	}
	var candidates []string
	for i := range table {
		if candidate, ok := strings.CutPrefix(table[i].key, prefix); ok {
			candidates = append(candidates, candidate)
		}
	}
	return suggest(rest, candidates, prefix, listHint)
}

// suggest returns a hint that names what text most likely means, after a prefix: the name that text is the end of, else the one
// with the fewest typing errors. If these are many, it returns another hint.
func suggest(text string, names []string, prefix, otherwise string) string {
	best, least := "", max(1, len(text)/3)+1
	for _, name := range names {
		if strings.HasSuffix(name, "."+text) || strings.HasSuffix(name, "_"+text) {
			best = name
			break
		}
		if d := typingErrors(text, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return otherwise
	}
	return "did you mean " + prefix + best + "?"
}

// typingErrors counts the letters that were left out, added, mistaken or swapped with the next between a and b (optimal
// string alignment distance).
func typingErrors(a, b string) int {
	const farApart = 1 << 10
	if max(len(a), len(b)) > farApart {
		return farApart
	}
	var before []int // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			mistaken := 1
			if a[i-1] == b[j-1] {
				mistaken = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+mistaken)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
