package config

import "strings"

// suggestKey returns the hint for an unknown key of the settings file.
func suggestKey(key string) string {
	section, rest, nested := strings.Cut(key, ".")
	if _, known := settingOf(key); known {
		return "write " + rest + " on a line of its own, indented below " + section + ":"
	}
	if !nested {
		section, rest = "", key
	}
	return didYouMean(section, rest)
}

// didYouMean suggests a key of a section, or any key where there is none. The name of the section is left out of the
// comparison, since it would make everything in it look near.
func didYouMean(section, key string) string {
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
	if near, ok := nearest(key, candidates); ok {
		return "did you mean " + prefix + near + "?"
	}
	return listHint
}

// suggestVariable returns the hint for an unknown PANNIER_* variable.
func suggestVariable(name string) string {
	// The prefix is the same for all and would make everything look near.
	bare := func(s *setting) string { return strings.TrimPrefix(s.variable(), variablePrefix) }
	near, ok := nearest(strings.TrimPrefix(name, variablePrefix), names(bare))
	if ok {
		return "did you mean " + variablePrefix + near + "?"
	}
	return listHint
}

const listHint = "pannier help settings lists every setting"

// names returns a name of every setting, and that of the settings file.
func names(of func(*setting) string) []string {
	all := []string{of(&configFile)}
	for i := range table {
		all = append(all, of(&table[i]))
	}
	return all
}

// nearest returns the name that text most likely means: one that text is the end of, else the one
// with the fewest typing errors, if they are few.
func nearest(text string, names []string) (string, bool) {
	best, least := "", max(1, len(text)/3)+1
	for _, name := range names {
		if strings.HasSuffix(name, "."+text) || strings.HasSuffix(name, "_"+text) {
			return name, true
		}
		if d := typingErrors(text, name); d < least {
			best, least = name, d
		}
	}
	return best, best != ""
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
