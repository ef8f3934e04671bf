package scripts

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxCommands bounds the commands of a text.
const maxCommands = 4096

// Reference is a place in a Markdown text that names a file of the skill.
type Reference struct {
	Path string // below the skill
	// Run is set if a command runs the file; otherwise inline code names it.
	Run bool
	// Sentence is the text around it, without marks of Markdown; it can be empty.
	Sentence string
}

// Place is where a Markdown text lies.
type Place struct {
	// Folder is the name of the directory of the skill, Dir that of the text below the skill.
	Folder, Dir string
	// Has reports whether the skill has a file.
	Has func(name string) bool
	// Packages has the command lines in `scripts` of each package.json, by name and by its directory, "." for that of the
	// skill.
	Packages map[string]map[string]string
}

// reader collects the references of a text.
type reader struct {
	Place
	found    []Reference
	commands int
	inside   bool // the command line of a package.json
	// prose is the last line of text, heading the last heading, comment the last comment in a block, cd the directory
	// that a block has changed to.
	prose, heading, comment, cd string
}

var (
	fenceLine   = regexp.MustCompile("^[ \t>]*(?:[-*+]|\\d+[.)])?[ \t]*(`{3,}|~{3,})(.*)$")
	inlineCode  = regexp.MustCompile("(`+)([^`\n]+)(`+)")
	headingLine = regexp.MustCompile(`^#{1,6}\s`)
	// introduces matches lines that only announce a command.
	introduces = regexp.MustCompile(`(?i)^(?:(?:then|now|next|first|once|after|when)\b[^.:]{0,40}[, ] ?)?` +
		`(?:run|execute|use|call|or|usage|example)\b.{0,30}:$|^\S+:?$`)
	hereDoc = regexp.MustCompile(`<<-?\s*\\?["']?(\w+)["']?`)
)

// Named returns the references of a Markdown text to files of the skill, in their order. Commands are read as a shell
// splits them: after `&&` and its like another one begins, and neither redirections nor here-documents name a script.
func Named(text string, at Place) []Reference {
	r := reader{Place: at}
	fence, here, pending := "", "", ""
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		var m []string
		if strings.Contains(line, "```") || strings.Contains(line, "~~~") {
			m = fenceLine.FindStringSubmatch(line)
		}
		if m != nil && (fence == "" && !strings.Contains(m[2], "`") ||
			fence != "" && strings.HasPrefix(m[1], fence) && strings.TrimSpace(m[2]) == "") {
			if fence == "" {
				fence = m[1]
			} else {
				fence = ""
			}
			r.cd, r.comment, here, pending = "", "", "", ""
			continue
		}
		if fence == "" {
			r.line(line)
			continue
		}
		if here != "" {
			if strings.TrimSpace(line) == here {
				here = ""
			}
			continue
		}
		line = pending + strings.TrimSpace(line)
		pending = ""
		if before, more := strings.CutSuffix(line, "\\"); more && len(before) < 8<<10 {
			pending = before + " "
			continue
		}
		if strings.Contains(line, "<<") && !strings.Contains(line, "<<<") {
			if m := hereDoc.FindStringSubmatch(line); m != nil {
				here = m[1]
			}
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			r.comment = plainText(comment)
			continue
		}
		before := len(r.found)
		r.shell(line, r.comment, true)
		if line == "" || len(r.found) > before {
			r.comment = ""
		}
	}
	return r.found
}

// line reads a line outside of fenced blocks.
func (r *reader) line(line string) {
	text := strings.TrimSpace(line)
	r.cd, r.comment = "", ""
	if command, ok := strings.CutPrefix(strings.TrimLeft(text, "> "), "$ "); ok {
		r.shell(command, "", true)
		return
	}
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
		r.shell(text, "", true)
	}
	var codes [][]int
	if strings.Contains(line, "`") {
		codes = inlineCode.FindAllStringSubmatchIndex(line, 64)
	}
	for _, m := range codes {
		if m[3]-m[2] == m[7]-m[6] {
			r.cd = ""
			r.shell(line[m[4]:m[5]], sentenceAround(line, m[0]), false)
		}
	}
	switch {
	case headingLine.MatchString(text):
		heading := plainText(text)
		if !strings.Contains(heading, " ") && r.heading != "" && text[1] == '#' {
			heading = r.heading + ": " + heading
		} else {
			r.heading = heading
		}
		r.prose = heading
	case text != "" && introduces.MatchString(plainText(text)):
		r.prose = cmp.Or(r.heading, plainText(text))
	case text != "":
		r.prose = plainText(text)
	}
}

// shell reads a line of a shell. block is set in fenced blocks, where a path alone is run only with `./` before it.
func (r *reader) shell(line, sentence string, block bool) {
	for _, prompt := range []string{"$ ", "> ", "% ", "PS> ", "! "} {
		line = strings.TrimPrefix(line, prompt)
	}
	for _, words := range splitCommands(line) {
		if r.commands++; r.commands > maxCommands {
			return
		}
		r.command(words, sentence, block)
	}
}

var (
	assignment  = regexp.MustCompile(`^\w+=`)
	interpreter = regexp.MustCompile(`^(?:python[\d.]*|py|node|nodejs|bash|sh|zsh|dash|ruby|perl|pwsh|` +
		`powershell(?:\.exe)?|deno|bun|tsx|ts-node)$`)
	wrapper = regexp.MustCompile(`^(?:sudo|time|nohup|env|exec|command|npx|bunx|uvx|uv|poetry|pipenv|pdm|hatch|` +
		`pnpm|yarn|xvfb-run|timeout|xargs)$`)
	wrappedWords = regexp.MustCompile(`^(?:run|exec|dlx|\d+[smh]?)$`)
	// takesValue matches options of interpreters and of what starts them whose value is the next word.
	takesValue = regexp.MustCompile(`^(?:-[WXrp]|--(?:require|import|loader|with|with-requirements|python|from|` +
		`project|directory|extra|group|env-file|executionpolicy))$`)
)

// keywords of a shell can stand before a command.
var keywords = []string{"do", "then", "else", "if", "elif", "while", "until", "!", "{"}

// command reads the words of one command.
func (r *reader) command(words []string, sentence string, block bool) {
	for len(words) > 0 && (assignment.MatchString(words[0]) || slices.Contains(keywords, words[0])) {
		words = words[1:]
	}
	if len(words) == 0 {
		return
	}
	if words[0] == "cd" || words[0] == "pushd" {
		if len(words) > 1 {
			r.cd = path.Join(r.cd, words[1])
		}
		return
	}
	if line, dir := r.packageScript(words); line != "" {
		before := r.cd
		r.cd, r.inside = dir, true
		r.shell(line, sentence, true)
		r.cd, r.inside = before, false
		return
	}
	runs := false
	for i := 0; i < len(words); i++ {
		word := words[i]
		name := path.Base(word)
		switch {
		case !runs && (wrapper.MatchString(name) || wrappedWords.MatchString(word) && i > 0 ||
			assignment.MatchString(word)):
			// `uv run` starts a script without naming an interpreter
			runs = runs || name == "run" && i > 0
			continue
		case interpreter.MatchString(name) && !HasExtension(name):
			runs = true
			continue
		case runs && word == "-m" && i+1 < len(words):
			r.module(words[i+1], sentence)
			return
		case word == "-c" || word == "-e" || word == "--eval":
			return
		case takesValue.MatchString(strings.ToLower(word)) || takesValue.MatchString(word):
			i++
			continue
		case word == "", strings.HasPrefix(word, "-"), word == "run" && runs:
			continue
		}
		file, ok := r.resolve(word)
		if !ok && runs && !strings.Contains(word, "/") {
			ok = r.Has("scripts/" + word)
			file = "scripts/" + word
		}
		if ok {
			explicit := strings.HasPrefix(word, "./") || strings.ContainsAny(word[:1], "${<")
			r.add(Reference{Path: file, Run: runs || explicit || len(words) > 1 && !block, Sentence: sentence})
		}
		return
	}
}

var runsPackageScript = regexp.MustCompile(`^(?:npm|pnpm|yarn|bun)$`)

// packageScript returns the command line that `npm run NAME` stands for, and the directory of its package.json.
func (r *reader) packageScript(words []string) (line, dir string) {
	if r.inside || len(r.Packages) == 0 || len(words) < 3 || !runsPackageScript.MatchString(words[0]) || words[1] != "run" {
		return "", ""
	}
	for _, dir := range []string{path.Clean(r.cd), "."} {
		if line := r.Packages[dir][words[2]]; line != "" {
			return line, dir
		}
	}
	return "", ""
}

// module resolves the argument of `python -m`.
func (r *reader) module(name, sentence string) {
	base := strings.ReplaceAll(name, ".", "/")
	for _, file := range []string{base + ".py", base + "/__main__.py"} {
		if file, ok := r.resolve(file); ok {
			r.add(Reference{Path: file, Run: true, Sentence: sentence})
			return
		}
	}
}

func (r *reader) add(ref Reference) {
	if ref.Sentence == "" {
		ref.Sentence = r.prose
	}
	r.found = append(r.found, ref)
}

var (
	placeholder = regexp.MustCompile(`^(?:\$\{[^}/]*\}|\$env:\w+|\$\w+|\{+[^}/]*\}+|<[^>/]*>|%\w+%|\[[^\]/]*\])/`)
	pluginRoot  = regexp.MustCompile(`(?i)^\S*(?:plugin|repo|project|workspace|home)`)
)

// resolve returns the file of the skill that a word of a command names. A path through a variable counts below the
// skill unless the variable is of something larger. Other paths count below the skill, below the Markdown file or
// where the block has changed to, or behind the name of the skill's directory.
func (r *reader) resolve(word string) (string, bool) {
	word = strings.ReplaceAll(word, `\`, "/")
	if strings.ContainsAny(word, "*?\x00\n") || len(word) > 1024 {
		return "", false
	}
	variable := placeholder.FindString(word)
	rest := word[len(variable):]
	var tries []string
	switch {
	case variable != "" && !pluginRoot.MatchString(strings.Trim(variable, "${}<>%/[]")):
		tries = append(tries, rest)
	case variable == "" && !path.IsAbs(word) && !strings.HasPrefix(word, "~"):
		tries = append(tries, path.Join(r.cd, word), word, path.Join(r.Dir, r.cd, word), path.Join(r.Dir, word))
	}
	if _, below, ok := cutFolder(word, r.Folder); ok {
		tries = append(tries, below)
	}
	if _, below, ok := cutFolder(path.Join(r.cd, word), r.Folder); ok {
		tries = append(tries, below)
	}
	for _, name := range tries {
		if placed := placeholder.FindString(name); placed != "" {
			name = name[len(placed):]
		}
		name = path.Clean(name)
		if name != "." && !path.IsAbs(name) && name != ".." && !strings.HasPrefix(name, "../") && r.Has(name) {
			return name, true
		}
	}
	return "", false
}

// cutFolder cuts a path after the last part with a name.
func cutFolder(name, folder string) (before, below string, ok bool) {
	parts := strings.Split(name, "/")
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == folder && folder != "" && !slices.Contains(parts[i:], "..") {
			return strings.Join(parts[:i], "/"), strings.Join(parts[i+1:], "/"), true
		}
	}
	return "", "", false
}

// splitCommands splits a line into commands and these into words, without redirections and comments.
func splitCommands(line string) [][]string {
	var (
		commands [][]string
		words    []string
		word     strings.Builder
		quote    rune
		started  bool
		skip     bool // the next word is the target of a redirection
	)
	endWord := func() {
		if started && !skip {
			words = append(words, word.String())
		}
		skip = skip && !started
		word.Reset()
		started = false
	}
	end := func() {
		endWord()
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words, skip = nil, false
	}
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteRune(c)
			}
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == '\\' && i+1 < len(runes) && strings.ContainsRune(" '\"\\$&;()", runes[i+1]):
			i++
			word.WriteRune(runes[i])
			started = true
		case c == ' ' || c == '\t':
			endWord()
		case c == '#' && !started:
			end()
			return commands
		case c == '<' && i+1 < len(runes) && (isLetter(runes[i+1]) || runes[i+1] == '/'):
			// a placeholder such as <file> is a part of a word
			close := slices.Index(runes[i:], '>')
			if close < 0 {
				endWord()
				skip = true
				continue
			}
			word.WriteString(string(runes[i : i+close+1]))
			started, i = true, i+close
		case c == '>' || c == '<':
			if text := word.String(); text == "1" || text == "2" || text == "&" {
				word.Reset()
				started = false
			}
			endWord()
			for i+1 < len(runes) && strings.ContainsRune("><&-", runes[i+1]) {
				i++
			}
			skip = true
		case c == '$' && i+1 < len(runes) && runes[i+1] == '(':
			endWord() // the parenthesis ends the command
		case c == '&' || c == ';' || c == '|' || c == '(' && !started || c == ')':
			if c != '&' || !skip && (i+1 == len(runes) || runes[i+1] != '>') { // `>&` and `&>` redirect
				end()
			}
		default:
			word.WriteRune(c)
			started = true
		}
	}
	end()
	return commands
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }
