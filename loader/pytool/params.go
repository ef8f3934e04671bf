package pytool

import (
	"regexp"
	"slices"
	"strings"
)

// maxParams bounds the parameters of one tool.
const maxParams = 256

// param is a parameter of a function.
type param struct {
	name       string
	stars      int     // of `*args` and `**kwargs`
	hint       []token // the tokens of the type hint
	annotation node
	value      node
	annotated  bool
	optional   bool
}

// readParams reads the parameters of a function, or says why it cannot.
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
			return nil, "the parameters of the tool " + function + " cannot be read"
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
	p.hint = tokens[1:]
	p.annotation = parseExpr(p.hint, 0)
	return p, tokens[0].is(":") && len(tokens) > 1
}

// injectedTypes are those whose values the runtime puts in by itself, so that no model is asked for them.
var injectedTypes = map[string]bool{
	"RunnableConfig": true, "ToolRuntime": true, "CallbackManagerForToolRun": true, "AsyncCallbackManagerForToolRun": true,
	"Callbacks": true, "BaseCallbackManager": true,
}

// injectedNames are the parameters that LangChain never asks for, whatever their type.
var injectedNames = map[string]bool{"run_manager": true, "callbacks": true}

// isInjected reports whether the runtime fills a parameter, and not the model: a word of its type hint says so.
func (p param) isInjected() bool {
	if injectedNames[p.name] {
		return true
	}
	return slices.ContainsFunc(p.hint, func(t token) bool {
		word := t.text
		if t.kind == tokenString {
			word = leadingName.FindString(strings.Trim(word, "'\""))
		}
		return injectedTypes[word] || t.kind == tokenName && strings.HasPrefix(word, "Injected") || p.name == "state" && strings.HasSuffix(word, "State")
	})
}

// leadingName is the name that a quoted type hint begins with.
var leadingName = regexp.MustCompile(`^\w+`)

// lastName returns what stands behind the last dot.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
