package pytool

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxBrackets bounds brackets within brackets, as Python does.
const maxBrackets = 200

// lexer makes tokens of a text. It never fails: text that is not Python is a fault, and the rest is read.
type lexer struct {
	text   string
	at     int
	col    int   // of the line
	fresh  bool  // the line has no token so far
	open   []int // the tokens that opened a bracket which is not closed
	tokens []token
	fault  func(at int, message string)
}

// lex returns the tokens of a text with LF line ends.
func lex(text string, fault func(at int, message string)) []token {
	l := &lexer{text: text, fault: fault}
	l.beginLine()
	for l.at < len(l.text) {
		l.next()
	}
	if len(l.open) > 0 {
		l.fault(l.tokens[l.open[0]].at, "a bracket is opened here and never closed")
	}
	l.endStatement()
	return l.tokens
}

func (l *lexer) next() {
	c := l.text[l.at]
	switch {
	case c == '\n':
		l.at++
		if len(l.open) == 0 {
			l.endStatement()
		}
		l.beginLine()
	case c == ' ', c == '\t', c == '\f':
		l.at++
	case c == '#':
		l.at = lineEnd(l.text, l.at)
	case strings.HasPrefix(l.text[l.at:], "\\\n"):
		l.at += 2
	case isDigit(c), c == '.' && l.at+1 < len(l.text) && isDigit(l.text[l.at+1]):
		l.add(tokenNumber, numberEnd(l.text, l.at))
	default:
		if quote := quoteAt(l.text, l.at); quote >= 0 {
			l.string(quote)
		} else if end := nameEnd(l.text, l.at); end > l.at {
			if len(l.open) > 0 && statementWords[l.text[l.at:end]] && l.beginsStatement() {
				l.recover()
			} else {
				l.add(tokenName, end)
			}
		} else {
			l.operator()
		}
	}
}

// beginLine measures the indentation of a line: a tab leads to the next multiple of eight.
func (l *lexer) beginLine() {
	l.col, l.fresh = 0, true
	for ; l.at < len(l.text); l.at++ {
		switch l.text[l.at] {
		case ' ':
			l.col++
		case '\t':
			l.col += 8 - l.col%8
		case '\f':
			l.col = 0
		default:
			return
		}
	}
}

func (l *lexer) endStatement() {
	if n := len(l.tokens); n > 0 && l.tokens[n-1].kind != tokenNewline {
		l.tokens = append(l.tokens, token{kind: tokenNewline, at: l.at, col: -1})
	}
}

// add adds the text up to end as a token.
func (l *lexer) add(kind tokenKind, end int) {
	t := token{kind: kind, text: l.text[l.at:end], at: l.at, col: -1}
	if l.fresh {
		t.col, l.fresh = l.col, false
	}
	l.tokens = append(l.tokens, t)
	l.at = end
}

// statementWords cannot be inside of brackets in any program: one there means that a bracket is missing. `async` can, in a
// comprehension.
var statementWords = wordSet("def class import return while with try raise pass del global nonlocal break continue assert except finally")

var expressionWords = wordSet("False None True and as async await elif else for from if in is lambda not or yield")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

func isKeyword(name string) bool { return expressionWords[name] || statementWords[name] }

// beginsStatement reports whether the next word would begin a statement, were it not for open brackets.
func (l *lexer) beginsStatement() bool {
	last := l.tokens[len(l.tokens)-1]
	return l.fresh || last.isWord("async") && last.col >= 0
}

// recover drops the open brackets, so that a missing bracket costs one statement and not the rest of the file. A preceding
// `async`, or decorators, belong to the new statement.
func (l *lexer) recover() {
	first, col := l.open[0], l.col
	cut := len(l.tokens)
	if l.tokens[cut-1].isWord("async") {
		cut--
	}
	for i, lines := cut-1, 0; i > first && lines < 64; i-- {
		t := l.tokens[i]
		if t.col < 0 {
			continue
		}
		lines++
		if t.col == col && t.is("@") {
			cut = i
		} else if t.col <= col && !t.is(")") {
			break
		}
	}
	l.fault(l.tokens[first].at, "a bracket is opened here and never closed")
	if cut < len(l.tokens) {
		l.at = l.tokens[cut].at
	}
	l.tokens, l.open = l.tokens[:cut], nil
	l.endStatement()
	l.col, l.fresh = col, true
}

// operators are those of more than one character, the longer first.
var operators = strings.Fields("... **= //= >>= <<= -> := == != <= >= += -= *= /= %= &= |= ^= @= ** // << >>")

// closing has the brackets by those that open them.
var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

func (l *lexer) operator() {
	_, size := utf8.DecodeRuneInString(l.text[l.at:])
	if i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(l.text[l.at:], op) }); i >= 0 {
		size = len(operators[i])
	}
	l.add(tokenOp, l.at+size)
	switch op := l.tokens[len(l.tokens)-1]; op.text {
	case "(", "[", "{":
		if len(l.open) == maxBrackets {
			l.fault(op.at, "there are too many brackets within brackets")
			return
		}
		l.open = append(l.open, len(l.tokens)-1)
	case ")", "]", "}":
		l.closeBracket(op)
	}
}

// closeBracket finds the bracket that is closed. Brackets that were opened after it are dropped.
func (l *lexer) closeBracket(op token) {
	for i := len(l.open) - 1; i >= 0; i-- {
		if opener := l.open[i]; closing[l.tokens[opener].text] == op.text {
			if i < len(l.open)-1 {
				l.fault(op.at, "a bracket is closed here while another one is open")
			}
			l.tokens[opener].skip = len(l.tokens) - 1 - opener
			l.open = l.open[:i]
			return
		}
	}
	l.fault(op.at, "a bracket is closed here that was not opened")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

func nameEnd(text string, at int) int {
	end := at
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r != '_' && !unicode.IsLetter(r) && (end == at || !unicode.In(r, unicode.Digit, unicode.Mn, unicode.Mc, unicode.Pc)) {
			break
		}
		end += size
	}
	return end
}

// numberEnd returns where a number ends. [number] checks whether it is valid.
func numberEnd(text string, at int) int {
	hex := strings.HasPrefix(text[at:], "0x") || strings.HasPrefix(text[at:], "0X")
	end := at
	for end < len(text) {
		c := text[end]
		sign := (c == '+' || c == '-') && !hex && (text[end-1] == 'e' || text[end-1] == 'E')
		if !isDigit(c) && c != '.' && c != '_' && !sign && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		end++
	}
	return end
}

var prefixes = wordSet("r b u f t rb br rf fr rt tr")

// quoteAt returns the place of the quote of the string that begins at a place, after its prefix; -1 if no string begins there.
func quoteAt(text string, at int) int {
	end := at
	for end < len(text) && end-at < 3 && strings.IndexByte("rRbBuUfFtT", text[end]) >= 0 {
		end++
	}
	if end == len(text) || text[end] != '"' && text[end] != '\'' || end > at && !prefixes[strings.ToLower(text[at:end])] {
		return -1
	}
	return end
}

func quotesAt(text string, at int) string {
	if q := text[at : at+1]; strings.HasPrefix(text[at:], q+q+q) {
		return text[at : at+3]
	}
	return text[at : at+1]
}

// string adds a string whose quote is known. One without an end goes to the end of its line, or of the file. An f-string ends at
// its quotes too: quotes within its braces come in pairs, so the line is read to the same end.
func (l *lexer) string(quote int) {
	quotes := quotesAt(l.text, quote)
	for at := quote + len(quotes); at < len(l.text); at++ {
		switch c := l.text[at]; {
		case c == '\\':
			at++
		case strings.HasPrefix(l.text[at:], quotes):
			l.add(tokenString, at+len(quotes))
			return
		case c == '\n' && len(quotes) == 1:
			l.fault(l.at, "a string begins here and never ends")
			l.add(tokenString, at)
			return
		}
	}
	l.fault(l.at, "a string begins here and never ends")
	end := len(l.text)
	if len(quotes) == 1 {
		end = lineEnd(l.text, quote)
	}
	l.add(tokenString, end)
}
