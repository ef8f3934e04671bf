package pytool

import (
	"regexp"
	"slices"
	"strings"

	"pannier"
)

// maxParams bounds the parameters of one tool.
const maxParams = 256

// module is the top level of a text, including its `if` and `try`.
type module struct {
	text      string
	functions []function
	classes   []class
	tools     []pannier.Tool
	faults    []Fault

	hidden  int        // the column of the statement whose inside is not part of the module; -1 for none
	inClass bool       // that statement is the last of classes
	pending *decorator // waits for its function
	doc     *function  // its docstring may come next
	docCol  int        // of that function
	aliases map[string]bool
	// values are names that the module assigns: their decorators register functions with a server or an agent.
	values map[string]bool
}

type decorator struct {
	at        int
	arguments [][]token
}

type function struct {
	at        int
	name      string
	arguments [][]token // of the decorator
	params    []param
	doc       string
}

type param struct {
	name        string
	stars       int // of `*args` and `**kwargs`
	hint, value []token
	optional    bool
}

func readModule(text string) *module {
	m := &module{text: text, aliases: map[string]bool{}, values: map[string]bool{"mcp": true}, hidden: -1}
	tokens := lex(text, m.fault)
	from := 0
	for i, t := range tokens {
		if t.kind == tokenNewline {
			m.statement(tokens[from:i])
			from = i + 1
		}
	}
	m.reportOrphan()
	return m
}

// line returns the line of a place, counted from 1.
func (m *module) line(at int) int { return 1 + strings.Count(m.text[:at], "\n") }

func (m *module) fault(at int, message string) {
	if len(m.faults) < 2*maxFaults {
		m.faults = append(m.faults, Fault{m.line(at), message})
	}
}

func (m *module) statement(s []token) {
	col := s[0].col
	if m.doc != nil && col > m.docCol {
		m.setDoc(s)
	}
	m.doc = nil
	if m.hidden >= 0 && col > m.hidden {
		if m.inClass {
			m.classes[len(m.classes)-1].statement(s)
		}
		return
	}
	m.hidden, m.inClass = -1, false
	if s[0].is("@") {
		if d, ok := m.toolDecorator(s[1:]); ok && m.pending == nil {
			m.pending = &decorator{s[0].at, d}
		}
		return
	}
	def := s
	if s[0].isWord("async") {
		def = s[1:]
	}
	if len(def) > 1 && def[0].isWord("def") {
		m.hidden = col
		m.define(s[0], def[1:])
		return
	}
	m.reportOrphan()
	// The inside of `if __name__ == "__main__":` runs in scripts only.
	if s[0].isWord("class") {
		m.beginClass(s)
	}
	if s[0].isWord("class") || len(s) > 3 && s[0].isWord("if") && s[1].isWord("__name__") && s[2].is("==") {
		m.hidden = col
	}
	if len(s) > 2 && s[0].kind == tokenName && s[1].is("=") {
		m.values[s[0].text] = true
	}
	// `from x import tool as y`
	for i := 1; s[0].isWord("from") && i+2 < len(s); i++ {
		if s[i].isWord("tool") && s[i+1].isWord("as") && (s[i-1].isWord("import") || s[i-1].is(",") || s[i-1].is("(")) {
			m.aliases[s[i+2].text] = true
		}
	}
}

// toolDecorator returns the arguments of a decorator that makes a tool.
func (m *module) toolDecorator(s []token) ([][]token, bool) {
	name, rest := lastName(s)
	if len(s)-len(rest) > 1 && m.values[s[0].text] {
		return nil, false
	}
	if name != "tool" && (!m.aliases[name] || len(s)-len(rest) > 1) {
		return nil, false
	}
	if len(rest) == 0 {
		return nil, true
	}
	inner, ok := inBrackets(rest, "(")
	return split(inner, ","), ok
}

func (m *module) reportOrphan() {
	if m.pending != nil {
		m.fault(m.pending.at, "no function follows the decorator")
	}
	m.pending = nil
}

// define adds a function, if a decorator makes a tool of it.
func (m *module) define(first token, def []token) {
	if m.pending == nil {
		return
	}
	f := function{at: first.at, name: def[0].text, arguments: m.pending.arguments}
	m.pending = nil
	body, message := f.signature(def)
	if message != "" {
		m.fault(f.at, message)
		return
	}
	m.functions = append(m.functions, f)
	m.doc, m.docCol = &m.functions[len(m.functions)-1], first.col
	if len(body) > 0 {
		m.setDoc(body)
		m.doc = nil
	}
}

// signature reads the text after `def`. It returns what follows the colon on its line, or why it cannot be read.
func (f *function) signature(def []token) (body []token, message string) {
	if def[0].kind != tokenName || isKeyword(f.name) {
		return nil, "the decorator is for a tool, and the function has no name"
	}
	at := 1
	if at < len(def) && def[at].is("[") && def[at].skip > 0 {
		at += def[at].skip + 1
	}
	if at >= len(def) || !def[at].is("(") || def[at].skip == 0 {
		return nil, "the parameters of the tool " + f.name + " cannot be read: their parentheses are not closed"
	}
	end := at + def[at].skip
	colon := indexOp(def[end:], ":")
	if colon < 0 {
		return nil, "the tool " + f.name + " cannot be read: the colon after its parameters is missing"
	}
	return def[end+colon+1:], f.readParams(split(def[at+1:end], ","))
}

// setDoc reads the first statement of a function as its docstring, if it is a text.
func (m *module) setDoc(s []token) {
	if semicolon := indexOp(s, ";"); semicolon >= 0 {
		s = s[:semicolon]
	}
	m.doc.doc, _ = textOf(s)
}

// readParams reads the parameters of a function, or returns why it cannot.
func (f *function) readParams(pieces [][]token) (message string) {
	if len(pieces) > maxParams {
		return "the tool " + f.name + " has too many parameters"
	}
	seen := map[string]bool{}
	for i, piece := range pieces {
		if len(piece) == 1 && (piece[0].is("*") || piece[0].is("/")) {
			continue
		}
		p, ok := readParam(piece)
		if !ok {
			return "the parameters of the tool " + f.name + " cannot be read"
		}
		if seen[p.name] {
			return "the tool " + f.name + " has the parameter " + p.name + " twice"
		}
		seen[p.name] = true
		if i > 0 || p.hint != nil || p.name != "self" && p.name != "cls" {
			f.params = append(f.params, p)
		}
	}
	return ""
}

// readParam reads `name`, `name: type`, `name=value` and `name: type = value`.
func readParam(tokens []token) (p param, ok bool) {
	if len(tokens) > 0 && (tokens[0].is("*") || tokens[0].is("**")) {
		p.stars, tokens = len(tokens[0].text), tokens[1:]
	}
	if len(tokens) == 0 || tokens[0].kind != tokenName || isKeyword(tokens[0].text) {
		return p, false
	}
	p.name, tokens = tokens[0].text, tokens[1:]
	if equals := indexOp(tokens, "="); equals >= 0 {
		p.value, tokens, p.optional = tokens[equals+1:], tokens[:equals], true
	}
	if len(tokens) == 0 {
		return p, true
	}
	p.hint = tokens[1:]
	return p, tokens[0].is(":") && len(tokens) > 1
}

// injectedTypes are types whose values LangChain provides itself, and injectedNames parameters of any type, so that the model
// is not asked for them.
var (
	injectedTypes = []string{
		"RunnableConfig", "ToolRuntime", "CallbackManagerForToolRun", "AsyncCallbackManagerForToolRun", "Callbacks", "BaseCallbackManager",
	}
	injectedNames = []string{"run_manager", "callbacks"}
	quotedName    = regexp.MustCompile(`^['"]+(\w+)`)
)

func (p param) isInjected() bool {
	return slices.Contains(injectedNames, p.name) || slices.ContainsFunc(p.hint, func(t token) bool {
		word := t.text
		if m := quotedName.FindStringSubmatch(word); m != nil {
			word = m[1]
		}
		return slices.Contains(injectedTypes, word) || t.kind == tokenName && strings.HasPrefix(word, "Injected") || p.name == "state" && strings.HasSuffix(word, "State")
	})
}
