package resolve

import (
	"strconv"
	"strings"
	"unicode"

	"pannier"
)

// The bounds of chat platforms on what is registered with them.
const (
	maxName = 32  // bytes of a name
	maxLine = 100 // characters of a text beside it
)

// namelessCommand is the name where nothing is left of a name.
const namelessCommand = "skill"

// flatName returns a text as a name for a flat namespace: ASCII letters and digits in lower case, every other run one
// underscore, none at the ends, cut to the longest that chats take.
func flatName(text string) string {
	name := cutName(strings.ReplaceAll(pannier.Slugify(text), "-", "_"), maxName)
	if name == "" {
		return namelessCommand
	}
	return name
}

// cutName shortens a name, and leaves no underscore at its end.
func cutName(name string, length int) string {
	return strings.TrimRight(name[:min(len(name), length)], "_")
}

// giveNames gives every candidate a name of its own. The one that it wants goes to the first that wants it; the others
// get a number behind theirs. Since no number makes a name that others want, a new command moves only those that want its
// name, or have one that it wants with a number.
func giveNames(all []candidate) {
	n := names{taken: make(map[string]bool, len(all)), next: map[stem]int{}}
	for i := range all {
		if name := all[i].wanted(); !n.taken[name] {
			n.taken[name], all[i].name = true, name
		}
	}
	for i := range all {
		if all[i].name == "" {
			all[i].name = n.number(all[i].wanted())
		}
	}
}

// names are those that are given.
type names struct {
	taken map[string]bool
	// next is the first number that may be free, so that a thousand clashes do not each count from the start.
	next map[stem]int
}

// stem is what numbers of so many digits stand behind.
type stem struct {
	text   string
	digits int
}

// number returns a name with the first number behind it that makes one that is free, from 2.
func (n *names) number(name string) string {
	for low, high := 2, 10; ; low, high = high, high*10 {
		digits := len(strconv.Itoa(low))
		at := stem{cutName(name, maxName-1-digits), digits}
		for i := max(low, n.next[at]); i < high; i++ {
			n.next[at] = i + 1
			if numbered := at.text + "_" + strconv.Itoa(i); !n.taken[numbered] {
				n.taken[numbered] = true
				return numbered
			}
		}
	}
}

// oneLine folds a text to one line of bounded length, without what is not shown: it is for menus, and comes from a skill.
// It reads no more of the text than it shows.
func oneLine(text string) string {
	line := make([]rune, 0, min(len(text), maxLine+2))
	gap := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			gap = len(line) > 0
			continue
		}
		if r < ' ' || r >= 0x7f && pannier.IsHidden(r) {
			continue
		}
		if gap {
			line, gap = append(line, ' '), false
		}
		if line = append(line, r); len(line) > maxLine {
			return strings.TrimRight(string(line[:maxLine-1]), " ") + "…"
		}
	}
	return string(line)
}
