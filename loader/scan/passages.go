package scan

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// described is the rule for a command that would block where it stands in a passage that tells of an attack.
const described = "scan.command.described"

// passages judges hits by where they stand in a text. It goes through the lines once, so hits have to be in order.
type passages struct {
	text     []byte
	document bool // Markdown or plain prose, in which commands stand in fenced blocks
	at       int  // the line that is read next begins here
	end      int  // where that line ends, once it is known

	fence    []byte    // the mark of the fenced block, nil outside
	headings [7][]byte // the heading of each level that the place is below
	intro    []byte    // the last paragraph of prose
	inIntro  bool
	lower    []byte // the whole text in lower case, once something asks for it
	vendors  map[string]bool
}

func newPassages(file string, text []byte) *passages {
	p := &passages{text: text, vendors: map[string]bool{}}
	switch strings.ToLower(path.Ext(file)) {
	case ".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".html":
		p.document = true
	}
	return p
}

// judge returns the hits with the codes that they have in their place.
func (p *passages) judge(hits []hit) []hit {
	kept := hits[:0]
	for _, h := range hits {
		if h.code = p.codeOf(&h); h.code != "" {
			kept = append(kept, h)
		}
	}
	return kept
}

func (p *passages) codeOf(h *hit) string {
	if h.code == "scan.command.pipe_shell" {
		if p.isVendor(h.detail) {
			h.code = knownInstaller
		}
		h.detail = hostOf(h.detail)
	}
	rule := rules[h.code]
	if !rule.Blocking {
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
		return h.code
	}
	if p.isComment(line) || p.isDescribed(line) {
		h.detail = strings.TrimPrefix(h.code, "scan.command.")
		return described
	}
	return h.code
}

// span is the line that a hit is on.
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
			return span{p.at, p.end}
		}
		p.read(p.text[p.at:p.end])
		p.at = p.end + 1
	}
}

// read takes one line into account that comes before a hit.
func (p *passages) read(line []byte) {
	if !p.document {
		return
	}
	trimmed := bytes.TrimLeft(line, " >")
	if mark := fenceMark(trimmed); mark != nil {
		switch {
		case p.fence == nil:
			p.fence = mark
		case mark[0] == p.fence[0] && len(mark) >= len(p.fence):
			p.fence, p.inIntro = nil, false
		}
		return
	}
	if p.fence != nil {
		return
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

// Words of a passage about attacks, and words that tell a reader not to do what follows.
var (
	attackWords = regexp.MustCompile(`(?i)\b(?:attack(?:s|er|ers|ing)?|exploit(?:s|ed|ation)?|vulnerab(?:le|ility|ilities)|malicious(?:ly)?|malware|exfiltrat(?:e|es|ed|ion)|backdoors?|reverse shells?|` +
		`injection|red flags?|dangerous|destructive|suspicious|unsafe|insecure|anti-?patterns?|deny ?-?list|block ?-?list|black ?-?list|forbidden|prohibited|disallowed|hijack(?:ed|ing)?|catastrophic|threats?|risky|never do|bad examples?)\b`)
	refusals   = regexp.MustCompile(`(?i)\b(?:never|do not|don'?t|must not|should not|shouldn'?t|avoid|refuses?|rejects?|blocks?|blocked|denys?|denies|denied|forbids?|detects?|flags?|warns? (?:about|against|of|on)|instead of|rather than)\b[^.!;]{0,80}$`)
	webAddress = regexp.MustCompile(`https?://\S+`)
	remark     = regexp.MustCompile(`(?i)(?:#|//|<!--|/\*)[^\n]{0,60}\b(?:never|do not|don'?t|dangerous|danger|bad|wrong|unsafe|insecure|vulnerable|malicious|destructive|blocked|denied|attack(?:er)?)\b`)
)

// isDescribed reports whether a document tells of the command on a line, not to run it: by a heading above it, by the
// paragraph that leads to it, or on the line itself. Addresses do not count, because their owners choose them.
func (p *passages) isDescribed(line span) bool {
	if !p.document {
		return false
	}
	for _, h := range p.headings {
		if attackWords.Match(h) {
			return true
		}
	}
	text := p.text[line.start:min(line.end, line.start+2*reach)]
	if remark.Match(text) && p.fence != nil {
		return true
	}
	if p.fence == nil && (attackWords.Match(outsideCode(text)) || refusals.Match(beforeCode(text))) {
		return true
	}
	intro := webAddress.ReplaceAll(p.intro, nil)
	return (p.fence != nil || p.inIntro) && (attackWords.Match(intro) || refusals.Match(lastSentence(intro)))
}

// outsideCode returns a line of prose without its code spans and addresses.
func outsideCode(line []byte) []byte {
	var out []byte
	for i, part := range bytes.Split(line, []byte("`")) {
		if i%2 == 0 {
			out = append(append(out, part...), ' ')
		}
	}
	return webAddress.ReplaceAll(out, nil)
}

// beforeCode returns what comes before the first code span of a line.
func beforeCode(line []byte) []byte {
	before, _, ok := bytes.Cut(line, []byte("`"))
	if !ok {
		return nil
	}
	return before
}

func lastSentence(text []byte) []byte {
	text = bytes.TrimRight(text, ":. ")
	return text[bytes.LastIndexAny(text, ".!?")+1:]
}

// isComment reports whether a line is a comment of a script or a fenced block, which no shell runs.
func (p *passages) isComment(line span) bool {
	if p.document && p.fence == nil {
		return false
	}
	text := bytes.TrimLeft(p.text[line.start:min(line.end, line.start+reach)], " ")
	if bytes.HasPrefix(text, []byte("#!")) {
		return false
	}
	return slices.ContainsFunc([]string{"#", "//", "* ", "<!--", "::", "REM ", "rem ", "-- "}, func(m string) bool { return bytes.HasPrefix(text, []byte(m)) })
}

var (
	// wrappers come before a command and run it.
	wrappers = regexp.MustCompile(`(?:^|[\s;&|(` + "`" + `{@"'])(?:sudo(?:\s+-\S+)*|doas|env(?:\s+\w+=\S*)*|exec|command|nohup|time|busybox|then|do|else|eval|xargs(?:\s+-\S+)*|\w+=\S*)\s+$`)
	bins     = regexp.MustCompile(`(?:(?:/usr)?/s?bin/|\\)$`)
	// starts are what a command begins after, besides the start of its line.
	starts = regexp.MustCompile(`(?:[;&|({!]|^\s*(?:\$|>|%|#|PS[^>\n]{0,40}>)|^\s*@|^\s*(?:-\s+)?(?:run|script|command|cmd|shell):\s*\|?|^\s*(?:RUN|CMD|ExecStart=|Exec=))\s*$`)
	// called is a call that hands its string to a shell.
	called = regexp.MustCompile(`(?:\b(?:system|popen|Popen|run|call|check_call|check_output|exec|execSync|spawn|spawnSync|shell_exec|passthru|getoutput|Command|sh|bash)\s*\(\s*[fr]?|(?:^|\s)(?:-c|eval|/c)\s+)["'` + "`" + `](?:[^"'\n]{0,80}[;&|]\s*)?$`)
)

// runs reports whether the command at a place is run: it stands at the beginning of a command, in a script or a fenced
// block, and the text does not speak of it as something to avoid.
func (p *passages) runs(line span, at int) bool {
	text := p.text[line.start:min(line.end, at+2*reach)]
	before := p.text[max(line.start, at-2*reach):at]
	if p.isComment(line) || p.isDescribed(line) || remark.Match(text) {
		return false
	}
	if called.Match(before) {
		return true
	}
	if p.document && p.fence == nil {
		return p.isWholeLine(before, at, line.end)
	}
	if quotesOpen(before) {
		return false
	}
	for {
		before = bins.ReplaceAll(before, nil)
		m := wrappers.FindIndex(before)
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
	return len(bytes.TrimLeft(before, " ")) == 0 || starts.Match(before)
}

// calls reports whether the call at a place is made: in a script or a fenced block, and not as something to avoid.
func (p *passages) calls(line span, at int) bool {
	text := p.text[line.start:min(line.end, at+2*reach)]
	before := p.text[max(line.start, at-2*reach):at]
	return !p.isComment(line) && !p.isDescribed(line) && !remark.Match(text) && (!p.document || p.fence != nil) && !quotesOpen(before)
}

// isWholeLine reports whether a line of prose is a command and nothing else, with or without a prompt.
func (p *passages) isWholeLine(before []byte, at, end int) bool {
	before = bytes.TrimSpace(before)
	before = bytes.TrimSpace(bytes.TrimSuffix(before, []byte("sudo")))
	return (len(before) == 0 || string(before) == "$") && bytes.Count(p.text[at:end], []byte(" ")) <= 4 && !bytes.ContainsAny(p.text[at:end], ",`:")
}

// quotesOpen reports whether a quote is open at the end of a piece of a line.
func quotesOpen(before []byte) bool {
	var open byte
	for i, c := range before {
		switch {
		case i > 0 && before[i-1] == '\\':
		case open == 0 && (c == '"' || c == '\'' || c == '`'):
			open = c
		case c == open:
			open = 0
		}
	}
	return open == '"' || open == '\''
}
