package scan

import (
	"context"
	"strings"

	"pannier"
)

// Text returns what is found in the text of one file.
func Text(path string, text []byte) []pannier.Finding {
	found, work := newFindings(Options{}), maxWork
	hits, all := searchFile(context.Background(), path, text, func() own { return ownOf(text) }, &work)
	found.addHits(path, hits)
	if !all {
		found.add("scan.bound.places", path, 0, "")
	}
	return found.sorted()
}

// CompileAll compiles every pattern and returns how many there are. It panics where one is not a regular expression.
func CompileAll() int {
	for _, p := range patterns {
		p()
	}
	return len(patterns)
}

// Keys returns one key of each probe, and the keys of each chain in order, with those of its last step again and again.
func Keys() []string {
	var keys []string
	for _, p := range append(append([]probe{}, secretProbes...), commandProbes...) {
		keys = append(keys, p.keys[0])
	}
	for _, c := range chains {
		var all []string
		for _, s := range c.steps {
			all = append(all, s.keys[0])
		}
		keys = append(keys, strings.Join(all, " "), all[0])
	}
	return keys
}

// Work returns how many units of work the search of a text takes, how many it may take, and whether all was searched.
func Work(path string, text []byte) (used, most int, all bool) {
	work := maxWork
	_, all = searchText(context.Background(), path, text, func() own { return own{} }, &work)
	return maxWork - work, textWork(text), all
}
