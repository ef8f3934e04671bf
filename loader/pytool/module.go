package pytool

// module is what a text says of the functions of its top level, those in `if` and `try` included: what Python finds in the
// imported module.
type module struct {
	functions []function
	faults    []textFault

	blocks  []block
	opened  scope  // what the statement before opens, should the next one be indented
	pending []node // decorators that wait for their function
	at      int    // where the first of them stands
	doc     int    // one more than the function whose docstring may come next; 0 for none
	col     int    // of that function
	aliases map[string]bool
}

// function is a function with its decorators.
type function struct {
	at         int
	name       string
	decorators []node
	params     []param
	doc        string
}

// scope says what a block belongs to.
type scope struct {
	hidden bool // not part of the module: the inside of functions and classes, and what runs in scripts only
}

// block is what is indented alike.
type block struct {
	col int
	scope
}

// readModule goes over the statements of a text.
func readModule(text string) *module {
	tokens, faults := lex(text)
	m := &module{aliases: map[string]bool{}, blocks: []block{{}}, faults: faults}
	from := 0
	for i, t := range tokens {
		if t.kind == tokenNewline {
			m.statement(tokens[from:i])
			from = i + 1
		}
	}
	m.orphans()
	return m
}

func (m *module) fault(at int, message string) {
	if len(m.faults) < 2*maxFaults {
		m.faults = append(m.faults, textFault{at, message})
	}
}

func (m *module) statement(s []token) {
	here := m.enter(s[0].col)
	m.opened = here
	m.docstring(s)
	if here.hidden {
		m.opened = scope{hidden: true}
		return
	}
	if s[0].is("@") {
		m.decorator(s)
		return
	}
	def := s
	if s[0].isWord("async") {
		def = s[1:]
	}
	switch {
	case len(def) > 1 && def[0].isWord("def"):
		m.opened = scope{hidden: true}
		m.define(s, def)
	case s[0].isWord("class"):
		m.orphans()
		m.opened = scope{hidden: true}
	default:
		m.orphans()
		m.imports(s)
		m.opened.hidden = isScriptOnly(s)
	}
}

// enter finds the block that a statement is in, by its column.
func (m *module) enter(col int) scope {
	opened := m.opened
	for len(m.blocks) > 1 && m.blocks[len(m.blocks)-1].col > col {
		opened = m.blocks[len(m.blocks)-1].scope // for an indentation that no block has
		m.blocks = m.blocks[:len(m.blocks)-1]
	}
	if m.blocks[len(m.blocks)-1].col < col {
		m.blocks = append(m.blocks, block{col, opened})
	}
	return m.blocks[len(m.blocks)-1].scope
}

// isScriptOnly reports whether a statement is `if __name__ == "__main__":`, whose inside no import runs.
func isScriptOnly(s []token) bool {
	return len(s) > 3 && s[0].isWord("if") && s[1].isWord("__name__") && s[2].is("==")
}

func (m *module) decorator(s []token) {
	if len(m.pending) == 0 {
		m.at = s[0].at
	}
	m.pending = append(m.pending, parseExpr(s[1:], 0))
}

// orphans tells of a decorator that nothing follows which it could decorate.
func (m *module) orphans() {
	if m.isTool(m.pending) {
		m.fault(m.at, "no function follows the decorator")
	}
	m.pending = nil
}

// isTool reports whether one of the decorators makes a tool.
func (m *module) isTool(decorators []node) bool {
	for _, d := range decorators {
		if m.toolCall(d) {
			return true
		}
	}
	return false
}

// define takes a function, if a decorator makes a tool of it.
func (m *module) define(s, def []token) {
	decorators := m.pending
	m.pending = nil
	if !m.isTool(decorators) {
		return
	}
	f := function{at: s[0].at, name: def[1].text, decorators: decorators}
	inline, message := f.signature(def[1:])
	if message != "" {
		m.fault(f.at, message)
		return
	}
	m.functions = append(m.functions, f)
	m.doc, m.col = len(m.functions), s[0].col
	if len(inline) > 0 {
		m.docstring(inline)
	}
}

// signature reads what follows `def`. It returns what stands behind the colon, or why it cannot be read.
func (f *function) signature(def []token) (inline []token, message string) {
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
	f.params, message = readParams(f.name, split(def[at+1:end]))
	return def[end+colon+1:], message
}

// docstring takes the first statement of a function as its docstring, if it is a text.
func (m *module) docstring(s []token) {
	if m.doc == 0 {
		return
	}
	f := &m.functions[m.doc-1]
	inline := s[0].col < 0
	m.doc = 0
	if !inline && s[0].col <= m.col {
		return
	}
	if semicolon := indexOp(s, ";"); semicolon >= 0 {
		s = s[:semicolon]
	}
	if n := parseExpr(s, 0); n.kind == nodeText || n.kind == nodeOpaque && n.text != "" {
		f.doc = cleanDoc(n.text)
	}
}

// imports notes the names under which `from x import tool as y` brings the decorator in.
func (m *module) imports(s []token) {
	if !s[0].isWord("from") {
		return
	}
	for i := 0; i+2 < len(s); i++ {
		if s[i].isWord("tool") && s[i+1].isWord("as") && s[i+2].kind == tokenName && i > 0 && (s[i-1].isWord("import") || s[i-1].is(",") || s[i-1].is("(")) {
			m.aliases[s[i+2].text] = true
		}
	}
}

var keywords = map[string]bool{
	"False": true, "None": true, "True": true, "and": true, "as": true, "async": true, "await": true, "elif": true,
	"else": true, "for": true, "from": true, "if": true, "in": true, "is": true, "lambda": true, "not": true, "or": true, "yield": true,
}

func isKeyword(name string) bool { return keywords[name] || statementWords[name] }
