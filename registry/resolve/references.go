package resolve

import (
	"regexp"
	"strings"
)

// The ways to refer to a skill in a text.
const (
	sigilCommand = "/skill:" // at the beginning of a line; what follows on it are arguments
	sigilAt      = "@skill:"
	sigilDollar  = "$"
)

// reference is one reference to a skill in a text.
type reference struct {
	sigil, slug, arguments string
}

var (
	command = regexp.MustCompile(`(?m)^[ \t]*/skill:([\pL\pN][\pL\pN_/.-]*)[ \t]*(.*?)\r?$`)
	mention = regexp.MustCompile("(?:^|[\\s(\\[{\"'`,;])(@skill:|\\$)([a-z0-9](?:[a-z0-9_/-]*[a-z0-9])?)")
)

// references returns the references in a text: first the commands, then the mentions, each in the order of the text.
func references(text string) []reference {
	if !strings.ContainsAny(text, "/@$") {
		return nil
	}
	var refs []reference
	for _, m := range command.FindAllStringSubmatch(text, -1) {
		refs = append(refs, reference{sigil: sigilCommand, slug: strings.TrimRight(m[1], "./-_"), arguments: m[2]})
	}
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		refs = append(refs, reference{sigil: m[1], slug: m[2]})
	}
	return refs
}
