package scripts

import (
	"regexp"
	"slices"
	"strings"

	"pannier/loader/pytool"
)

// word is a token of JavaScript: a name, a number, a text or a mark.
type word struct {
	text string
	kind byte // n, 0, " or .
	// known says that the value of a text is known.
	known bool
}

func (w word) is(mark string) bool     { return w.kind == '.' && w.text == mark }
func (w word) isName(name string) bool { return w.kind == 'n' && w.text == name }

// wordsIn returns the tokens of a text, without comments and regular expressions.
func wordsIn(source string) (words []word) {
	for i := 0; i < len(source); {
		c := source[i]
		switch {
		case c <= ' ':
			i++
		case strings.HasPrefix(source[i:], "//") || i == 0 && strings.HasPrefix(source, "#!"):
			i += indexOr(source[i:], "\n")
		case strings.HasPrefix(source[i:], "/*"):
			i += min(len(source)-i, indexOr(source[i+2:], "*/")+4)
		case c == '"' || c == '\'' || c == '`':
			text, length, known := javascriptText(source[i:])
			words = append(words, word{text, '"', known})
			i += length
		case c == '/' && (len(words) == 0 || words[len(words)-1].kind == '.' && !strings.Contains(")]}", words[len(words)-1].text)):
			i += expressionEnd(source[i:])
			words = append(words, word{"", '"', false})
		case isNameByte(c) && (c < '0' || c > '9'):
			end := i
			for end < len(source) && isNameByte(source[end]) {
				end++
			}
			words = append(words, word{source[i:end], 'n', false})
			i = end
		case c >= '0' && c <= '9':
			end := i
			for end < len(source) && (isNameByte(source[end]) || source[end] == '.') {
				end++
			}
			words = append(words, word{source[i:end], '0', false})
			i = end
		default:
			words = append(words, word{source[i : i+1], '.', false})
			i++
		}
	}
	return words
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// indexOr returns the index of a text, or the length.
func indexOr(source, text string) int {
	if i := strings.Index(source, text); i >= 0 {
		return i
	}
	return len(source)
}

// javascriptText returns the value of the text that source begins with, and its length in source. It is not known with
// `${`, and with escapes other than those of quotes and marks.
func javascriptText(source string) (text string, length int, known bool) {
	var b strings.Builder
	known = true
	for i := 1; i < len(source); i++ {
		switch c := source[i]; {
		case c == source[0]:
			return b.String(), i + 1, known
		case c == '\n' && source[0] != '`':
			return "", i, false
		case c == '\\' && i+1 < len(source):
			i++
			switch source[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				known = known && strings.IndexByte("xu01234567", source[i]) < 0
				b.WriteByte(source[i])
			}
		default:
			known = known && (c != '$' || source[0] != '`' || !strings.HasPrefix(source[i:], "${"))
			b.WriteByte(c)
		}
	}
	return "", len(source), false
}

// expressionEnd returns the length of the regular expression that source begins with; 1 if it is a division.
func expressionEnd(source string) int {
	class := false
	for i := 1; i < len(source) && source[i] != '\n'; i++ {
		switch source[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return i + 1
			}
		}
	}
	return 1
}

// closing returns the index of the mark that closes the one at an index, or -1.
func closing(words []word, open int) int {
	depth := 0
	for i := open; i < len(words); i++ {
		if words[i].kind != '.' {
			continue
		}
		switch words[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// parted splits words at commas outside of brackets.
func parted(words []word) (parts [][]word) {
	from := 0
	for i := 0; i < len(words); i++ {
		if words[i].kind == '.' && strings.Contains("([{", words[i].text) {
			if end := closing(words, i); end > 0 {
				i = end
			}
		} else if words[i].is(",") {
			parts = append(parts, words[from:i])
			from = i + 1
		}
	}
	if from < len(words) {
		parts = append(parts, words[from:])
	}
	return parts
}

// knownText returns the text that words are.
func knownText(words []word) (string, bool) {
	if len(words) == 1 && words[0].kind == '"' && words[0].known {
		return words[0].text, true
	}
	return "", false
}

// textsIn returns the texts of a list of them.
func textsIn(words []word) (texts []string) {
	if len(words) < 2 || !words[0].is("[") || closing(words, 0) != len(words)-1 {
		return nil
	}
	for _, part := range parted(words[1 : len(words)-1]) {
		text, ok := knownText(part)
		if !ok {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// defaultOf returns a default that is a text or a number.
func defaultOf(words []word) string {
	if text, ok := knownText(words); ok {
		return text
	}
	if len(words) == 1 && words[0].kind == '0' {
		return words[0].text
	}
	return ""
}

var (
	importsCommander = regexp.MustCompile(`['"]commander['"]`)
	importsParseArgs = regexp.MustCompile(`\bparseArgs\b[^;]*['"](?:node:)?util['"]|\butil\.parseArgs\b`)
	ownParseArgs     = regexp.MustCompile(`\bfunction\s+parseArgs\b|\bparseArgs\s*=[^=>]*=>`)
)

// scriptOptions returns the options of a program with commander or with parseArgs of Node.js. certain is false if it has
// a parser that is not understood.
func scriptOptions(source string) (options []pytool.Option, certain bool) {
	switch {
	case importsCommander.MatchString(source):
		return commanderOptions(wordsIn(source)), false
	case importsParseArgs.MatchString(source) && !ownParseArgs.MatchString(source):
		return parseArgsOptions(wordsIn(source)), false
	}
	return nil, !strings.Contains(source, "yargs") && !strings.Contains(source, "minimist")
}

// commanderOptions returns the options of the one command of a program. Subcommands are left to argv.
func commanderOptions(words []word) (options []pytool.Option) {
	commands := 0
	for i := 0; i+2 < len(words); i++ {
		if words[i].isName("new") && words[i+1].isName("Command") {
			commands++
		}
		if !words[i].is(".") || words[i+1].kind != 'n' || !words[i+2].is("(") {
			continue
		}
		end := closing(words, i+2)
		if end < 0 {
			return nil
		}
		arguments := parted(words[i+3 : end])
		var o pytool.Option
		var ok bool
		switch words[i+1].text {
		case "command", "addCommand":
			return nil
		case "option", "requiredOption":
			o, ok = commanderOption(arguments, words[i+1].text == "requiredOption")
		case "addOption":
			o, ok = commanderChain(words[i+3 : end])
		case "argument":
			o, ok = commanderArgument(arguments)
			if !ok {
				return nil // those after it have other places
			}
		case "arguments":
			text, known := "", false
			if len(arguments) == 1 {
				text, known = knownText(arguments[0])
			}
			for each := range strings.FieldsSeq(text) {
				if o, ok := commanderArgument([][]word{{{each, '"', true}}}); ok {
					options = append(options, o)
				} else {
					known = false
				}
			}
			if !known {
				return nil
			}
		}
		if ok {
			options = append(options, o)
		}
	}
	if commands > 1 {
		return nil
	}
	return options
}

var (
	commanderFlags = regexp.MustCompile(`^(?:(-\w)[ ,|]+)?(--?[\w-]+)(?:[ =]([<\[])([^>\]]*?)(\.\.\.)?[>\]])?$`)
	commanderPlace = regexp.MustCompile(`^([<\[])([\w-]+)(\.\.\.)?[>\]]$`)
)

// commanderOption reads the arguments of option.
func commanderOption(arguments [][]word, required bool) (o pytool.Option, ok bool) {
	if len(arguments) == 0 {
		return o, false
	}
	text, known := knownText(arguments[0])
	m := commanderFlags.FindStringSubmatch(strings.TrimSpace(text))
	if !known || m == nil {
		return o, false
	}
	v := pytool.Value{Required: required}
	if len(arguments) > 1 {
		v.Description, _ = knownText(arguments[1])
	}
	o = pytool.Option{Name: optionName(m[2]), Flag: m[2]}
	switch {
	case m[3] == "":
		o.Kind, v.Required = pytool.OptionSwitch, false
	case m[5] != "":
		o.Kind = pytool.OptionRepeat
	}
	if len(arguments) > 2 && o.Kind == "" {
		converter := arguments[2]
		if last := converter[len(converter)-1]; last.kind == 'n' {
			v.Type = map[string]string{"parseInt": "integer", "parseFloat": "number", "Number": "number"}[last.text]
			if len(arguments) > 3 {
				v.Default = defaultOf(arguments[3])
			}
		} else {
			v.Default = defaultOf(converter)
		}
	}
	if v.Default != "" {
		v.Required = false
	}
	return o.With(v), true
}

// commanderChain reads `new Option(…)` with its choices and its default.
func commanderChain(words []word) (o pytool.Option, ok bool) {
	if len(words) < 4 || !words[0].isName("new") || !words[2].is("(") && !words[1].isName("Option") {
		return o, false
	}
	open := slices.IndexFunc(words, func(w word) bool { return w.is("(") })
	end := closing(words, open)
	if open < 0 || end < 0 {
		return o, false
	}
	arguments := parted(words[open+1 : end])
	required, hidden := false, false
	var choices []string
	for i := end + 1; i+2 < len(words); i++ {
		if !words[i].is(".") || !words[i+2].is("(") {
			continue
		}
		end := closing(words, i+2)
		if end < 0 {
			return o, false
		}
		inner := words[i+3 : end]
		switch words[i+1].text {
		case "choices":
			choices = textsIn(inner)
		case "default":
			if parts := parted(inner); len(parts) > 0 && len(arguments) == 2 {
				arguments = append(arguments, parts[0])
			}
		case "makeOptionMandatory":
			required = true
		case "hideHelp":
			hidden = true
		}
		i = end
	}
	o, ok = commanderOption(arguments, required)
	if ok && choices != nil && o.Kind == "" {
		description, _ := knownText(arguments[min(1, len(arguments)-1)])
		v := pytool.Value{Description: description, Choices: choices, Required: required}
		if len(arguments) > 2 {
			v.Default = defaultOf(arguments[2])
			v.Required = false
		}
		o = o.With(v)
	}
	return o, ok && !hidden
}

// commanderArgument reads the arguments of argument.
func commanderArgument(arguments [][]word) (o pytool.Option, ok bool) {
	if len(arguments) == 0 {
		return o, false
	}
	text, known := knownText(arguments[0])
	if !strings.ContainsAny(text, "<[") {
		text = "<" + text + ">"
	}
	m := commanderPlace.FindStringSubmatch(text)
	if !known || m == nil {
		return o, false
	}
	v := pytool.Value{Required: m[1] == "<"}
	if len(arguments) > 1 {
		v.Description, _ = knownText(arguments[1])
	}
	o = pytool.Option{Name: strings.ReplaceAll(m[2], "-", "_")}
	if m[3] != "" {
		o.Kind = pytool.OptionList
	}
	return o.With(v), true
}

// parseArgsOptions returns the options of the one call of parseArgs.
func parseArgsOptions(words []word) (options []pytool.Option) {
	calls := 0
	for i := 0; i+2 < len(words); i++ {
		if !words[i].isName("parseArgs") || !words[i+1].is("(") {
			continue
		}
		if calls++; calls > 1 || !words[i+2].is("{") {
			return nil
		}
		end := closing(words, i+2)
		if end < 0 {
			return nil
		}
		declared, ok := propertiesOf(words[i+3 : end])["options"]
		if ok && len(declared) <= 1 { // the name of an object, or `options` alone
			name := "options"
			if len(declared) == 1 {
				name = declared[0].text
			}
			declared = objectNamed(words, name)
		}
		if len(declared) < 2 || !declared[0].is("{") {
			return nil
		}
		for _, part := range parted(declared[1 : len(declared)-1]) {
			if o, ok := parseArgsOption(part); ok {
				options = append(options, o)
			}
		}
	}
	return options
}

// objectNamed returns the object that a constant has.
func objectNamed(words []word, name string) []word {
	for i := 0; i+3 < len(words); i++ {
		if words[i].isName("const") && words[i+1].isName(name) && words[i+2].is("=") && words[i+3].is("{") {
			if end := closing(words, i+3); end > 0 {
				return words[i+3 : end+1]
			}
		}
	}
	return nil
}

// propertiesOf returns the values of an object by name, empty for those that have the name of a variable.
func propertiesOf(words []word) map[string][]word {
	properties := map[string][]word{}
	for _, part := range parted(words) {
		if len(part) > 2 && part[1].is(":") {
			properties[part[0].text] = part[2:]
		} else if len(part) == 1 {
			properties[part[0].text] = nil
		}
	}
	return properties
}

// parseArgsOption reads `name: {type: …}`.
func parseArgsOption(part []word) (o pytool.Option, ok bool) {
	if len(part) < 5 || part[0].kind != 'n' && !part[0].known || !part[1].is(":") || !part[2].is("{") {
		return o, false
	}
	name := part[0].text
	properties := propertiesOf(part[3 : len(part)-1])
	kind, known := knownText(properties["type"])
	if !known || name == "help" || name == "version" {
		return o, false
	}
	o = pytool.Option{Name: strings.ReplaceAll(name, "-", "_"), Flag: "--" + name}
	v := pytool.Value{Default: defaultOf(properties["default"])}
	switch multiple := len(properties["multiple"]) == 1 && properties["multiple"][0].isName("true"); {
	case kind == "boolean":
		o.Kind = pytool.OptionSwitch
	case kind != "string":
		return o, false
	case multiple:
		o.Kind = pytool.OptionRepeat
	}
	return o.With(v), true
}
