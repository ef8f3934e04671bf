package scripts

import (
	"path"
	"regexp"
	"strings"

	"pannier/loader/pytool"
)

// maxUsage bounds the lines of a text that are searched for usage.
const maxUsage = 5000

// usageText is what a script prints, or says in comments, of how it is called.
type usageText struct {
	lines []string          // what follows the name of the script in usage lines
	help  map[string]string // descriptions of flags
	metas map[string]string // names of the values of flags
}

var (
	lineMarks  = regexp.MustCompile(`^\s*(?:#+|//+|\*|;|echo\s+(?:-e\s+)?|printf\s+|console\.(?:log|error)\(|print\()?\s*["'\x60]*\s?`)
	usageStart = regexp.MustCompile(`(?i)^\s*(?:usage|synopsis)\s*:\s*(.*)$`)
	flagLine   = regexp.MustCompile(`^\s*(-\w)?(?:\s*[,|/]\s*)?(--[\w-]+)?(?:[ =]([<\[{]?[A-Za-z][\w|./-]*[>\]}]?))?(?:\s{2,}|\s+[-–—:]\s+|\t)(\S.*)$`)
	starters   = regexp.MustCompile(`^(?:\$|sudo|python[\d.]*|node|bash|sh|zsh|npx|tsx|bun|deno|run|uv)$`)
)

// usageOf reads the usage of a script with a file name.
func usageOf(source, name string) *usageText {
	u := &usageText{help: map[string]string{}, metas: map[string]string{}}
	inUsage := 0
	n := 0
	for line := range strings.Lines(source) {
		if n++; n > maxUsage {
			break
		}
		line = strings.TrimRight(line, " \t\r\n")
		text := strings.TrimRight(lineMarks.ReplaceAllString(line, ""), `"'\);,`+"`")
		if m := usageStart.FindStringSubmatch(text); m != nil {
			inUsage = 12
			text = m[1]
		}
		if inUsage > 0 {
			inUsage--
			if rest, ok := afterScript(text, name); ok {
				u.lines = append(u.lines, rest)
			} else if strings.TrimSpace(text) == "" && len(u.lines) > 0 {
				inUsage = 0
			}
		}
		if !strings.HasPrefix(strings.TrimSpace(text), "-") {
			continue
		}
		if m := flagLine.FindStringSubmatch(text); m != nil && m[1]+m[2] != "" {
			for _, flag := range m[1:3] {
				if flag != "" && u.help[flag] == "" {
					u.help[flag], u.metas[flag] = m[4], strings.Trim(m[3], "<>[]{}")
				}
			}
		}
	}
	return u
}

// afterScript returns what follows the name of the script in a line that begins with a command of it.
func afterScript(text, name string) (rest string, ok bool) {
	words := strings.Fields(text)
	for i, word := range words {
		base := path.Base(strings.Trim(word, `"'`))
		if base == name || word == "$0" || strings.Contains(word, "basename") || base == "$(basename" {
			rest := strings.Join(words[i+1:], " ")
			if strings.Contains(word, "basename") { // $(basename "$0")
				_, after, found := strings.Cut(strings.Join(words[i:], " "), ")")
				if !found {
					return "", false
				}
				rest = strings.TrimSpace(strings.TrimLeft(after, `"'`))
			}
			return rest, true
		}
		if !starters.MatchString(word) {
			return "", false
		}
	}
	return "", false
}

// describe returns a description of a flag, with the name of its value where that says more.
func (u *usageText) describe(flags ...string) string {
	for _, flag := range flags {
		if help := u.help[flag]; help != "" {
			if meta := u.metas[flag]; strings.Contains(meta, "|") {
				return help + " (" + meta + ")"
			}
			return help
		}
	}
	return ""
}

var (
	placeWord = regexp.MustCompile(`^(?:<([A-Za-z][\w -]*)>|([A-Z][A-Z0-9_-]+))(\.\.\.)?$`)
	flagWord  = regexp.MustCompile(`^(--?[A-Za-z][\w-]*)(?:[ =](?:<([^<>|]+)>|([A-Z][A-Z0-9_-]*)))?$`)
	notName   = regexp.MustCompile(`[^a-z0-9]+`)
)

// options returns the options of the one usage line of a script, if all of the line is known and the text has each of its
// flags elsewhere.
func (u *usageText) options(source string) (options []pytool.Option) {
	if len(u.lines) != 1 || strings.Contains(source, "ArgumentParser") || strings.Contains(source, "getopts") {
		return nil
	}
	optional := false
	for _, word := range usageWords(u.lines[0]) {
		text, isOptional := strings.CutPrefix(word, "[")
		if isOptional {
			var closed bool
			if text, closed = strings.CutSuffix(text, "]"); !closed {
				return nil
			}
		}
		isList := strings.HasSuffix(text, "...")
		if m := flagWord.FindStringSubmatch(text); m != nil {
			flag, meta := m[1], m[2]+m[3]
			if strings.Count(source, flag) < 2 || flag == "-h" || flag == "--help" {
				if flag == "-h" || flag == "--help" {
					continue
				}
				return nil
			}
			o := pytool.Option{Name: optionName(flag), Flag: flag, Raw: true}
			if meta == "" {
				o.Kind = pytool.OptionSwitch
			}
			options = append(options, o.With(pytool.Value{Description: u.describe(flag), Required: !isOptional && meta != ""}))
			continue
		}
		m := placeWord.FindStringSubmatch(text)
		if m == nil && isOptional && plainWord.MatchString(strings.TrimSuffix(text, "...")) && !genericWord.MatchString(text) {
			m = []string{"", strings.TrimSuffix(text, "..."), "", ""}
		}
		if m == nil || genericWord.MatchString(m[1]+m[2]) || optional && !isOptional {
			return nil
		}
		optional = optional || isOptional
		name := strings.Trim(notName.ReplaceAllString(strings.ToLower(m[1]+m[2]), "_"), "_")
		o := pytool.Option{Name: name, Raw: true}
		if isList {
			o.Kind = pytool.OptionList
		}
		options = append(options, o.With(pytool.Value{Required: !isOptional}))
	}
	seen := map[string]bool{}
	for _, o := range options {
		if seen[o.Name] {
			return nil
		}
		seen[o.Name] = true
	}
	return options
}

var (
	plainWord   = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	genericWord = regexp.MustCompile(`(?i)^(?:options?|flags?|args?|arguments?|command|subcommand|opts|\.\.\.)(?:\.\.\.)?$`)
)

// optionName returns the name of the parameter of a flag.
func optionName(flag string) string { return strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_") }

// usageWords splits a usage line into words, with a flag and its value as one, and with brackets around what is in them.
func usageWords(line string) (words []string) {
	depth, from := 0, 0
	add := func(to int) {
		if word := strings.TrimSpace(line[from:to]); word != "" {
			words = append(words, word)
		}
		from = to
	}
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '[', '<', '{', '(':
			depth++
		case ']', '>', '}', ')':
			depth--
		case ' ':
			if depth == 0 {
				add(i)
			}
		case '#':
			if depth == 0 && i > 0 && line[i-1] == ' ' { // a comment
				line = line[:i]
			}
		}
	}
	add(len(line))
	var joined []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		isFlag := strings.HasPrefix(word, "-") && !strings.Contains(word, "=")
		if isFlag && i+1 < len(words) && placeWord.MatchString(words[i+1]) && !strings.HasSuffix(words[i+1], "...") {
			i++
			word += " " + words[i]
		}
		joined = append(joined, word)
	}
	return joined
}
