package pytool

import "strings"

// maxParams bounds the parameters of one tool.
const maxParams = 256

// param is a parameter of a function, or a field of a class.
type param struct {
	name       string
	stars      int // of `*args` and `**kwargs`
	annotation node
	value      node
	annotated  bool
	optional   bool
}

// readParams reads the parameters of a function, or says why it can not.
func readParams(function string, pieces [][]token) ([]param, string) {
	if len(pieces) > maxParams {
		return nil, "the tool " + function + " has too many parameters"
	}
	var params []param
	seen := map[string]bool{}
	for i, piece := range pieces {
		if len(piece) == 1 && (piece[0].is("*") || piece[0].is("/")) {
			continue
		}
		p, ok := readParam(piece)
		if !ok {
			return nil, "the parameters of the tool " + function + " can not be read"
		}
		if seen[p.name] {
			return nil, "the tool " + function + " has the parameter " + p.name + " twice"
		}
		seen[p.name] = true
		if i == 0 && !p.annotated && (p.name == "self" || p.name == "cls") {
			continue
		}
		params = append(params, p)
	}
	return params, ""
}

// readParam reads `name`, `name: type`, `name=value` and `name: type = value`.
func readParam(tokens []token) (param, bool) {
	var p param
	if len(tokens) > 0 && tokens[0].kind == tokenOp {
		p.stars = map[string]int{"*": 1, "**": 2}[tokens[0].text]
		if p.stars == 0 {
			return p, false
		}
		tokens = tokens[1:]
	}
	if len(tokens) == 0 || tokens[0].kind != tokenName || isKeyword(tokens[0].text) {
		return p, false
	}
	p.name, tokens = tokens[0].text, tokens[1:]
	if equals := indexOp(tokens, "="); equals >= 0 {
		p.optional = true
		p.value = parseExpr(tokens[equals+1:], 0)
		tokens = tokens[:equals]
	}
	if len(tokens) == 0 {
		return p, true
	}
	p.annotated = true
	p.annotation = parseExpr(tokens[1:], 0)
	return p, tokens[0].is(":") && len(tokens) > 1
}

// injectedTypes are those whose values the runtime puts in by itself, so that no model is asked for them.
var injectedTypes = map[string]bool{
	"RunnableConfig": true, "ToolRuntime": true, "CallbackManagerForToolRun": true, "AsyncCallbackManagerForToolRun": true,
	"Callbacks": true, "BaseCallbackManager": true, "ClassVar": true,
}

// injectedNames are the parameters that LangChain never asks for, whatever their type.
var injectedNames = map[string]bool{"run_manager": true, "callbacks": true}

// isInjected reports whether the runtime fills a parameter, and not the model.
func (p param) isInjected() bool {
	if injectedNames[p.name] {
		return true
	}
	return isInjected(p.annotation, 0, func(name string) bool {
		return injectedTypes[name] || strings.HasPrefix(name, "Injected") || (p.name == "state" && strings.HasSuffix(name, "State"))
	})
}

// isInjected looks for a type that is injected, in Optional, Union and Annotated too.
func isInjected(n node, depth int, injected func(string) bool) bool {
	if depth > maxDepth {
		return false
	}
	switch n.kind {
	case nodeName:
		return injected(lastName(n.text))
	case nodeText:
		return isInjected(parseText(n.text, depth+1), depth+1, injected)
	case nodeCall: // `Annotated[dict, InjectedState("messages")]`
		return isInjected(*n.base, depth+1, injected)
	case nodeUnion:
		return anyInjected(n.items, depth, injected)
	case nodeSubscript:
		if isInjected(*n.base, depth+1, injected) {
			return true
		}
		switch lastName(n.base.text) {
		case "Annotated":
			return len(n.items) > 0 && (isInjected(n.items[0], depth+1, injected) || marked(n.items[1:], depth, injected))
		case "Optional", "Union":
			return anyInjected(n.items, depth, injected)
		}
	}
	return false
}

func anyInjected(nodes []node, depth int, injected func(string) bool) bool {
	for _, n := range nodes {
		if isInjected(n, depth+1, injected) {
			return true
		}
	}
	return false
}

// marked looks at what stands behind the type in Annotated. A text there is a description, not a type.
func marked(nodes []node, depth int, injected func(string) bool) bool {
	for _, n := range nodes {
		if n.kind != nodeText && isInjected(n, depth+1, injected) {
			return true
		}
	}
	return false
}

// lastName returns what stands behind the last dot.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
