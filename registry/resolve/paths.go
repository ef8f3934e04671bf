package resolve

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"pannier"
)

// pathsOf returns the files that a turn is about, each once, as globs see them: those that it is handed, then the words of
// its text that look like one.
func pathsOf(t pannier.Turn) []string {
	project := clean(t.ProjectDir)
	var found []string
	seen := map[string]bool{}
	add := func(text string) {
		if len(text) > pannier.MaxPathBytes || !utf8.ValidString(text) {
			return
		}
		p := clean(text)
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(project, "/")+"/"); ok && project != "" && rest != "" {
			p = rest
		}
		if p != "" && !seen[p] {
			seen[p] = true
			found = append(found, p)
		}
	}
	for i := 0; i < len(t.Paths) && len(found) < pannier.MaxTurnPaths; i++ {
		add(t.Paths[i])
	}
	if !strings.ContainsAny(t.Text, `./\`) {
		return found
	}
	for word := range strings.FieldsSeq(t.Text) {
		if len(found) >= pannier.MaxTurnPaths {
			break
		}
		if p := pathWord(word); p != "" {
			add(p)
		}
	}
	return found
}

// clean returns a path with slashes and without detours, empty where there is none.
func clean(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return path.Clean(strings.ReplaceAll(text, `\`, "/"))
}

// pathWord returns the path that a word of a text is, empty where it is none.
func pathWord(word string) string {
	if len(word) > 2*pannier.MaxPathBytes {
		return ""
	}
	if flag, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(flag, "-") {
		word = value // --file=src/a.go
	}
	if i := strings.Index(word, "]("); i >= 0 {
		word = word[i+2:] // a link of Markdown
	}
	word = trimPunctuation(word)
	if isReference(word) || isAddress(word) {
		return ""
	}
	word = withoutPlace(strings.TrimPrefix(word, "@"))
	if !looksLikePath(strings.ReplaceAll(word, `\`, "/")) {
		return ""
	}
	return word
}

// isReference reports whether a word names a skill, or a variable.
func isReference(word string) bool {
	return strings.HasPrefix(word, sigilCommand) || strings.HasPrefix(word, sigilAt) || strings.HasPrefix(word, sigilDollar)
}

const (
	quotes   = "\"'`“”‘’„«»‹›「」『』《》<>|"
	pauses   = ",;:!?…。、，；：！？"
	brackets = "()[]{}（）【】"
)

// trimPunctuation strips quotes, brackets and the punctuation of a sentence from both ends of a word. A bracket that has its other
// half within the word is part of a name, such as `app/[id]/page.tsx`.
func trimPunctuation(word string) string {
	for range 8 { // more layers than this are no path
		before := word
		word = strings.TrimLeft(word, quotes+pauses)
		word = strings.TrimRight(word, quotes+pauses+".")
		word = unbracket(word)
		if word == before {
			break
		}
	}
	return word
}

// unbracket strips one pair of brackets around a word, or one half of which the other is not there.
func unbracket(word string) string {
	all := []rune(brackets)
	for i := 0; i < len(all); i += 2 {
		open, closing := string(all[i]), string(all[i+1])
		more := strings.Count(word, open) - strings.Count(word, closing)
		begins, ends := strings.HasPrefix(word, open), strings.HasSuffix(word, closing)
		if begins && (ends || more > 0) {
			word = word[len(open):]
		}
		if ends && (begins || more < 0) && word != "" {
			word = strings.TrimSuffix(word, closing)
		}
	}
	return word
}

// isAddress reports whether a word is an address of the web, of mail, or of a repository.
func isAddress(word string) bool {
	if strings.Contains(word, "://") || strings.HasPrefix(word, "//") {
		return true
	}
	if at := strings.IndexByte(word, '@'); at > 0 && (strings.Contains(word[at:], ":") || !strings.ContainsAny(word, `/\`)) {
		return true // git@host:repo, ann@example.com
	}
	for _, scheme := range []string{"www.", "mailto:", "data:", "tel:", "urn:", "javascript:"} {
		if _, ok := cutPrefixFold(word, scheme); ok {
			return true
		}
	}
	return false
}

// withoutPlace drops the place in a file that is written behind it: `:12`, `:12:3`, `#L12`.
func withoutPlace(word string) string {
	if file, line, ok := strings.Cut(word, "#L"); ok && line != "" && strings.Trim(line, "0123456789-L") == "" {
		return file
	}
	for range 2 {
		if i := strings.LastIndexByte(word, ':'); i > 1 && i < len(word)-1 && strings.Trim(word[i+1:], "0123456789") == "" {
			word = word[:i]
		}
	}
	return word
}

// looksLikePath reports whether a word has parts with slashes between, or a file ending. `24/7` and `/help` are none, nor
// is `e.g`.
func looksLikePath(word string) bool {
	if !strings.ContainsFunc(word, unicode.IsLetter) {
		return false
	}
	if i := strings.LastIndexByte(word, '/'); i > 0 {
		return true
	} else if i == 0 {
		word = word[1:]
	}
	dot := strings.LastIndexByte(word, '.')
	if dot < 0 {
		return false
	}
	// A file ending is a letter, then letters and digits, not many.
	ending := word[dot+1:]
	other := func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return ending != "" && len(ending) <= 12 && !strings.ContainsFunc(ending, other) &&
		unicode.IsLetter(rune(ending[0])) && (len(ending) > 1 || len(word) > 3)
}
