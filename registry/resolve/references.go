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
	sigilSlash   = "/" // at the beginning of a line with arguments
	sigilName    = "@"
	sigilWords   = "use" // "use the NAME skill"
)

// reference is one reference to a skill in a text.
type reference struct {
	sigil, slug, arguments string
}

// certain reports whether the text can mean nothing else than a skill, so that an unknown one is an error of the user.
func (r reference) certain() bool { return r.sigil == sigilCommand || r.sigil == sigilAt }

// Both take a whole word, so that `$pdfs` and `@skill:pdfTools` never mean the skill pdf.
var (
	command = regexp.MustCompile(`^[ \t]*/skill:(` + word + `)[,;:!?]*[ \t]*(.*?)[ \t]*\r?$`)
	slash   = regexp.MustCompile(`^[ \t]*/(` + plainWord + `)[,;!?]*(?:[ \t]+(.*?))?[ \t]*\r?$`)
	name    = regexp.MustCompile(`^` + word)
	inWords = regexp.MustCompile(`(?i)\b(?:use|using|run|invoke|apply|activate|load|follow|try)\s+(?:the\s+|my\s+|our\s+|your\s+|this\s+|that\s+)?["'` + "`" + `“‘]?([\pL\pN][^\n"“”]{0,80}?)["'` + "`" + `”’]?\s+skill\b`)
	negated = regexp.MustCompile(`(?i)(?:\b(?:not|never|without|cannot|stop|avoid|refuse|no need|did (?:you|it|they))|\b(?:do|does|did|wo|would|should|ca|could|must|need)n['’]?t)\s+(?:\pL+\s+){0,2}$`)
)

const (
	word      = `[\pL\pN][\pL\pM\pN_/.-]*`
	plainWord = `[\pL\pN][\pL\pM\pN_.-]*`
)

// before lists what a mention may stand behind, beside the beginning of the text.
const before = " \t\n\f\r([{\"'`,;"

// references returns the references in a text: first the commands, then the others, each in the order of the text.
func references(text string) []reference {
	var refs []reference
	if strings.ContainsAny(text, "/@$") {
		refs = append(commands(text), mentions(text)...)
	}
	if !strings.Contains(text, "kill") && !strings.Contains(text, "KILL") {
		return refs
	}
	for _, m := range inWords.FindAllStringSubmatchIndex(text, maxReferences) {
		if !negated.MatchString(text[max(0, m[0]-64):m[0]]) {
			refs = append(refs, reference{sigil: sigilWords, slug: text[m[2]:m[3]]})
		}
	}
	return refs
}

// maxReferences bounds the references of each kind.
const maxReferences = 256

func commands(text string) []reference {
	var refs []reference
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "/") {
			continue
		}
		if m := command.FindStringSubmatch(line); m != nil {
			refs = append(refs, reference{sigil: sigilCommand, slug: trim(m[1]), arguments: m[2]})
		} else if m := slash.FindStringSubmatch(line); m != nil {
			refs = append(refs, reference{sigil: sigilSlash, slug: trim(m[1]), arguments: m[2]})
		}
		if len(refs) == maxReferences {
			break
		}
	}
	return refs
}

func mentions(text string) []reference {
	var refs []reference
	for at := 0; len(refs) < maxReferences; {
		i := strings.IndexAny(text[at:], "@$/")
		if i < 0 {
			break
		}
		at += i + 1
		if r := mentionAt(text, at-1); r.slug != "" && !r.ordinary() {
			refs = append(refs, r)
		}
	}
	return refs
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
	// A name behind a mark that means other things too: the beginning of a path, of an address, or of a command of another kind.
	if at > 0 && !unicode.IsSpace(rune(text[at-1])) {
		return reference{}
	}
	found := name.FindString(text[at+1:])
	rest := text[at+1+len(found):]
	if strings.Contains(found, "/") || strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, ": ") && rest != ":" || strings.HasPrefix(rest, "@") {
		return reference{}
	}
	return reference{sigil: text[at : at+1], slug: trim(found)}
}

// trim drops what may end a sentence right behind a name.
func trim(name string) string { return strings.TrimRight(name, "./-_") }

// ordinary reports whether a dollar means what it means elsewhere: a variable such as `$HOME`, a sum such as `$5`.
func (r reference) ordinary() bool {
	return r.sigil == sigilDollar &&
		(strings.ContainsFunc(r.slug, unicode.IsUpper) || !strings.ContainsFunc(r.slug, unicode.IsLetter))
}

// The ways to mention a skill without choosing it.
var (
	quoted  = regexp.MustCompile("`([^`\n]{1,80})`")
	linked  = regexp.MustCompile(`\[\[([^\]\n]{1,80})\]\]`)
	skilled = regexp.MustCompile(`(?i)\bskill\s+(?:"([^"\n]{1,80})"|“([^”\n]{1,80})”|'([^'\n]{1,80})'|(` + plainWord + `))`)
)

// mentioned returns the names that a text mentions, in no order.
func mentioned(text string) (names []string) {
	add := func(expression *regexp.Regexp) {
		for _, m := range expression.FindAllStringSubmatch(text, maxReferences) {
			names = append(names, trim(strings.Join(m[1:], "")))
		}
	}
	if strings.Contains(text, "`") {
		add(quoted)
	}
	if strings.Contains(text, "[[") {
		add(linked)
	}
	if strings.Contains(text, "kill") || strings.Contains(text, "KILL") {
		add(skilled)
	}
	return names
}
