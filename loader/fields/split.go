package fields

import "strings"

// Split says how one text in place of a list is split. The zero value keeps it whole.
type Split struct {
	// at are the bytes between items; within open and close they are part of one.
	at, open, close string
}

var (
	// Commas are OpenClaw's lists in a text.
	Commas = Split{at: ",\n"}
	// Words keep `Bash(git add:*)` whole.
	Words = Split{at: ", \t\n", open: "(", close: ")"}
	// Globs keep `*.{ts,tsx}` whole.
	Globs = Split{at: ",\n", open: "{", close: "}"}
)

// Each calls add with every item of a text.
func (s Split) Each(text string, add func(string)) {
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
