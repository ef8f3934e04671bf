package resolve

import (
	"regexp"
	"strings"
	"unicode"
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

// Both take a whole word, so that `$pdfs` and `@skill:pdfTools` never mean the skill pdf.
var (
	command = regexp.MustCompile(`(?m)^[ \t]*/skill:(` + word + `)[,;:!?]*[ \t]*(.*?)[ \t]*\r?$`)
	mention = regexp.MustCompile("(?:^|[\\s(\\[{\"'`,;])(@skill:|\\$)(" + word + ")")
)

const word = `[\pL\pN][\pL\pM\pN_/.-]*`

// references returns the references in a text: first the commands, then the mentions, each in the order of the text.
func references(text string) []reference {
	if !strings.ContainsAny(text, "/@$") {
		return nil
	}
	var refs []reference
	for _, m := range command.FindAllStringSubmatch(text, -1) {
		refs = append(refs, reference{sigil: sigilCommand, slug: trim(m[1]), arguments: m[2]})
	}
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if ref := (reference{sigil: m[1], slug: trim(m[2])}); !ref.ordinary() {
			refs = append(refs, ref)
		}
	}
	return refs
}

// trim drops what may end a sentence right behind a name.
func trim(name string) string { return strings.TrimRight(name, "./-_") }

// ordinary reports whether a dollar means what it means elsewhere: a variable such as `$HOME`, a sum such as `$5`.
func (r reference) ordinary() bool {
	return r.sigil == sigilDollar &&
		(strings.ContainsFunc(r.slug, unicode.IsUpper) || !strings.ContainsFunc(r.slug, unicode.IsLetter))
}
