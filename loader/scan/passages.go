package scan

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// The rules for a command that would block where its context shows that nothing runs it, and for a secret in a sample.
const (
	described     = "scan.command.described"
	commented     = "scan.command.commented"
	printed       = "scan.command.printed"
	sampled       = "scan.command.sample"
	sampledSecret = "scan.secret.sample"
)

// passages changes the rules of hits by their context. It reads the lines once, so hits must be in order.
type passages struct {
	text     []byte
	document bool // Markdown or prose, with commands in fenced blocks
	strict   bool // SKILL.md, which an agent follows: headings do not count as descriptions
	ext      string
	at       int // start of the next line
	end      int // end of that line, once it is known

	block    bool      // the line is in a fenced or an indented block
	fence    []byte    // the mark of the fenced block, nil outside
	language string    // declared language of the fenced block
	headings [7][]byte // the current heading of each level
	intro    []byte    // the last paragraph of prose
	inIntro  bool
	remark   []byte // the last comment in the fenced block

	sample bool       // the file is a test, an evaluation or a sample
	own    func() own // the vendor of the skill
	quote  []byte     // the end of the text over several lines that a line is in, nil outside
	prints bool       // that text is printed, or documents a function
}

func newPassages(file string, text []byte, o func() own) *passages {
	p := &passages{text: text, ext: strings.ToLower(path.Ext(file)), own: o, sample: isSample(file)}
	switch p.ext {
	case ".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".html":
		p.document = !isExecuted(file, text)
	}
	p.strict = strings.EqualFold(path.Base(file), "SKILL.md")
	return p
}

// isExecuted reports whether a file is executed, whatever its name: it is in a directory for programs, or has an interpreter
// line.
func isExecuted(file string, text []byte) bool {
	if bytes.HasPrefix(text, []byte("#!")) {
		return true
	}
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		dir = strings.ToLower(dir)
		return dir == "scripts" || dir == "tools" || dir == "bin" || dir == "hooks"
	})
}

// isUnchecked reports whether the certificate of a server is not checked near a place.
var isUnchecked = near(compile(`--insecure\b|\bcurl\s+(?:-\S+\s+)*-\w*k\w*\s|--no-check-certificate|-SkipCertificateCheck|\bverify\s*=\s*False|rejectUnauthorized['"]?\s*:\s*false`), 120, 240)

func (p *passages) codeOf(h *hit) string {
	if h.code == "scan.command.pipe_shell" {
		address := h.detail
		h.detail = hostOf(address)
		if address != "" && p.own().owns(address) {
			h.code = knownInstaller
		}
	}
	if h.code == knownInstaller && isUnchecked(p.text, h.at) { // what a known address sends is not known to come from it
		h.code = "scan.command.pipe_shell"
	}
	if !rules[h.code].Blocking && h.code != knownInstaller {
		return h.code
	}
	line := p.advance(h.at)
	if h.code == removesRoot {
		runs := p.runs
		if h.detail == byProgram {
			runs = p.calls
		}
		if !runs(line, h.at) {
			h.detail = ""
			return removalNamed
		}
	}
	// Code of a test runs, so that only its strings are data.
	before := p.before(line, h.at)
	open := openQuote(before)
	isData := p.document || !p.isProgram() && !p.isShell() || open >= 0 && !called().Match(before[:open+1])
	place := ""
	switch {
	case p.isComment(line):
		place = commented
	case p.isPrinted(line, h.at):
		place = printed
	case h.detail != concealed && p.isDescribed(line, h.at):
		place = described
	case p.sample && isData:
		place = sampled
	default:
		return h.code
	}
	h.detail = strings.TrimPrefix(h.code, "scan.command.")
	return place
}

// before returns the line before a place, as far as patterns are matched.
func (p *passages) before(line span, at int) []byte { return p.text[max(line.start, at-2*reach):at] }

type span struct{ start, end int }

// advance reads the text up to the line of a place, and returns that line.
func (p *passages) advance(at int) span {
	for {
		if p.end < p.at || p.end == 0 {
			p.end = len(p.text)
			if n := bytes.IndexByte(p.text[p.at:], '\n'); n >= 0 {
				p.end = p.at + n
			}
		}
		if p.end >= at {
			p.block = p.fence != nil || p.isIndented(p.text[p.at:])
			return span{p.at, p.end}
		}
		p.read(p.text[p.at:p.end])
		p.at = p.end + 1
	}
}

// read processes one line before a hit.
func (p *passages) read(line []byte) {
	if !p.document {
		p.readQuote(line)
		return
	}
	trimmed := bytes.TrimLeft(line, " >")
	if mark := fenceMark(trimmed); mark != nil {
		switch {
		case p.fence == nil:
			word, _, _ := strings.Cut(strings.TrimSpace(string(head(trimmed[len(mark):], maxStep))), " ")
			p.fence, p.language, p.quote, p.remark = mark, strings.ToLower(strings.Trim(word, "{}.")), nil, nil
		case mark[0] == p.fence[0] && len(mark) >= len(p.fence):
			p.fence, p.language, p.inIntro = nil, "", false
		}
		return
	}
	if p.fence != nil {
		p.readQuote(line)
		if anyComment().Match(head(line, reach)) {
			p.remark = head(line, reach)
		}
		return
	}
	if p.isIndented(line) {
		return // an indented block, with the paragraph before it as its introduction
	}
	trimmed = bytes.TrimSpace(trimmed)
	if level := headingLevel(trimmed); level > 0 {
		p.headings[level] = trimmed
		clear(p.headings[level+1:])
		p.intro, p.inIntro = nil, false
		return
	}
	switch {
	case len(trimmed) == 0:
		p.inIntro = false
	case p.inIntro:
		p.intro = append(append(p.intro[:min(len(p.intro), reach):min(len(p.intro), reach)], ' '), head(trimmed, reach)...)
	default:
		p.intro, p.inIntro = head(trimmed, reach), true
	}
}

// isIndented reports whether a line of Markdown is code by its indentation: it does not continue a paragraph.
func (p *passages) isIndented(line []byte) bool {
	return p.document && !p.inIntro && bytes.HasPrefix(line, []byte("    "))
}

func fenceMark(line []byte) []byte {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return nil
	}
	n := 0
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 {
		return nil
	}
	return line[:n]
}

func headingLevel(line []byte) int {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n == len(line) || line[n] != ' ' {
		return 0
	}
	return n
}

// Words of a passage about attacks, and warnings.
var (
	attackWords = compile(`(?i)\b(?:attack(?:s|er|ers|ing)?|exploit(?:s|ed|ation)?|vulnerab(?:le|ility|ilities)|malicious(?:ly)?|malware|exfiltrat(?:e|es|ed|ion)|backdoors?|reverse shells?|` +
		`injection|red flags?|dangerous|destructive|suspicious|unsafe|insecure|anti-?patterns?|deny ?-?list|block ?-?list|black ?-?list|forbidden|prohibited|disallowed|hijack(?:ed|ing)?|catastrophic|threats?|risky|never do|bad examples?|CVE-\d{4}-\d+)\b`)
	refusals   = compile(`(?i)\b(?:never|do not|don'?t|must not|should not|shouldn'?t|avoid|refuses?|rejects?|blocks?|blocked|denys?|denies|denied|forbids?|detects?|flags?|warns? (?:about|against|of|on)|instead of|rather than)\b[^.!;]{0,80}$`)
	webAddress = compile(`https?://\S+`)
	remark     = compile(`(?i)(?:#|//|<!--|/\*)[^\w\n]{0,8}(?:never|do not|don'?t|dangerous|danger|bad|wrong|unsafe|insecure|vulnerable|malicious|destructive|blocked|denied|attack(?:er)?)\b`)
	anyComment = compile(`^\s*(?:#|//|/\*|--)`)
	// orders tell a reader to run what follows, unless a negation precedes them.
	// quotedRule begins a line of a rule that looks for the text after it.
	quotedRule = compile(`^\s*(?:-\s+)?(?:pattern[\w-]*|regex\w*|signature|ioc|selection|condition|contains|\w*deny\w*)["']?\s*:\s`)
	orders     = compile(`(?i)(?:^|[\s*_("'])(?:run|execute|paste|type|enter|install|set ?up|setup|use|invoke|start|apply|copy|perform|launch|try|quick ?start|usage|prerequisites?|requirements?|steps?|first|must|need to|required)(?:[\s:,.*_)"']|$)`)
	negated    = compile(`(?i)\b(?:must|should|needs? to|always)\s+(?:flag|reject|refuse|block|report|detect|deny|avoid|catch|find|warn)\b|\b(?:never|not|don'?t|cannot|avoid|refuses? to|no)\s+(?:\w+\s+){0,2}(?:run|execute|paste|type|enter|install|use|invoke|start|apply|copy|perform|launch|try)\b`)
)

// isDescribed reports whether a document describes the command on a line without telling its reader to run it. The words for
// that are in the sentence or list item of the command, in a remark after it, or in the sentence that introduces its fenced
// block; outside of SKILL.md also in the paragraph before the block and in the headings. They do not count after an order to
// run something, or in URLs, which the author chooses.
func (p *passages) isDescribed(line span, at int) bool {
	if !p.document {
		return (p.ext == ".yaml" || p.ext == ".yml" || p.ext == ".yar") && quotedRule().Match(p.text[line.start:at])
	}
	var intro, lead []byte
	if p.block || p.inIntro {
		intro = webAddress().ReplaceAll(p.intro, nil)
		text := bytes.TrimRight(intro, ":. ") // its last sentence
		lead = text[bytes.LastIndexAny(text, ".!?")+1:]
	}
	var own, before []byte
	if !p.block {
		own, before = p.sentence(line, at)
		if begun := bytes.TrimSpace(intro); len(begun) > 0 && bytes.IndexByte([]byte(".!?"), begun[len(begun)-1]) >= 0 {
			lead = nil // it is another sentence
		}
	} else if remark().Match(p.text[line.start:min(line.end, line.start+2*reach)]) {
		own = []byte("dangerous")
	}
	if quotedRule().Match(p.text[line.start:at]) || p.block && !p.strict && attackWords().Match(p.remark) {
		return true
	}
	if isOrder(lead) || isOrder(before) || !p.strict && isOrder(intro) {
		return false
	}
	if attackWords().Match(own) || refusals().Match(before) || attackWords().Match(lead) || refusals().Match(lead) {
		return true
	}
	return !p.strict && (attackWords().Match(intro) || slices.ContainsFunc(p.headings[:], attackWords().Match))
}

// sentence returns the sentence of prose that a place is in, and the part before the place, both without code spans and
// addresses.
func (p *passages) sentence(line span, at int) (all, before []byte) {
	start, end := max(line.start, at-reach), min(line.end, at+reach)
	code := bytes.Count(p.text[start:at], []byte("`"))%2 == 1
	for i := start; i < at; i++ {
		if isSentenceEnd(p.text[i:end]) {
			start = i + 1
		}
	}
	from := at
	if code {
		if n := bytes.IndexByte(p.text[at:end], '`'); n >= 0 {
			from = at + n + 1
		}
		if n := bytes.LastIndexByte(p.text[start:at], '`'); n >= 0 {
			at = start + n
		}
	}
	for i := from; i < end; i++ {
		if isSentenceEnd(p.text[i:end]) {
			end = i
		}
	}
	before = outsideCode(p.text[start:at])
	return append(append(bytes.Clone(before), ' '), outsideCode(p.text[min(from, end):end])...), before
}

func isSentenceEnd(text []byte) bool {
	return len(text) > 1 && bytes.IndexByte([]byte(".!?;"), text[0]) >= 0 && text[1] == ' '
}

func isOrder(text []byte) bool {
	return orders().Match(negated().ReplaceAll(text, nil))
}

func outsideCode(line []byte) []byte {
	var out []byte
	for i, part := range bytes.Split(line, []byte("`")) {
		if i%2 == 0 {
			out = append(append(out, part...), ' ')
		}
	}
	return webAddress().ReplaceAll(out, nil)
}

// Languages in which a comment does not begin with #.
var comments = map[string][]string{
	".js": {"//"}, ".mjs": {"//"}, ".cjs": {"//"}, ".ts": {"//"}, ".go": {"//"}, ".rs": {"//"}, ".java": {"//"}, ".c": {"//"}, ".php": {"//", "#"},
	".bat": {"::", "rem ", "REM "}, ".cmd": {"::", "rem ", "REM "}, ".lua": {"--"}, ".sql": {"--"},
	".javascript": {"//"}, ".typescript": {"//"}, ".jsx": {"//"}, ".tsx": {"//"}, ".rust": {"//"}, ".golang": {"//"}, ".jsonc": {"//"},
}

// isComment reports whether a line is a comment of a script or a fenced block, which no interpreter runs.
func (p *passages) isComment(line span) bool {
	language := p.languageHere()
	if language == "" && p.document {
		return false
	}
	text := bytes.TrimLeft(p.text[line.start:min(line.end, line.start+reach)], " ")
	if bytes.HasPrefix(text, []byte("#!")) {
		return false
	}
	marks, ok := comments[language]
	if !ok {
		marks = []string{"#"}
	}
	return slices.ContainsFunc(marks, func(m string) bool { return bytes.HasPrefix(text, []byte(m)) })
}

var (
	// wrappers come before a command and run it.
	wrappers = compile(`(?:^|[\s;&|(` + "`" + `{@"'])(?:sudo(?:\s+-\S+)*|doas|env(?:\s+\w+=\S*)*|exec|command|nohup|time|busybox|then|do|else|eval|xargs(?:\s+-\S+)*|\w+=\S*)\s+$`)
	bins     = compile(`(?:(?:/usr)?/s?bin/|\\)$`)
	// starts are what a command begins after, besides the start of its line.
	starts = compile(`(?:[;&|({!]|^\s*(?:\$|>|%|#|PS[^>\n]{0,40}>)|^\s*@|^\s*(?:-\s+)?(?:run|script|command|cmd|shell):\s*\|?|^\s*(?:RUN|CMD|ExecStart=|Exec=))\s*$`)
	// called is a call that hands its string to a shell.
	called = compile(`(?:\b(?:system|popen|Popen|run|call|check_call|check_output|exec|execSync|spawn|spawnSync|shell_exec|passthru|getoutput|Command|sh|bash)\s*\(\s*[fr]?|(?:^|\s)(?:-c|eval|/c)\s+)["'` + "`" + `](?:[^"'\n]{0,80}[;&|]\s*)?$`)
)

// runs reports whether the command at a place is run: it stands at the beginning of a command, in a script or a fenced
// block, and the text does not speak of it as something to avoid.
func (p *passages) runs(line span, at int) bool {
	before := p.before(line, at)
	if p.isAvoided(line, at) {
		return false
	}
	if called().Match(before) {
		return true
	}
	if p.document && !p.block {
		return p.isWholeLine(before, at, line.end)
	}
	if open := openQuote(before); open >= 0 && before[open] != '`' {
		return false
	}
	for {
		before = bins().ReplaceAll(before, nil)
		m := wrappers().FindIndex(before)
		if m == nil {
			break
		}
		cut := m[0]
		if cut < len(before) && !isWord(before[cut]) && before[cut] != '\\' {
			cut++
		}
		before = before[:cut]
	}
	before = bytes.TrimRight(before, " ")
	return len(bytes.TrimLeft(before, " ")) == 0 || starts().Match(before)
}

// calls reports whether the call at a place is made: in a script or a fenced block, and not as something to avoid.
func (p *passages) calls(line span, at int) bool {
	return !p.isAvoided(line, at) && (!p.document || p.block) && openQuote(bytes.ReplaceAll(p.before(line, at), []byte("`"), nil)) < 0
}

func (p *passages) isAvoided(line span, at int) bool {
	return p.isComment(line) || p.isDescribed(line, at) || p.document && remark().Match(p.text[line.start:min(line.end, at+2*reach)])
}

// isWholeLine reports whether a line of prose is a command and nothing else, with or without a prompt.
func (p *passages) isWholeLine(before []byte, at, end int) bool {
	before = bytes.TrimSpace(before)
	before = bytes.TrimSpace(bytes.TrimSuffix(before, []byte("sudo")))
	return (len(before) == 0 || string(before) == "$") && bytes.Count(p.text[at:end], []byte(" ")) <= 4 && !bytes.ContainsAny(p.text[at:end], ",`:")
}

// languageHere returns the extension of the language of a line, "" in prose.
func (p *passages) languageHere() string {
	switch {
	case !p.document:
		return p.ext
	case !p.block:
		return ""
	}
	return "." + p.language
}

var (
	programs = []string{
		".py", ".python", ".js", ".mjs", ".cjs", ".javascript", ".ts", ".typescript", ".jsx", ".tsx", ".go", ".golang", ".rs", ".rust", ".rb", ".ruby",
		".php", ".pl", ".perl", ".java", ".kt", ".swift", ".cs", ".csharp", ".c", ".cpp", ".lua", ".ps1", ".powershell",
	}
	shellScripts = []string{".sh", ".bash", ".zsh", ".shell", ".console", ".fish", ".ksh"}
)

func (p *passages) isProgram() bool { return slices.Contains(programs, p.languageHere()) }

func (p *passages) isShell() bool {
	return slices.Contains(shellScripts, p.languageHere()) || !p.document && bytes.HasPrefix(p.text, []byte("#!")) && !p.isProgram()
}

var (
	sampleDirs  = compile(`(?i)(?:^|/)(?:_*(?:tests?|mocks?|fixtures?)_*|specs?|evals?|evaluations?|test[-_]?data|test[-_]fixtures|samples?|sample[-_]data|golden|benchmarks?)/`)
	sampleNames = compile(`(?i)(?:^|/)(?:test_[^/]*|[^/]*(?:[._](?:tests?|spec|eval)|[._-](?:evals|questions|samples?|sample[-_]data|fixtures?))\.\w+|(?:evals?|questions?|samples?|sample[-_]?data|fixtures?|mock[-_]?data)\.\w+|[^/]*\.log)$`)
)

// isSample reports whether a file is a test, data of an evaluation, or a sample.
func isSample(file string) bool {
	return !strings.EqualFold(path.Base(file), "SKILL.md") && (sampleDirs().MatchString(file) || sampleNames().MatchString(file))
}

var (
	// printCall is a call that prints its string or makes an error of it, up to the quote.
	printCall = compile(`(?i)(?:\b(?:e?print(?:f|ln|err)?!?|puts|warn(?:ing)?|die|exit|abort|fail|say|notify|console\.\w+|[\w.]*log(?:ger|ging)?\.\w+|log|[\w.]*\b(?:stdout|stderr)\.write|fmt\.\w+|errors\.\w+|write(?:ln|line)|click\.s?echo|\w*(?:Error|Exception))!?\s*\(|\b(?:echo|raise|throw|die|puts|warn|Write-(?:Host|Output|Error|Warning|Verbose))\s)[^;()]*$`)
	// echoes is a command of a shell that prints its words, up to the quote.
	echoes = compile(`(?:^|[;&|{(]|\b(?:then|do|else))\s*(?:>&2\s+)?(?:echo|printf|warn\w*|die|fail\w*|err\w*|info\w*|log\w*|say|usage|print\w*|msg\w*|note|abort)\s(?:[^;&|<>()` + "`" + `]|>&2)*$`)
	// passedOn is after a printed string: a pipe, or a file that it is written to.
	passedOn = compile(`^[^\n]{0,600}?(?:\|\s*[^|\s]|>>?\s*[^&>\s])`)
	// message opens a text over several lines that is printed, or that documents a function.
	message = compile(`(?i)^\s*(?:(?:e?print\w*|sys\.\w+\.write|\w*Error)\(\s*|(?:epilog|description|usage|help)\s*=\s*)?[frbu]{0,2}(?:"""|''')`)
	hereDoc = compile(`^\s*(?:cat|echo)\s*(?:>&2\s*)?<<-?\s*["']?(\w+)["']?\s*(?:>&2\s*)?$`)
	// commandName is the first word of a command, not one of a sentence.
	commandName = compile(`^(?:[a-z][\w./+-]*|[$~/.{<(\[]\S*|\w+=\S*)$`)
	// notCommands are words of a sentence before a command.
	notCommands = []string{"with", "via", "using", "use", "run", "or", "then", "install", "by", "try", "and", "the", "to", "a", "e.g.", "like", "as", "for", "of", "in"}
)

// readQuote follows texts over several lines in a script.
func (p *passages) readQuote(line []byte) {
	switch {
	case p.quote != nil:
		if p.isShell() && bytes.Equal(bytes.TrimSpace(line), p.quote) || !p.isShell() && bytes.Count(line, p.quote)%2 == 1 {
			p.quote = nil
		}
	case p.isShell():
		if m := hereDoc().FindSubmatch(line); m != nil {
			p.quote, p.prints = m[1], true
		}
	case p.isProgram():
		for _, mark := range []string{`"""`, `'''`} {
			if bytes.Count(line, []byte(mark))%2 == 1 {
				p.quote, p.prints = []byte(mark), message().Match(line)
				return
			}
		}
	}
}

// isPrinted reports whether a command is in a string that a script prints, or in words of one that a program does not run.
func (p *passages) isPrinted(line span, at int) bool {
	shell, program := p.isShell() || p.block && p.language == "", p.isProgram()
	if !shell && !program {
		return false
	}
	if p.quote != nil {
		return p.prints
	}
	before := p.before(line, at)
	open := openQuote(before)
	if open < 0 {
		return false
	}
	call, inside := before[:open], before[open+1:]
	if program {
		return printCall().Match(call) || !called().Match(before[:open+1]) && !beginsCommand(inside)
	}
	after := p.text[at:min(line.end, at+reach)]
	end := bytes.IndexByte(after, before[open])
	substitutes := before[open] != '\'' && (bytes.Contains(inside, []byte("$(")) || bytes.IndexByte(inside, '`') >= 0)
	return before[open] != '`' && echoes().Match(call) && end >= 0 && !substitutes && !passedOn().Match(after[end+1:])
}

// beginsCommand reports whether the last pipe of a text begins as a command, and not as a sentence.
func beginsCommand(text []byte) bool {
	words := strings.Fields(strings.TrimLeft(string(lastCommand(text, ";", "&&", "||", `\n`, "$(")), "$> "))
	return len(words) == 0 || commandName().MatchString(words[0]) && !slices.Contains(notCommands, words[0])
}

// openQuote returns where the quote begins that a text ends in, -1 if there is none.
func openQuote(before []byte) int {
	open := -1
	for i, c := range before {
		switch {
		case i > 0 && before[i-1] == '\\':
		case open < 0 && (c == '"' || c == '\'' || c == '`'):
			open = i
		case open >= 0 && c == before[open]:
			open = -1
		}
	}
	return open
}
