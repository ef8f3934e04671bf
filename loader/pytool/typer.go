package pytool

import (
	"encoding/json"
	"slices"
	"strings"
)

// typerOptions returns the options of a program with typer, and their parameters: those of its one command, or those of
// several subcommands. A program with applications within another has none.
func typerOptions(statements [][]token) ([]Option, json.RawMessage) {
	commands, callback, ok := typerCommands(statements)
	if !ok || len(commands) == 0 {
		return nil, nil
	}
	enums := enumsOf(statements)
	single := len(commands) == 1 && callback == nil
	var all []Option
	if callback != nil {
		options, ok := typerParams(callback, enums)
		if !ok {
			return nil, nil
		}
		all = options
	}
	if !single {
		o := Option{Name: "command", Commands: true, required: true, schema: schema{Type: "string"}}
		for _, c := range commands {
			o.schema.Enum = append(o.schema.Enum, encode(c.name))
		}
		all = append(all, o)
	}
	for _, c := range commands {
		options, ok := typerParams(c.def, enums)
		if !ok {
			return nil, nil
		}
		for _, o := range options {
			if !single {
				o.Command = c.name
			}
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return parametersOf(all)
}

// typerCommand is a command, and the tokens of its `def`.
type typerCommand struct {
	name string
	def  []token
}

// typerCommands returns the commands of a program with typer, and the function of its callback. It is false if their names
// are computed, and for applications within another.
func typerCommands(statements [][]token) (commands []typerCommand, callback []token, ok bool) {
	var pending []token
	named := ""
	defs := map[string][]token{}
	for _, s := range statements {
		for i := range s {
			if s[i].isWord("add_typer") {
				return nil, nil, false
			}
			if i+2 < len(s) && s[i].isWord("run") && i > 1 && s[i-2].isWord("typer") && s[i+1].is("(") && s[i+1].skip == 2 {
				commands = append(commands, typerCommand{s[i+2].text, defs[s[i+2].text]})
			}
		}
		switch {
		case s[0].is("@"):
			if name, rest := lastName(s[1:]); name == "command" || name == "callback" {
				inner, _ := inBrackets(rest, "(")
				given, isGiven := argument(split(inner, ","), "name", 0)
				text, ok := textOf(given)
				if isGiven && !ok {
					return nil, nil, false
				}
				named, pending = text, s
			}
		case s[0].isWord("def") && len(s) > 2 && s[2].is("("):
			defs[s[1].text] = s
			if name, _ := lastName(pending[min(1, len(pending)):]); name == "callback" {
				callback = s
			} else if pending != nil {
				if named == "" {
					named = strings.ReplaceAll(strings.ToLower(s[1].text), "_", "-")
				}
				commands = append(commands, typerCommand{named, s})
			}
			pending = nil
		}
	}
	return commands, callback, true
}

// enumsOf returns the values of the enumerations of texts in a module, by name.
func enumsOf(statements [][]token) map[string]*schema {
	enums := map[string]*schema{}
	for i, s := range statements {
		if !s[0].isWord("class") || len(s) < 4 || !slices.ContainsFunc(s[2:], func(t token) bool { return t.isWord("Enum") || t.isWord("StrEnum") }) {
			continue
		}
		values := &schema{Type: "string"}
		for _, member := range block(statements[i:]) {
			if len(member) > 2 && member[0].kind == tokenName && member[1].is("=") {
				text, ok := textOf(member[2:])
				if !ok {
					values = nil
					break
				}
				values.Enum = append(values.Enum, encode(text))
			}
		}
		if values != nil && len(values.Enum) > 0 && len(values.Enum) <= maxMembers {
			enums[s[1].text] = values
		}
	}
	return enums
}

// typerParams returns the options that the parameters of a command are. It is false if one of them cannot be read.
func typerParams(def []token, enums map[string]*schema) (options []Option, ok bool) {
	if len(def) == 0 {
		return nil, false
	}
	var f function
	f.name = def[1].text
	if _, message := f.signature(def[1:]); message != "" || len(f.params) > maxParams {
		return nil, false
	}
	for _, p := range f.params {
		if last, _ := lastName(p.hint); last == "Context" || last == "CallbackParam" {
			continue
		}
		if p.stars > 0 {
			return nil, false
		}
		o, shown, ok := typerOption(p, enums)
		if !ok {
			return nil, false
		}
		if shown {
			options = append(options, o)
		}
	}
	return options, true
}

// typerOption returns the option that a parameter is; shown is false for a hidden one.
func typerOption(p param, enums map[string]*schema) (o Option, shown, ok bool) {
	hint, declared := p.hint, p.value
	fallback, hasDefault := p.value, p.optional
	place := !p.optional
	var arguments [][]token
	if name, rest := lastName(hint); name == "Annotated" {
		inner, _ := inBrackets(rest, "[")
		parts := split(inner, ",")
		if len(parts) < 2 {
			return o, false, false
		}
		hint, declared = parts[0], parts[1]
	}
	switch name, rest := lastName(declared); {
	case name == "Option" || name == "Argument":
		inner, isCall := inBrackets(rest, "(")
		if !isCall {
			return o, false, false
		}
		place, arguments = name == "Argument", split(inner, ",")
		if hint != nil && len(p.hint) == len(hint) { // the first argument is the default
			fallback, hasDefault = argument(arguments, "default", 0)
			if hasDefault && fallback[0].is("...") {
				hasDefault = false
			}
			if len(arguments) > 0 && !isNamed(arguments[0]) {
				arguments = arguments[1:]
			}
		}
	}
	word := func(name string) string { return wordOf(arguments, name) }
	if word("hidden") == "True" {
		return o, false, true
	}
	o.Name = p.name
	if !validName.MatchString(o.Name) || o.Name == "argv" {
		return o, false, false
	}
	element, isList, ok := typerType(hint, enums)
	if !ok {
		return o, false, false
	}
	flag, toggles, ok := typerFlag(p.name, arguments)
	if !ok {
		return o, false, false
	}
	help, _ := argument(arguments, "help", -1)
	described, _ := textOf(help)
	o.required = !hasDefault && word("envvar") == "" && word("default_factory") == ""
	isBool := element.Type == "boolean"
	if !place {
		o.Flag = flag
	}
	switch {
	case place && isBool:
		return o, false, false
	case place && isList:
		o.Kind = OptionList
	case isList:
		o.Kind = OptionRepeat
	case isBool && toggles:
		o.Kind = OptionToggle
	case isBool:
		o.Kind = OptionSwitch
	case word("count") == "True":
		o.Kind = OptionCount
	}
	if value, plain := literal(fallback); hasDefault && plain && string(value) != "null" && !isList && o.Kind != OptionSwitch &&
		(value[0] == '"') == (element.Type == "string") {
		element.Default = value
	}
	if isList {
		element = &schema{Type: "array", Items: element}
	}
	o.schema = *element
	o.schema.Description = strings.Join(strings.Fields(described), " ")
	return o, true, true
}

// typerFlag returns the flag of an option, and whether `--no-` with its name is the opposite.
func typerFlag(name string, arguments [][]token) (flag string, toggles, ok bool) {
	for _, a := range arguments {
		if isNamed(a) {
			continue
		}
		text, known := textOf(a)
		if !known {
			return "", false, false
		}
		if on, off, _ := strings.Cut(text, "/"); strings.HasPrefix(on, "-") && (flag == "" || strings.HasPrefix(on, "--")) {
			flag = strings.TrimSpace(on)
			toggles = strings.TrimSpace(off) == "--no-"+strings.TrimLeft(flag, "-")
		}
	}
	if flag == "" {
		return "--" + strings.ReplaceAll(name, "_", "-"), true, true
	}
	return flag, toggles, true
}

func isNamed(a []token) bool { return len(a) > 1 && a[0].kind == tokenName && a[1].is("=") }

// typerType returns the schema of one value of a type, and whether the type is a list of them.
func typerType(hint []token, enums map[string]*schema) (element *schema, isList, ok bool) {
	hint = withoutParentheses(hint)
	if members := split(hint, "|"); len(members) == 2 && isNone(members[1]) {
		hint = members[0]
	}
	name, rest := lastName(hint)
	inner, _ := inBrackets(rest, "[")
	switch {
	case name == "Optional":
		return typerType(inner, enums)
	case name == "List" || name == "list":
		element, isList, ok = typerType(inner, enums)
		return element, true, ok && !isList && element.Type != "boolean"
	case name == "Literal":
		if s := choice(split(inner, ",")); s != nil && s.Type == "string" {
			return s, false, true
		}
		return nil, false, false
	case len(rest) > 0:
		return nil, false, false
	case len(hint) == 0:
		return &schema{Type: "string"}, false, true
	case enums[name] != nil:
		values := *enums[name]
		return &values, false, true
	}
	switch kind := simple[name]; kind {
	case "string", "integer", "number", "boolean":
		return &schema{Type: kind}, false, true
	}
	return nil, false, false
}
