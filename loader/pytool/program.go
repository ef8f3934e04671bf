package pytool

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Program is what the text of a program says about it.
type Program struct {
	// Docstring is that of the module, Description that of its parser of arguments; each can be empty.
	Docstring, Description string
}

// ReadProgram reads the text of a program. What cannot be known without running it is left out.
func ReadProgram(text []byte) Program {
	if len(text) > MaxFileBytes || bytes.IndexByte(text, 0) >= 0 {
		return Program{}
	}
	statements := statementsOf(plainSource(text))
	var p Program
	for i, s := range statements {
		if i == 0 {
			if doc, ok := textOf(s); ok {
				p.Docstring = strings.TrimSpace(cleanDoc(doc))
			}
		}
		for at := range s {
			name, ok := calls(s, at)
			if !ok || !parserClasses[name] || p.Description != "" {
				continue
			}
			if given, ok := argument(argumentsAt(s, at+1), "description", -1); ok {
				described, _ := textOf(given)
				p.Description = strings.TrimSpace(cleanDoc(described))
			}
		}
	}
	return p
}

// parserClasses make a parser of arguments.
var parserClasses = map[string]bool{"ArgumentParser": true}

// plainSource returns a text with LF line ends, as UTF-8.
func plainSource(text []byte) string {
	plain := strings.TrimPrefix(string(text), "\ufeff")
	plain = strings.ReplaceAll(strings.ReplaceAll(plain, "\r\n", "\n"), "\r", "\n")
	if !utf8.ValidString(plain) {
		plain = strings.ToValidUTF8(plain, "?")
	}
	return plain
}

// statementsOf returns the statements of a text, each with its tokens. A statement with a block is its first line.
func statementsOf(text string) (statements [][]token) {
	tokens := lex(text, func(int, string) {})
	from := 0
	for i, t := range tokens {
		if t.kind == tokenNewline {
			statements = append(statements, tokens[from:i])
			from = i + 1
		}
	}
	return statements
}

// calls reports whether a token is the last part of a name that is called, and returns it.
func calls(s []token, at int) (string, bool) {
	if s[at].kind != tokenName || at+1 >= len(s) || !s[at+1].is("(") || s[at+1].skip == 0 || at+1+s[at+1].skip >= len(s) {
		return "", false
	}
	return s[at].text, true
}

// argumentsAt returns the arguments in the parentheses that open at a token.
func argumentsAt(s []token, at int) [][]token { return split(s[at+1:at+s[at].skip], ",") }
