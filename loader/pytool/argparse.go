package pytool

import (
	"encoding/json"
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
	// Command is the subcommand that has the option; Commands says that the value is the subcommand.
	Command  string `json:"command,omitempty"`
	Commands bool   `json:"commands,omitempty"`

	schema   schema
	required bool
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
}

// statement reads the calls in a statement.
func (r *argparse) statement(s []token) {
	target := ""
	if equals := indexOp(s, "="); equals > 0 {
		target = dotted(s[:equals])
		if colon := indexOp(s[:equals], ":"); colon > 0 {
			target = dotted(s[:colon])
		}
		if len(s) > equals+1 {
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
	if given, ok := argument(arguments, "dest", -1); ok && o.Flag != "" {
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
		n := len(p.options)
		for _, sub := range p.subcommands {
			n += len(sub.options)
		}
		return n
	}
	for _, p := range r.main {
		if main == nil || size(p) > size(main) {
			main = p
		}
	}
	if main == nil || size(main) == 0 {
		return nil, nil
	}
	var all []Option
	for _, o := range main.options {
		if o.Commands {
			if len(main.order) == 0 {
				return nil, nil // the names of all subcommands are computed
			}
			for _, name := range main.order {
				o.schema.Enum = append(o.schema.Enum, encode(name))
			}
		}
		all = append(all, o)
	}
	for _, command := range main.order {
		sub := main.subcommands[command]
		if sub.subcommands != nil {
			continue // subcommands of subcommands are left to argv
		}
		for _, o := range sub.options {
			o.Command = command
			all = append(all, o)
		}
	}
	return parametersOf(all)
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
		before, taken := merged[o.Name]
		if taken && (commands[o.Name] == nil || o.Command == "" || before.Type != o.schema.Type ||
			slices.Contains(commands[o.Name], o.Command)) {
			if o.Command == "" || !validName.MatchString(o.Command+"_"+o.Name) {
				continue
			}
			o.Name = o.Command + "_" + o.Name
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
			before.Enum = nil
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
