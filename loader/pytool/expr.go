package pytool

// nodeKind is what an expression is.
type nodeKind uint8

const (
	nodeOpaque nodeKind = iota // what only Python can tell
	nodeName                   // with dots; True, False and None too
	nodeText
	nodeNumber // as it is written, with its sign
	nodeEllipsis
	nodeList
	nodeTuple
	nodeSet
	nodeDict // keys and values in turn
	nodeCall
	nodeSubscript
	nodeUnion // of `|`
)

// maxDepth bounds expressions within expressions. What lies deeper is opaque.
const maxDepth = 40

// node is an expression as far as it can be understood without running it.
type node struct {
	kind  nodeKind
	text  string
	base  *node // what is called or subscripted
	items []node
	// keys are the names of the arguments of a call, "" where there is none, "*" and "**" where they are spread.
	keys []string
}

// exprParser reads one expression out of tokens.
type exprParser struct {
	tokens []token
	at     int
	depth  int
}

// parseExpr reads tokens as one expression. What is none, or is computed, is opaque.
func parseExpr(tokens []token, depth int) node {
	if depth > maxDepth {
		return node{}
	}
	p := &exprParser{tokens: tokens, depth: depth}
	n := p.union()
	if p.at < len(p.tokens) {
		return node{}
	}
	return n
}

// parseText reads a text as one expression, as type checkers do with quoted annotations.
func parseText(text string, depth int) node {
	if depth > maxDepth {
		return node{}
	}
	tokens, faults := lex(text)
	if len(faults) > 0 || len(tokens) == 0 {
		return node{}
	}
	return parseExpr(tokens[:len(tokens)-1], depth)
}

func (p *exprParser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

func (p *exprParser) union() node {
	first := p.operand()
	if !p.peek().is("|") {
		return first
	}
	members := []node{first}
	for p.peek().is("|") {
		p.at++
		members = append(members, p.operand())
	}
	return node{kind: nodeUnion, items: members}
}

func (p *exprParser) operand() node {
	sign := p.peek()
	if !sign.is("-") && !sign.is("+") {
		return p.postfix()
	}
	p.at++
	n := p.postfix()
	if n.kind != nodeNumber {
		return node{}
	}
	n.text = sign.text + n.text
	return n
}

// postfix reads what is called, subscripted or has an attribute.
func (p *exprParser) postfix() node {
	n := p.atom()
	for range maxDepth {
		t := p.peek()
		switch {
		case t.is(".") && p.at+1 < len(p.tokens) && p.tokens[p.at+1].kind == tokenName:
			n = attribute(n, p.tokens[p.at+1].text)
			p.at += 2
			continue
		case (t.is("(") || t.is("[")) && t.skip > 0:
			base := n
			n = node{kind: nodeSubscript, base: &base}
			pieces := split(p.group(t))
			if t.is("(") {
				n.kind = nodeCall
				n.arguments(pieces, p.depth)
				continue
			}
			n.items = p.parseAll(pieces)
			continue
		}
		return n
	}
	return node{}
}

func attribute(n node, name string) node {
	if n.kind != nodeName {
		return node{}
	}
	n.text += "." + name
	return n
}

// group steps over brackets and returns what is in them.
func (p *exprParser) group(open token) []token {
	from := p.at + 1
	p.at += open.skip + 1
	return p.tokens[from : p.at-1]
}

func (p *exprParser) parseAll(pieces [][]token) []node {
	var nodes []node
	for _, piece := range pieces {
		nodes = append(nodes, parseExpr(piece, p.depth+1))
	}
	return nodes
}

// arguments reads those of a call.
func (n *node) arguments(pieces [][]token, depth int) {
	for _, piece := range pieces {
		key, value := "", piece
		switch {
		case len(piece) > 1 && piece[0].kind == tokenName && piece[1].is("="):
			key, value = piece[0].text, piece[2:]
		case len(piece) > 0 && (piece[0].is("*") || piece[0].is("**")):
			key = piece[0].text
		}
		n.keys = append(n.keys, key)
		n.items = append(n.items, parseExpr(value, depth+1))
	}
}

func (p *exprParser) atom() node {
	t := p.peek()
	switch {
	case t.kind == tokenString:
		return p.strings()
	case t.is("...") || t.kind == tokenName || t.kind == tokenNumber:
		p.at++
		return node{kind: map[tokenKind]nodeKind{tokenName: nodeName, tokenNumber: nodeNumber, tokenOp: nodeEllipsis}[t.kind], text: t.text}
	case t.skip > 0 && t.is("("):
		return p.parenthesised(t)
	case t.skip > 0 && t.is("["):
		return node{kind: nodeList, items: p.parseAll(split(p.group(t)))}
	case t.skip > 0 && t.is("{"):
		return p.braces(t)
	}
	return node{}
}

// strings reads one or more strings, which Python joins.
func (p *exprParser) strings() node {
	n := node{kind: nodeText}
	var text []byte
	for ; p.peek().kind == tokenString; p.at++ {
		part, ok := decodeString(p.peek().text)
		if !ok {
			n.kind = nodeOpaque
		}
		text = append(text, part...)
	}
	n.text = string(text)
	return n
}

// parenthesised reads an expression in parentheses, or a tuple.
func (p *exprParser) parenthesised(open token) node {
	inner := p.group(open)
	pieces := split(inner)
	if len(pieces) == 1 && !inner[len(inner)-1].is(",") {
		return parseExpr(pieces[0], p.depth+1)
	}
	return node{kind: nodeTuple, items: p.parseAll(pieces)}
}

// braces reads a dict or a set.
func (p *exprParser) braces(open token) node {
	n := node{kind: nodeDict}
	for i, piece := range split(p.group(open)) {
		colon := indexOp(piece, ":")
		if i > 0 && (colon < 0) != (n.kind == nodeSet) {
			return node{}
		}
		if colon < 0 {
			n.kind = nodeSet
			n.items = append(n.items, parseExpr(piece, p.depth+1))
			continue
		}
		n.items = append(n.items, parseExpr(piece[:colon], p.depth+1), parseExpr(piece[colon+1:], p.depth+1))
	}
	return n
}

// indexOp returns where an operator stands outside of brackets, or -1.
func indexOp(tokens []token, op string) int {
	for i := 0; i < len(tokens); i++ {
		if tokens[i].is(op) {
			return i
		}
		i += tokens[i].skip
	}
	return -1
}

// split cuts tokens at the commas outside of brackets. The commas between `lambda` and its colon cut nothing. A comma at
// the end has no piece behind it.
func split(tokens []token) [][]token {
	var pieces [][]token
	from, lambdas := 0, 0
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.isWord("lambda"):
			lambdas++
		case t.is(":") && lambdas > 0:
			lambdas--
		case t.is(",") && lambdas == 0:
			pieces = append(pieces, tokens[from:i])
			from = i + 1
		}
		i += t.skip
	}
	if from < len(tokens) {
		pieces = append(pieces, tokens[from:])
	}
	return pieces
}
