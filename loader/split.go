package loader

import "strings"

// splitting says where a text that stands in the place of a list is split.
type splitting struct {
	// at are the bytes between items; within open and its counterpart they are part of one.
	at, open, close string
}

var (
	whole  = splitting{}                                    // one item: prose has commas of its own
	commas = splitting{at: ",\n"}                           // OpenClaw's lists in a text
	words  = splitting{at: ", \t\n", open: "(", close: ")"} // so that `Bash(git add:*)` is one
	globs  = splitting{at: ",\n", open: "{", close: "}"}    // so that `*.{ts,tsx}` is one
)

// each calls add with every item of a text.
func (s splitting) each(text string, add func(string)) {
	depth, from := 0, 0
	for i := range len(text) {
		switch b := text[i : i+1]; {
		case s.open != "" && b == s.open:
			depth++
		case s.close != "" && b == s.close:
			depth = max(0, depth-1)
		case depth == 0 && strings.Contains(s.at, b):
			add(text[from:i])
			from = i + 1
		}
	}
	add(text[from:])
}
