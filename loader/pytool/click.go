package pytool

import (
	"encoding/json"
	"strings"

	"pannier"
)

// clickOptions returns the options of the one command of click in a module, and their parameters. Groups have none:
// their commands are left to argv.
func clickOptions(statements [][]token) ([]Option, json.RawMessage) {
	var all, pending []Option
	commands := 0
	for _, s := range statements {
		if !s[0].is("@") {
			if len(pending) > 0 {
				all, pending = pending, nil
			}
			continue
		}
		name, rest := lastName(s[1:])
		inner, _ := inBrackets(rest, "(")
		arguments := split(inner, ",")
		switch name {
		case "command":
			commands++
		case "group":
			return nil, nil
		case "option", "argument":
			if o, ok := clickOption(name == "argument", arguments); ok && len(pending) < maxParams {
				pending = append(pending, o)
			}
		}
	}
	if commands != 1 || len(all) == 0 {
		return nil, nil
	}
	return parametersOf(all)
}

// clickOption reads the arguments of click.option or click.argument.
func clickOption(byPlace bool, arguments [][]token) (o Option, ok bool) {
	given := func(name string) []token {
		tokens, _ := argument(arguments, name, -1)
		return tokens
	}
	isTrue := func(name string) bool { return len(given(name)) == 1 && given(name)[0].isWord("True") }
	for _, a := range arguments {
		if len(a) > 1 && a[0].kind == tokenName && a[1].is("=") {
			continue
		}
		text, known := textOf(a)
		if !known {
			return o, false
		}
		flag, no, toggle := strings.Cut(text, "/")
		switch {
		case !strings.HasPrefix(flag, "-"):
			o.Name = strings.ToLower(flag)
		case o.Flag == "" || strings.HasPrefix(flag, "--") && !strings.HasPrefix(o.Flag, "--"):
			o.Flag = strings.TrimSpace(flag)
		}
		if toggle {
			o.Kind = OptionSwitch
			if strings.TrimSpace(no) == "--no-"+strings.TrimLeft(o.Flag, "-") {
				o.Kind = OptionToggle
			}
		}
	}
	if o.Name == "" {
		o.Name = strings.ReplaceAll(strings.TrimLeft(o.Flag, "-"), "-", "_")
	}
	if byPlace != (o.Flag == "") || !validName.MatchString(o.Name) || o.Name == "argv" || isTrue("hidden") {
		return o, false
	}
	element := schema{Type: "string"}
	kind, rest := lastName(given("type"))
	switch strings.ToLower(kind) {
	case "int", "intrange":
		element.Type = "integer"
	case "float", "floatrange":
		element.Type = "number"
	case "choice":
		if inner, ok := inBrackets(rest, "("); ok && len(inner) > 0 {
			if enum := choice(listOf(split(inner, ",")[0])); enum != nil && enum.Type == "string" {
				element.Enum = enum.Enum
			}
		}
	}
	nargs, hasNargs := literal(given("nargs"))
	fallback, hasDefault := literal(given("default"))
	o.required = isTrue("required") ||
		byPlace && given("default") == nil && given("required") == nil && string(nargs) != "-1"
	switch {
	case isTrue("is_flag") || o.Kind != "":
		if o.Kind == "" {
			o.Kind = OptionSwitch
		}
		element = schema{Type: "boolean"}
	case isTrue("count"):
		o.Kind, element = OptionCount, schema{Type: "integer"}
	case isTrue("multiple"):
		o.Kind, element = OptionRepeat, schema{Type: "array", Items: &schema{Type: element.Type, Enum: element.Enum}}
	case hasNargs && string(nargs) != "1":
		o.Kind, element = OptionList, schema{Type: "array", Items: &schema{Type: element.Type, Enum: element.Enum}}
	case hasDefault && string(fallback) != "null" && (element.Type == "string") == (fallback[0] == '"'):
		element.Default = fallback
	}
	help, _ := textOf(given("help"))
	element.Description = pannier.Truncate(strings.Join(strings.Fields(help), " "), maxDescription)
	o.schema = element
	return o, true
}
