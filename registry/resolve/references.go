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
	command = regexp.MustCompile(`^[ \t]*/skill:(` + word + `)[,;:!?]*[ \t]*(.*?)[ \t]*\r?$`)
	name    = regexp.MustCompile(`^` + word)
)

const word = `[\pL\pN][\pL\pM\pN_/.-]*`

// before lists what a mention may stand behind, beside the beginning of the text.
const before = " \t\n\f\r([{\"'`,;"

// references returns the references in a text: first the commands, then the mentions, each in the order of the text.
func references(text string) []reference {
	if !strings.ContainsAny(text, "/@$") {
		return nil
	}
	return append(commands(text), mentions(text)...)
}

// commands asks the slow expression only about the lines that can be one.
func commands(text string) []reference {
	var refs []reference
	for {
		i := strings.Index(text, sigilCommand)
		if i < 0 {
			return refs
		}
		line, rest, _ := strings.Cut(text[strings.LastIndexByte(text[:i], '\n')+1:], "\n")
		if m := command.FindStringSubmatch(line); m != nil {
			refs = append(refs, reference{sigil: sigilCommand, slug: trim(m[1]), arguments: m[2]})
		}
		text = rest
	}
}

func mentions(text string) []reference {
	var refs []reference
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "@$")
		if i < 0 {
			return refs
		}
		at += i + 1
		if r := mentionAt(text, at-1); r.slug != "" && !r.ordinary() {
			refs = append(refs, r)
		}
	}
}

// mentionAt returns the mention whose mark is at an index, none where there is no slug.
func mentionAt(text string, at int) reference {
	if at > 0 && !strings.Contains(before, text[at-1:at]) {
		return reference{}
	}
	for _, sigil := range []string{sigilAt, sigilDollar} {
		if rest, ok := strings.CutPrefix(text[at:], sigil); ok {
			return reference{sigil: sigil, slug: trim(name.FindString(rest))}
		}
	}
	return reference{}
}

// trim drops what may end a sentence right behind a name.
func trim(name string) string { return strings.TrimRight(name, "./-_") }

// ordinary reports whether a dollar means what it means elsewhere: a variable such as `$HOME`, a sum such as `$5`.
func (r reference) ordinary() bool {
	return r.sigil == sigilDollar &&
		(strings.ContainsFunc(r.slug, unicode.IsUpper) || !strings.ContainsFunc(r.slug, unicode.IsLetter))
}
