package pytool

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pannier"
)

// The kinds of [Option].
const (
	OptionValue  = ""       // one value
	OptionList   = "list"   // values after the flag
	OptionRepeat = "repeat" // the flag once for each value
	OptionSwitch = "switch" // the flag alone
	OptionToggle = "toggle" // the flag, or `--no-` with its name
	OptionCount  = "count"  // the flag so many times
)

// Option is an argument of a program.
type Option struct {
	// Name is that of the property of the parameters.
	Name string `json:"name"`
	// Flag is empty for an argument by place.
	Flag string `json:"flag,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Command is the subcommand that has the option, with blanks between it and subcommands of its own; Commands says that
	// the value is the next subcommand.
	Command  string `json:"command,omitempty"`
	Commands bool   `json:"commands,omitempty"`
	// Raw says that the program reads its words one by one: in this order, without `--` and without `=` after flags.
	Raw bool `json:"raw,omitempty"`

	schema   schema
	required bool
}

// Value is what a model is told of an [Option].
type Value struct {
	Type, Description string   // of JSON Schema; an empty type is string
	Choices           []string // of a string
	Default           string   // as the program has it; empty for none
	Required          bool
}

// With returns the option with what a model is told of its value.
func (o Option) With(v Value) Option {
	element := schema{Type: cmp.Or(v.Type, "string")}
	for _, choice := range v.Choices {
		element.Enum = append(element.Enum, encode(choice))
	}
	if v.Default != "" {
		if number, ok := number(v.Default); ok && element.Type != "string" {
			element.Default = number
		} else if element.Type == "string" {
			element.Default = encode(v.Default)
		}
	}
	switch o.Kind {
	case OptionSwitch, OptionToggle:
		element = schema{Type: "boolean"}
	case OptionList, OptionRepeat:
		element.Default = nil
		element = schema{Type: "array", Items: &schema{Type: element.Type, Enum: element.Enum}}
	}
	element.Description = pannier.Truncate(strings.Join(strings.Fields(v.Description), " "), maxDescription)
	o.schema, o.required = element, v.Required
	return o
}

// Parameters returns options whose names differ, without those that no property can be called by, and a JSON Schema of an
// object with them. Both are nil if none is left.
func Parameters(all []Option) ([]Option, json.RawMessage) {
	all = slices.DeleteFunc(slices.Clone(all), func(o Option) bool { return !validName.MatchString(o.Name) || o.Name == "argv" })
	if len(all) == 0 || len(all) > maxParams {
		return nil, nil
	}
	return parametersOf(all)
}

// parser is a parser of arguments, or the subcommand of one.
type parser struct {
	options []Option
	// subcommands are the parsers by name, of the argument that add_subparsers adds; order has their names.
	subcommands map[string]*parser
	order       []string
}

// argparse follows the parsers of a module from one statement to the next.
type argparse struct {
	// parsers are those that a name stands for; the variable of a loop can stand for several.
	parsers map[string][]*parser
	// main are the parsers of ArgumentParser, in their order.
	main        []*parser
	constants   map[string][]token
	description string
	// helpers are the functions that add arguments to a parser that they are given.
	helpers map[string]*helper
	// kinds are the names of ArgumentParser, and of classes of the module that are one.
	kinds []string
	steps int
}

// helper is a function that adds arguments to one of its parameters.
type helper struct {
	params []string
	body   [][]token
	called bool
}

// maxSteps bounds the statements that are followed, those of helpers and loops each time.
const maxSteps = 50_000

// readArgparse follows the statements of a module.
func readArgparse(statements [][]token) *argparse {
	r := &argparse{parsers: map[string][]*parser{}, constants: map[string][]token{}, helpers: map[string]*helper{}, kinds: []string{"ArgumentParser"}}
	for i, s := range statements {
		if len(s) > 3 && s[0].isWord("class") && slices.ContainsFunc(s[2:], func(t token) bool { return t.isWord("ArgumentParser") }) {
			r.kinds = append(r.kinds, s[1].text)
		}
		if name, h := readHelper(statements[i:]); h != nil {
			r.helpers[name] = h
		}
	}
	r.run(statements)
	for _, name := range slices.Sorted(maps.Keys(r.helpers)) {
		if h := r.helpers[name]; !h.called && len(r.main) == 1 && r.main[0].subcommands == nil {
			for _, param := range h.params {
				r.parsers[param] = r.main
			}
			r.run(h.body)
		}
	}
	return r
}

// block returns the statements in the block of the first statement.
func block(statements [][]token) [][]token {
	for i, s := range statements[1:] {
		if s[0].col >= 0 && s[0].col <= statements[0][0].col {
			return statements[1 : i+1]
		}
	}
	return statements[1:]
}

// readHelper reads the function that statements begin with, if it is a helper.
func readHelper(statements [][]token) (name string, h *helper) {
	s := statements[0]
	if !s[0].isWord("def") || len(s) < 4 || !s[2].is("(") || s[2].skip == 0 {
		return "", nil
	}
	h = &helper{body: block(statements)}
	for _, param := range split(s[3:2+s[2].skip], ",") {
		if !param[0].isWord("self") && !param[0].isWord("cls") {
			h.params = append(h.params, param[0].text)
		}
	}
	adds := false
	for _, s := range h.body {
		for i := range s {
			if s[i].isWord("ArgumentParser") {
				return "", nil
			}
			adds = adds || i >= 2 && s[i-1].is(".") && slices.Contains(h.params, s[i-2].text) &&
				(s[i].isWord("add_argument") || s[i].isWord("add_parser") || s[i].isWord("add_subparsers") ||
					s[i].isWord("add_argument_group") || s[i].isWord("add_mutually_exclusive_group"))
		}
	}
	if !adds {
		return "", nil
	}
	return s[1].text, h
}

// run follows statements: helpers where they are called, and loops over plain values once for each.
func (r *argparse) run(statements [][]token) {
	for i := 0; i < len(statements) && r.steps < maxSteps; i++ {
		r.steps++
		if _, h := readHelper(statements[i:]); h != nil {
			i += len(h.body)
			continue
		}
		names, values := r.loop(statements[i])
		if names == nil {
			r.statement(statements[i])
			continue
		}
		body := block(statements[i:])
		i += len(body)
		for _, value := range values {
			each := make([][]token, len(body))
			for j, s := range body {
				each[j] = substitute(s, names, value)
			}
			r.run(each)
		}
	}
}

// loop returns the variables of a loop over a list of plain values, and their values; names is nil for other statements.
func (r *argparse) loop(s []token) (names []string, values [][]token) {
	in := slices.IndexFunc(s, func(t token) bool { return t.isWord("in") })
	if !s[0].isWord("for") || in < 2 || !s[len(s)-1].is(":") {
		return nil, nil
	}
	for _, name := range split(withoutParentheses(s[1:in]), ",") {
		if len(name) != 1 {
			return nil, nil
		}
		names = append(names, name[0].text)
	}
	list := s[in+1 : len(s)-1]
	if constant, ok := r.constants[dotted(list)]; ok {
		list = constant
	}
	for _, element := range listOf(list) {
		parts := [][]token{element}
		if len(names) > 1 {
			parts = listOf(element)
		}
		var value []token
		for _, part := range parts {
			if len(part) == 1 && (part[0].kind != tokenName || part[0].isWord("True") || part[0].isWord("False") ||
				part[0].isWord("None") || simple[part[0].text] != "") {
				value = append(value, part[0])
			}
		}
		if len(value) != len(names) {
			return nil, nil
		}
		values = append(values, value)
	}
	if len(values) == 0 || len(values) > maxMembers {
		return nil, nil
	}
	return names, values
}

// substitute returns a statement with values in place of names. Names of arguments stay.
func substitute(s []token, names []string, values []token) []token {
	s = slices.Clone(s)
	for i, t := range s {
		at := slices.Index(names, t.text)
		isKeyword := i > 0 && i+1 < len(s) && s[i+1].is("=") && (s[i-1].is("(") || s[i-1].is(","))
		if t.kind == tokenName && at >= 0 && !isKeyword && !(i > 0 && s[i-1].is(".")) {
			s[i].kind, s[i].text = values[at].kind, values[at].text
		}
	}
	return s
}

// callHelper follows the body of a helper with the parsers that it is given.
func (r *argparse) callHelper(h *helper, arguments [][]token) {
	bound := false
	for i, param := range h.params {
		if given, ok := argument(arguments, param, i); ok && r.parsers[dotted(given)] != nil {
			parsers := r.parsers[dotted(given)]
			before := r.parsers[param]
			r.parsers[param] = parsers
			defer func() { r.parsers[param] = before }()
			bound = true
		}
	}
	if bound {
		h.called = true
		body := h.body
		r.steps += 100 // helpers that call one another end
		r.run(body)
	}
}

// statement reads the calls in a statement.
func (r *argparse) statement(s []token) {
	target := ""
	if equals := indexOp(s, "="); equals > 0 {
		target = dotted(s[:equals])
		if colon := indexOp(s[:equals], ":"); colon > 0 {
			target = dotted(s[:colon])
		}
		if target != "" && len(s) > equals+1 { // a list or a call has no name, and must not find x["y"] = …
			r.constants[target] = s[equals+1:]
		}
		delete(r.parsers, target)
	}
	if len(s) > 3 && s[0].isWord("for") && s[2].isWord("in") {
		var each []*parser
		for _, name := range listOf(s[3 : len(s)-1]) {
			each = append(each, r.parsers[dotted(name)]...)
		}
		delete(r.parsers, s[1].text)
		if len(each) > 0 {
			r.parsers[s[1].text] = each
		}
		return
	}
	for at := range s {
		if s[at].kind != tokenName || at+1 >= len(s) || !s[at+1].is("(") || s[at+1].skip == 0 ||
			at+1+s[at+1].skip >= len(s) {
			continue
		}
		arguments := split(s[at+2:at+1+s[at+1].skip], ",")
		if h := r.helpers[s[at].text]; h != nil {
			r.callHelper(h, arguments)
			continue
		}
		made := r.call(s[at].text, r.receiver(s, at), arguments)
		if target != "" && len(made) > 0 {
			r.parsers[target] = made
		}
	}
}

// receiver returns the parsers whose method is called at a token.
func (r *argparse) receiver(s []token, at int) []*parser {
	from := at
	for from >= 2 && s[from-1].is(".") && s[from-2].kind == tokenName {
		from -= 2
	}
	if from == at {
		return nil
	}
	known := r.parsers[dotted(s[from:at-1])]
	if known == nil && len(r.main) == 1 && r.main[0].subcommands == nil && !(at >= 2 && s[at-2].is(")")) {
		return r.main // a parameter of a function, for example
	}
	return known
}

// call follows one call, and returns the parsers that it makes.
func (r *argparse) call(name string, of []*parser, arguments [][]token) []*parser {
	if slices.Contains(r.kinds, name) {
		name = "ArgumentParser"
	}
	switch name {
	case "ArgumentParser":
		p := &parser{}
		if given, ok := argument(arguments, "description", -1); ok && r.description == "" {
			described, _ := textOf(given)
			r.description = strings.TrimSpace(cleanDoc(described))
		}
		r.inherit(p, arguments)
		r.main = append(r.main, p)
		return []*parser{p}
	case "add_argument_group", "add_mutually_exclusive_group":
		return of
	case "add_subparsers":
		for _, p := range of {
			if p.subcommands != nil {
				continue
			}
			p.subcommands = map[string]*parser{}
			o := Option{Name: "command", Commands: true, schema: schema{Type: "string"}, required: true}
			if dest, ok := argument(arguments, "dest", -1); ok {
				if text, ok := textOf(dest); ok && validName.MatchString(text) {
					o.Name = text
				}
			}
			p.options = append(p.options, o)
		}
		return of
	case "add_parser":
		given, _ := argument(arguments, "name", 0)
		command, ok := textOf(given)
		if !ok || command == "" || strings.HasPrefix(command, "-") {
			return []*parser{{}} // computed names: its arguments belong to none that is known
		}
		made := &parser{}
		r.inherit(made, arguments)
		for _, p := range of {
			if p.subcommands != nil && p.subcommands[command] == nil && len(p.order) < maxMembers {
				p.subcommands[command] = made
				p.order = append(p.order, command)
			}
		}
		return []*parser{made}
	case "add_argument":
		if o, ok := r.option(arguments); ok {
			for _, p := range of {
				if len(p.options) < maxParams {
					p.options = append(p.options, o)
				}
			}
		}
	}
	return nil
}

// inherit adds the options of the parsers in `parents`, which are no parsers of the program themselves.
func (r *argparse) inherit(p *parser, arguments [][]token) {
	parents, _ := argument(arguments, "parents", -1)
	for _, name := range listOf(parents) {
		for _, parent := range r.parsers[dotted(name)] {
			p.options = append(p.options, parent.options...)
			r.main = slices.DeleteFunc(r.main, func(m *parser) bool { return m == parent })
		}
	}
}

// validName matches the names of properties that the APIs of models take.
var validName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// option reads the arguments of add_argument.
func (r *argparse) option(arguments [][]token) (o Option, ok bool) {
	for i := range arguments {
		if len(arguments[i]) > 1 && arguments[i][0].kind == tokenName && arguments[i][1].is("=") {
			continue
		}
		flag, known := textOf(arguments[i])
		if !known || flag == "" {
			return o, false
		}
		if !strings.HasPrefix(flag, "-") {
			o.Name, o.required = flag, true
		} else if o.Flag == "" || strings.HasPrefix(flag, "--") && !strings.HasPrefix(o.Flag, "--") {
			o.Flag, o.Name = flag, strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
		}
	}
	// A model reads the name: true for the dest of store_false would say the opposite of the flag.
	if given, ok := argument(arguments, "dest", -1); ok && o.Flag != "" && wordOf(arguments, "action") != "store_false" {
		if o.Name, ok = textOf(given); !ok {
			return o, false
		}
	}
	if o.Name == "argv" {
		o.Name = "argv_"
	}
	if !validName.MatchString(o.Name) || wordOf(arguments, "help") == "SUPPRESS" {
		return o, false
	}
	ok = r.describe(&o, arguments)
	return o, ok
}

// wordOf returns the text of an argument, or the last part of its name.
func wordOf(arguments [][]token, name string) string {
	given, _ := argument(arguments, name, -1)
	if text, ok := textOf(given); ok {
		return text
	}
	if last, rest := lastName(given); len(rest) == 0 {
		return last
	}
	return ""
}

// describe reads the kind and the schema of an option. It is false for one that only prints something.
func (r *argparse) describe(o *Option, arguments [][]token) bool {
	word := func(name string) string { return wordOf(arguments, name) }
	given, _ := argument(arguments, "help", -1)
	help, _ := textOf(given)
	o.required = o.required || word("required") == "True"
	given, _ = argument(arguments, "default", -1)
	fallback, hasDefault := literal(given)
	element := schema{Type: "string"}
	if t := simple[word("type")]; t == "integer" || t == "number" {
		element.Type = t
	}
	if choices, ok := argument(arguments, "choices", -1); ok {
		if constant, ok := r.constants[dotted(choices)]; ok {
			choices = constant
		}
		enum := choice(listOf(choices))
		if enum != nil && len(enum.Enum) > 0 && len(enum.Enum) <= maxParams &&
			(enum.Type == "string") == (element.Type == "string") {
			element.Enum = enum.Enum
		}
	}
	switch action := word("action"); action {
	case "store_true", "store_false", "store_const", "append_const":
		o.Kind, element, hasDefault = OptionSwitch, schema{Type: "boolean"}, false
	case "BooleanOptionalAction":
		o.Kind, element = OptionToggle, schema{Type: "boolean"}
	case "count":
		o.Kind, element = OptionCount, schema{Type: "integer"}
	case "append", "extend":
		o.Kind = OptionRepeat
	case "version", "help":
		return false
	}
	switch nargs, isGiven := argument(arguments, "nargs", -1); {
	case !isGiven:
	case word("nargs") == "?":
		o.required = o.required && o.Flag != ""
	default:
		o.Kind = OptionList
		if text := word("nargs"); text == "*" || text == "REMAINDER" || len(nargs) == 0 {
			o.required = o.required && o.Flag != ""
		}
	}
	if hasDefault && string(fallback) != "null" && !(o.required && o.Flag == "") {
		if (fallback[0] == '"') == (element.Type == "string") {
			element.Default = fallback
		}
		help = strings.ReplaceAll(help, "%(default)s", strings.Trim(string(fallback), `"`))
	}
	o.schema = element
	if o.Kind == OptionList || o.Kind == OptionRepeat {
		element.Default = nil
		o.schema = schema{Type: "array", Items: &element}
	}
	help = strings.ReplaceAll(strings.Join(strings.Fields(help), " "), "%%", "%")
	o.schema.Description = pannier.Truncate(help, maxDescription)
	return true
}

// options returns the options of the parser of the program, the one with the most of them, and their parameters.
func (r *argparse) options() ([]Option, json.RawMessage) {
	var main *parser
	size := func(p *parser) int {
		all, _ := p.all("", 0)
		return max(len(all), len(p.options))
	}
	for _, p := range r.main {
		if main == nil || size(p) > size(main) {
			main = p
		}
	}
	if main == nil || size(main) == 0 {
		return nil, nil
	}
	all, ok := main.all("", 0)
	if !ok || len(all) > 4*maxParams {
		return nil, nil
	}
	return parametersOf(all)
}

// maxSubcommands bounds subcommands of subcommands.
const maxSubcommands = 4

// all returns the options of a parser and of its subcommands. It is false if the names of all subcommands are computed.
func (p *parser) all(command string, depth int) (all []Option, ok bool) {
	if depth > maxSubcommands {
		return nil, false
	}
	for _, o := range p.options {
		o.Command = command
		if o.Commands {
			if len(p.order) == 0 {
				return nil, false
			}
			o.schema.Enum = nil
			for _, name := range p.order {
				o.schema.Enum = append(o.schema.Enum, encode(name))
			}
			if depth > 0 && o.Name == "command" {
				o.Name = "subcommand"
			}
		}
		all = append(all, o)
	}
	for _, name := range p.order {
		below, ok := p.subcommands[name].all(strings.TrimSpace(command+" "+name), depth+1)
		if !ok {
			return nil, false
		}
		all = append(all, below...)
	}
	return all, true
}

const argvSchema = `{"type":"array","items":{"type":"string","maxLength":4096},"maxItems":64,` +
	`"description":"Further arguments of the program, as they are, after the others."}`

// parametersOf gives options that differ different names, and returns them with the parameters. Options of
// subcommands with one name and type share it; of others with one name the first counts.
func parametersOf(all []Option) (options []Option, parameters json.RawMessage) {
	merged := map[string]*schema{}
	commands := map[string][]string{}
	var names, required []string
	for _, o := range all {
		if o.Name == "stdin" {
			o.Name = "stdin_" // stdin is the text on standard input
		}
		before, taken := merged[o.Name]
		if taken && (commands[o.Name] == nil || o.Command == "" || before.Type != o.schema.Type ||
			slices.Contains(commands[o.Name], o.Command)) {
			prefix := strings.ReplaceAll(o.Command, " ", "_") + "_"
			if o.Command == "" || !validName.MatchString(prefix+o.Name) {
				continue
			}
			o.Name = prefix + o.Name
			if before, taken = merged[o.Name]; taken {
				continue
			}
		}
		options = append(options, o)
		if !taken {
			own := o.schema
			merged[o.Name] = &own
			names = append(names, o.Name)
		} else if !slices.EqualFunc(before.Enum, o.schema.Enum, slices.Equal) {
			if o.Commands {
				before.Enum = append(slices.Clip(before.Enum), o.schema.Enum...)
			} else {
				before.Enum = nil
			}
		}
		if o.Command != "" {
			commands[o.Name] = append(commands[o.Name], o.Command)
		} else if o.required {
			required = append(required, o.Name)
		}
	}
	var props properties
	for _, name := range names {
		s := *merged[name]
		if of := commands[name]; of != nil {
			s.Default = nil
			described := strings.TrimSuffix("For "+strings.Join(of, ", ")+": "+s.Description, ": ")
			s.Description = pannier.Truncate(described, maxDescription)
		}
		props = append(props, struct {
			name string
			schema
		}{name, s})
	}
	list := encode(props)
	return options, encode(struct {
		Type                 string          `json:"type"`
		Properties           json.RawMessage `json:"properties"`
		Required             []string        `json:"required,omitempty"`
		AdditionalProperties bool            `json:"additionalProperties"`
	}{
		"object", json.RawMessage(string(list[:len(list)-1]) + `,"argv":` + argvSchema + "}"),
		slices.Compact(slices.Sorted(slices.Values(required))), false,
	})
}

// listOf returns the elements of a list, a tuple or a set of tokens.
func listOf(tokens []token) [][]token {
	for _, open := range []string{"[", "(", "{"} {
		if inner, ok := inBrackets(tokens, open); ok {
			return split(inner, ",")
		}
	}
	return nil
}

// dotted returns the text of a dotted name; empty if the tokens are something else.
func dotted(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if (i%2 == 0) != (t.kind == tokenName) || i%2 == 1 && !t.is(".") {
			return ""
		}
		b.WriteString(t.text)
	}
	return b.String()
}
