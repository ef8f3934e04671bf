package pytool

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Program is what the text of a program says about it.
type Program struct {
	// Docstring is that of the module, Description that of its parser of arguments; each can be empty.
	Docstring, Description string
	// Options are the arguments that its parser reads, Parameters a JSON Schema of an object with them; both are
	// empty if none is known.
	Options    []Option
	Parameters json.RawMessage
}

// ReadProgram reads the text of a program: the arguments of argparse, typer or click that are written as plain values. What
// cannot be known without running it is left out.
func ReadProgram(text []byte) Program {
	if len(text) > MaxFileBytes || bytes.IndexByte(text, 0) >= 0 {
		return Program{}
	}
	statements := statementsOf(plainSource(text))
	var p Program
	if len(statements) > 0 {
		if doc, ok := textOf(statements[0]); ok {
			p.Docstring = strings.TrimSpace(cleanDoc(doc))
		}
	}
	if bytes.Contains(text, []byte("ArgumentParser")) {
		r := readArgparse(statements)
		p.Description = r.description
		p.Options, p.Parameters = r.options()
	} else if bytes.Contains(text, []byte("typer")) {
		p.Options, p.Parameters = typerOptions(statements)
	} else if bytes.Contains(text, []byte("click")) {
		p.Options, p.Parameters = clickOptions(statements)
	}
	return p
}

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
