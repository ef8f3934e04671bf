package pytool

import (
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	tokenName tokenKind = iota + 1 // keywords too
	tokenNumber
	tokenString // with its prefix and its quotes
	tokenOp
	tokenNewline // the end of a statement, which may have had several lines
)

type token struct {
	kind tokenKind
	text string
	at   int // where it begins in the text
	// col is its column if it is the first of its line, tabs counted as Python does; -1 elsewhere.
	col int
	// skip leads from an opening bracket to its closing one, in tokens; 0 if there is none.
	skip int
}

func (t token) is(op string) bool { return t.kind == tokenOp && t.text == op }

func (t token) isWord(word string) bool { return t.kind == tokenName && t.text == word }

// indexOp returns the index of an operator outside of brackets, or -1.
func indexOp(tokens []token, op string) int {
	for i := 0; i < len(tokens); i++ {
		if tokens[i].is(op) {
			return i
		}
		i += tokens[i].skip
	}
	return -1
}

// split splits tokens at an operator outside of brackets, and not between `lambda` and its colon, into pieces that are not empty.
func split(tokens []token, separator string) [][]token {
	var pieces [][]token
	from, lambdas := 0, 0
	cut := func(to int) {
		if from < to {
			pieces = append(pieces, tokens[from:to])
		}
		from = to + 1
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.isWord("lambda"):
			lambdas++
		case t.is(":") && lambdas > 0:
			lambdas--
		case t.is(separator) && lambdas == 0:
			cut(i)
		}
		i += t.skip
	}
	cut(len(tokens))
	return pieces
}

// inBrackets returns what is within brackets that enclose all of the tokens.
func inBrackets(tokens []token, open string) ([]token, bool) {
	if len(tokens) == 0 || !tokens[0].is(open) || tokens[0].skip == 0 || tokens[0].skip != len(tokens)-1 {
		return nil, false
	}
	return tokens[1 : len(tokens)-1], true
}

// withoutParentheses removes parentheses around an expression that is not a tuple.
func withoutParentheses(tokens []token) []token {
	for {
		inner, ok := inBrackets(tokens, "(")
		if !ok || indexOp(inner, ",") >= 0 {
			return tokens
		}
		tokens = inner
	}
}

// lastName returns the last part of the dotted name that tokens begin with, and the tokens after it.
func lastName(tokens []token) (name string, rest []token) {
	for len(tokens) > 0 && tokens[0].kind == tokenName {
		name, tokens = tokens[0].text, tokens[1:]
		if len(tokens) < 2 || !tokens[0].is(".") || tokens[1].kind != tokenName {
			break
		}
		tokens = tokens[1:]
	}
	return name, tokens
}

// textOf returns the text of one or more strings, which Python joins. ok is false if the tokens are something else, or if not all
// of the text is known.
func textOf(tokens []token) (text string, ok bool) {
	tokens = withoutParentheses(tokens)
	ok = len(tokens) > 0
	var b strings.Builder
	for _, t := range tokens {
		if t.kind != tokenString {
			return "", false
		}
		part, known := decodeString(t.text)
		b.WriteString(part)
		ok = ok && known
	}
	return b.String(), ok
}

// decodeString returns the value of a string literal. It is not known for bytes, for f-strings, and for characters by name.
func decodeString(literal string) (string, bool) {
	quote := quoteAt(literal, 0)
	if quote < 0 || strings.ContainsAny(literal[:quote], "bBfFtT") {
		return "", false
	}
	quotes := quotesAt(literal, quote)
	inner := literal[quote:]
	if len(inner) < 2*len(quotes) || !strings.HasSuffix(inner, quotes) {
		return "", false
	}
	inner = inner[len(quotes) : len(inner)-len(quotes)]
	if strings.ContainsAny(literal[:quote], "rR") {
		return inner, true
	}
	return unescape(inner)
}

// unescape returns the value of a text with escapes, and whether all of them are known; others stay as they are written.
func unescape(text string) (string, bool) {
	var b strings.Builder
	known := true
	for {
		before, rest, found := strings.Cut(text, `\`)
		b.WriteString(before)
		if !found || rest == "" {
			return b.String(), !found && known
		}
		if strings.IndexByte("\n'\"", rest[0]) >= 0 {
			text = strings.TrimPrefix(rest, "\n")
			if text == rest {
				b.WriteByte(rest[0])
				text = rest[1:]
			}
			continue
		}
		escape := `\` + rest[:min(len(rest), 9)] // the longest is \UHHHHHHHH
		if r, _, after, err := strconv.UnquoteChar(escape, 0); err == nil {
			b.WriteRune(r)
			text = rest[len(escape)-len(after)-1:]
			continue
		}
		known = known && strings.IndexByte("xuUN01234567", rest[0]) < 0
		b.WriteByte('\\')
		text = rest
	}
}
