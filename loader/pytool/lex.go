package pytool

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokenName tokenKind = iota + 1 // keywords too
	tokenNumber
	tokenString // with its prefix and its quotes
	tokenOp
	tokenNewline // the end of a statement, which may have had several lines
)

// maxBrackets bounds brackets within brackets, as Python does.
const maxBrackets = 200

// token is one word of a program.
type token struct {
	kind tokenKind
	text string
	at   int // where it begins in the text
	// col is its column where it is the first of its line, tabs counted as Python does; -1 elsewhere.
	col int
	// skip leads from an opening bracket to its closing one, in tokens; 0 where there is none.
	skip int
}

func (t token) is(op string) bool { return t.kind == tokenOp && t.text == op }

func (t token) isWord(word string) bool { return t.kind == tokenName && t.text == word }

// lexer makes tokens of a text. It never fails: text that is not Python becomes a fault, and the rest is read.
type lexer struct {
	text   string
	at     int
	col    int   // of the line
	fresh  bool  // the line has no token so far
	open   []int // the tokens that opened a bracket which is not closed
	tokens []token
	faults []textFault
}

// textFault is a fault at a place of the text.
type textFault struct {
	at      int
	message string
}

// lex returns the tokens of a text with LF line ends.
func lex(text string) ([]token, []textFault) {
	l := &lexer{text: text}
	l.beginLine()
	for l.at < len(l.text) {
		l.next()
	}
	if len(l.open) > 0 {
		l.fault(l.tokens[l.open[0]].at, "a bracket is opened here and never closed")
	}
	l.endStatement()
	return l.tokens, l.faults
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
	case c == '\\' && strings.HasPrefix(l.text[l.at:], "\\\n"):
		l.at += 2
	case isDigit(c), c == '.' && l.at+1 < len(l.text) && isDigit(l.text[l.at+1]):
		l.add(tokenNumber, numberEnd(l.text, l.at))
	default:
		if quote := quoteAt(l.text, l.at); quote >= 0 {
			l.string(quote)
		} else if end := nameEnd(l.text, l.at); end > l.at {
			l.name(end)
		} else {
			l.operator()
		}
	}
}

// beginLine measures how far a line is indented: a tab leads to the next multiple of eight.
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

// add takes the text up to end as a token.
func (l *lexer) add(kind tokenKind, end int) {
	t := token{kind: kind, text: l.text[l.at:end], at: l.at, col: -1}
	if l.fresh {
		t.col, l.fresh = l.col, false
	}
	l.tokens = append(l.tokens, t)
	l.at = end
}

func (l *lexer) fault(at int, message string) {
	if len(l.faults) < maxFaults {
		l.faults = append(l.faults, textFault{at, message})
	}
}

// statementWords cannot stand inside of brackets in any program: one there means that a bracket is missing.
// `async` can, in a comprehension.
var statementWords = map[string]bool{
	"def": true, "class": true, "import": true, "return": true, "while": true, "with": true, "try": true, "raise": true,
	"pass": true, "del": true, "global": true, "nonlocal": true, "break": true, "continue": true, "assert": true,
	"except": true, "finally": true,
}

func (l *lexer) name(end int) {
	if len(l.open) > 0 && statementWords[l.text[l.at:end]] && l.beginsStatement() {
		l.recover()
		return
	}
	l.add(tokenName, end)
}

// beginsStatement reports whether what comes next would begin a statement, were it not for open brackets.
func (l *lexer) beginsStatement() bool {
	if l.fresh {
		return true
	}
	last := l.tokens[len(l.tokens)-1]
	return last.isWord("async") && last.col >= 0
}

// recover gives up the open brackets, so that a missing bracket costs one statement and not the rest of the file. What
// stands right before belongs to the new statement where it is `async` or a decorator.
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
var operators = []string{
	"...", "**=", "//=", ">>=", "<<=", "->", ":=", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>",
}

func (l *lexer) operator() {
	for _, op := range operators {
		if strings.HasPrefix(l.text[l.at:], op) {
			l.add(tokenOp, l.at+len(op))
			return
		}
	}
	_, size := utf8.DecodeRuneInString(l.text[l.at:])
	c := l.text[l.at]
	l.add(tokenOp, l.at+size)
	switch c {
	case '(', '[', '{':
		if len(l.open) == maxBrackets {
			l.fault(l.at-1, "there are too many brackets within brackets")
			return
		}
		l.open = append(l.open, len(l.tokens)-1)
	case ')', ']', '}':
		l.closeBracket(c)
	}
}

var opening = map[byte]string{')': "(", ']': "[", '}': "{"}

// closeBracket finds the bracket that is closed. Brackets that were opened after it are given up.
func (l *lexer) closeBracket(c byte) {
	for i := len(l.open) - 1; i >= 0; i-- {
		if opener := l.open[i]; l.tokens[opener].text == opening[c] {
			if i < len(l.open)-1 {
				l.fault(l.at-1, "a bracket is closed here while another one is open")
			}
			l.tokens[opener].skip = len(l.tokens) - 1 - opener
			l.open = l.open[:i]
			return
		}
	}
	l.fault(l.at-1, "a bracket is closed here that was not opened")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// lineEnd returns where the line ends that at is in.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// nameEnd returns where the name ends that begins at at, or at where none does.
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

// numberEnd returns where a number ends. Whether it is one is found out when it is needed.
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
