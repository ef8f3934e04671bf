package scan

import (
	"bytes"
	"encoding/base64"
	"path"
	"strings"
	"unicode"
)

var (
	intoShell = compile(`(?:^|[\s"'` + "`" + `/(=])(?:(?:(?:ba|z|da|k|a)?sh|python[23]?|perl|ruby|node|php)\s+(?:-\S+\s+)*(?:<<<\s*)?\\?["']?(?:\$\(|<\(|` + "`" + `)|(?:eval|source|\.|exec)\s+(?:<<<\s*)?\\?["']?(?:\$\(|<\(|` + "`" + `))\s*$`)
	// decodeInto is intoShell with other commands before the one that decodes.
	decodeInto = compile(`(?:(?:^|[\s"'` + "`" + `/(=])(?:(?:(?:ba|z|da|k|a)?sh|python[23]?|perl|ruby|node)\s+(?:-\S+\s+)*(?:<<<\s*)?|(?:eval|source|\.|exec)\s+)\\?["']?(?:\$\(|<\(|` + "`" + `)|^\s*(?:\$ )?["']?\$\()[^)\n]*$`)
	decoding   = anchored(`(?:tr\s+["'\[]?[A-Za-z]|(?:base64|base32|basenc)\s[^\n|)]{0,80}?(?:-[a-zA-Z]*[dD]\w*|--decode)\b|xxd\s[^\n|)]{0,40}?-r|openssl\s+(?:enc|base64|aes)[^\n|)]{0,80}?\s-d\b|(?:gunzip|zcat|uudecode)\s|rev\b)`)
	decodes    = compile(`(?:^|[\s|(/` + "`" + `"'])(?:(?:base64|base32|basenc)\s[^|]{0,80}?(?:-[a-zA-Z]*[dD]\w*|--decode)(?:\s|$)|xxd\s[^|]{0,40}?-r|openssl\s+(?:enc|base64|aes)[^|]{0,80}?\s-d\b|uudecode\b|rev\s*(?:\||\\?$)|(?:gunzip|zcat|gzip\s+-d)\b|tr\s+["'\[]?[A-Za-z0-9\[])`)
	fetches    = compile(`(?:^|[\s|("'` + "`" + `@=/&{>])(curl|wget|curl\.exe|fetch|aria2c|httpie|http|https|lynx|w3m|links|ssh|aws\s+s3\s+cp|gsutil\s+cat|gcloud\s+storage\s+cat|lwp-request|lwp-download|GET|nscurl|ftp|axel|xh)\s`)
	resolves   = compile(`(?:^|[\s|("'` + "`" + `/])(?:dig|drill|nslookup|host)\s[^|]*\w\.\w`)
	listens    = compile(`(?:^|[\s|("'` + "`" + `/])(?:nc|ncat|netcat|telnet|socat)\s+(?:-\S+\s+)*[^\s|]+\s+[0-9$]|openssl\s+s_client\s`)
	hidden     = compile(`(?:^|[\s(])(?:echo|printf|cat\s*<<<)\s[^|]*?(?:[A-Za-z0-9+/]{28,}={0,2}|(?:[0-9a-fA-F]{2} ?){16,})[^|]*\|`)
	escapes    = compile(`(?:echo|printf)\s[^|\n]*?(?:(?:\\\\?x[2-7][0-9a-fA-F]){3}|(?:\\\\?0?[01][0-7]{2}){3})`)
	byVariable = compile(`^\s*(?:\$ )?["']?(?:\$\{?\w|(?:python[23]?|perl|ruby|php|node)\s+-\w*[cer])`)
)

// splitName is the name of a program in two variables, in a pipe or before an address.
var splitName = anchored(`\|\s?\$\{?\w+\}?\$\{?\w+\}?(?:\s|$)|\$\{?\w+\}?\$\{?\w+\}?\s[^\n|]{0,60}https?://[^\n]{0,120}\|`)

// hiddenCall is a module or a function of a program that is named by decoded text.
var hiddenCall = anchored(`require\(\s*\w+\(\w{0,6}\)\s*\)\s*\[|__import__\(\s*(?:["']\w*["']\s*(?:\+|\[)|(?:base64\.|codecs\.|bytes[.(]|chr\(|bytearray\())|getattr\(\s*__import__\([^)\n]*\)\s*,\s*(?:["']\w*["']\s*(?:\+|\[)|base64|bytes|codecs|chr)|6368696c645f70726f63657373|Y2hpbGRfcHJvY2Vzc`)

// findSink finds the last command of a pipe if it runs its input, and evaluates what precedes it.
func findSink(text []byte, at int) (string, string) {
	if !sinkAt().Match(window(text, at)) {
		return "", ""
	}
	from := lineBefore(text, at, reach)
	if bytes.HasPrefix(bytes.TrimLeft(from, " "), []byte("|")) && from[len(from)-1] != '\\' && bytes.Count(from, []byte("`"))%2 == 0 {
		return "", "" // a separator of table cells
	}
	from = lastCommand(from, ";", "&&", "||", "`", " do ")
	switch m := fetches().FindSubmatchIndex(from); {
	case m != nil:
		return ruleForPipe(bytes.TrimRight(from[m[1]:], `\ `))
	case listens().Match(from):
		return "scan.command.reverse_shell_nc", ""
	case url().Match(from) && byVariable().Match(from), resolves().Match(from):
		return ruleForPipe(from)
	case decodes().Match(from), hidden().Match(from), escapes().Match(from):
		return "scan.command.decode_shell", ""
	}
	return "", ""
}

// lastCommand returns the text after the last of each separator, unless only a pipe or nothing follows.
func lastCommand(text []byte, separators ...string) []byte {
	for _, separator := range separators {
		if i := bytes.LastIndex(text, []byte(separator)); i >= 0 {
			if rest := bytes.TrimSpace(text[i+len(separator):]); len(rest) > 1 && rest[0] != '|' {
				text = text[i+len(separator):]
			}
		}
	}
	return text
}

// findPipe finds a download in the command line of a shell. [findSink] finds pipes.
func findPipe(text []byte, at int) (string, string) {
	before := lineBefore(text, at, 80)
	if !bytes.ContainsAny(before, "(`") || !intoShell().Match(before) {
		if m := intoProcess().FindSubmatch(window(text, at)); m != nil {
			return ruleForPipe(m[1])
		}
		return "", ""
	}
	here := window(text, at)
	if end := bytes.IndexAny(here, ")`\n"); end >= 0 {
		here = here[:end]
	}
	_, args, _ := bytes.Cut(here, []byte(" "))
	return ruleForPipe(args)
}

// intoProcess is a download that is written to a shell as to a file.
var intoProcess = anchored(`\w+\s([^\n|;]{0,200}?)>\s*>\(\s*(?:sudo\s+)?(?:/bin/)?(?:ba|z)?sh\b`)

var assignedTo = compile(`(?:^|[\s;&(])(\w+)=["']?$`)

// findAssigned finds a download that is assigned to a variable, which a shell then runs.
func findAssigned(text []byte, at int) (string, string) {
	before := bytes.TrimRight(text[max(0, at-2):at], `"'`)
	if len(before) == 0 || before[len(before)-1] != '=' {
		return "", ""
	}
	m := assignedTo().FindSubmatch(lineBefore(text, at, 80))
	if m == nil {
		return "", ""
	}
	here := window(text, at)
	end := bytes.IndexAny(here[2:], ")`\n")
	if end < 0 {
		return "", ""
	}
	args, rest := here[2:2+end], here[2+end:]
	for _, end := range uses(rest, string(m[1])) {
		before := lineBefore(rest, end, 60)
		if runsText().Match(before[:bytes.LastIndexByte(before, '$')]) || sinkAt().Match(bytes.TrimLeft(rest[end:], ` "'`+"`"+`}`)) {
			_, args, _ := bytes.Cut(args, []byte(" "))
			return ruleForPipe(args)
		}
	}
	return "", ""
}

// uses returns the end of each use of a variable in a shell.
func uses(text []byte, name string) (ends []int) {
	for _, use := range []string{"$" + name, "${" + name} {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(use))
			if i < 0 {
				break
			}
			if from += i + len(use); from == len(text) || !isWord(text[from]) || text[from] == '-' {
				ends = append(ends, from)
			}
		}
	}
	return ends
}

var runsText = compile(`(?:\beval|\b(?:ba|z|da)?sh\s+-\w*c|\bpython3?\s+-c|<<<)\s+["']?$`)

// ruleForPipe returns the rule for what a shell runs, and the URL if there is one; none if the text names nothing to fetch.
func ruleForPipe(args []byte) (string, string) {
	if isPlaceholder(args) {
		return "", ""
	}
	urls := url().FindAll(args, -1)
	for _, u := range urls {
		if !isInstaller(string(u)) {
			if len(urls) > 1 || bareHost().Match(args) {
				return "scan.command.pipe_shell", ""
			}
			return "scan.command.pipe_shell", string(u)
		}
	}
	if len(urls) == 0 || bareHost().Match(args) {
		return "scan.command.pipe_shell", ""
	}
	return knownInstaller, ""
}

// isPlaceholder reports whether a command names nothing that can be fetched: "curl | sh", "curl -fsSL [url] | sh".
func isPlaceholder(args []byte) bool {
	for word := range strings.FieldsSeq(string(args)) {
		word = strings.Trim(word, "`\"'\\")
		if word != "" && word[0] != '-' && !strings.ContainsAny(word[:1], "[<|*") && !strings.HasPrefix(word, "..") && !strings.HasPrefix(word, "…") {
			return false
		}
	}
	return true
}

var spelled = anchored("(?:\\$\\(|`)(?:printf|echo\\s+-e)\\s[^)\\n]*?(?:(?:\\\\\\\\?x[2-7][0-9a-fA-F]){3}|(?:\\\\\\\\?0?[01][0-7]{2}){3})")

var (
	evalDecoded = anchored(`(?:(?:eval|exec)\b|Function\(|compile\(|loads\(|execSync\(|system\(|popen\(|os\.execute\(|shell_exec\(|passthru\(|subprocess\.\w+\(|loadstring\()[^\n]{0,160}?(?:\bchr\(|map\(\s*chr|bytes\(\s*\[|bytearray\(\s*\[|\[::-1\]|pack\(\s*["']?H\*|zlib\.decompress|b64decode|base64_decode|b32decode|a85decode|decodebytes|atob\s*\(|[,(]\s?["']?base64["']?\)|fromhex\(|unhexlify|fromCharCode|string\.char\(|unpack1?\(?\s*["']m|Buffer\.from\([^)\n]{1,200},\s?["']?base64|rot_?13|,\s?["']?hex["']?\))`)
	evalFetched = anchored(`(?:eval|exec|loads|load|loadstring|system|popen|execSync|os\.execute|shell_exec|passthru|subprocess\.\w+)\s*\(+[^\n]{0,120}?(?:urlopen|urllib|requests\.get|httpx\.get|fetch\(|https?\.(?:get|request)\(|axios\.get|file_get_contents\(\s*["']https?:|URI\.open|Net::HTTP\.get|LWP::|open\(\s*["']https?:|URI(?:\.parse)?\(\s*["']https?:|\bget\s*\(?\s*["']https?:)|eval\s+(?:(?:LWP::Simple::)?get\s*\(?\s*(?:["'$]|q[qw]?[{(/])|(?:LWP::UserAgent|HTTP::Tiny|Mojo::UserAgent|HTTP::Client)\b[^\n;]{0,60}?->\s*get\b|(?:URI\.open|Kernel\.open|open)\s*\(?\s*["']https?://|(?:URI\.parse|URI)\s*\(?\s*["']https?://[^\n;]{0,200}?\.(?:read|open)\b|Net::HTTP\.get|HTTParty\.get|Faraday\.get)`)
	runsBefore  = compile(`(?:system|exec|eval|qx|open)\W{0,3}$`)
	literal     = compile(`["'][A-Za-z0-9+/_-]{20,}={0,2}["']|[(\[](?:\s*(?:0x)?[0-9a-fA-F]{2,3}\s*,){6}|(?:chr\(\s*\d+\s*\)\s*[+.]\s*){3}|decode\(\s*["'][^"'\n]{12,}|["'][^"'\n]{12,}["']\[::-1\]|H\*["']?\s*,\s*["']?[0-9a-fA-F]{8,}`)
	// decodedText is a text that is decoded. The fold removes the quotes of one without blanks.
	decodedText = compile(`(?:decode|decodebytes|atob|from)\s*\(\s*b?["']?([A-Za-z0-9+/]{8,}={0,2})["']?\s*[,)]`)
)

// findEval finds decoded or fetched code that is evaluated. An encoded literal next to it has no purpose but to hide the
// code.
func findEval(text []byte, at int) (string, string) {
	here := window(text, at)
	if bytes.HasPrefix(here, []byte("loads(")) && !bytes.HasSuffix(text[max(0, at-8):at], []byte("marshal.")) && !bytes.HasSuffix(text[max(0, at-8):at], []byte("pickle.")) && !bytes.HasSuffix(text[max(0, at-8):at], []byte("dill.")) {
		return "", ""
	}
	if evalDecoded().Match(here) {
		line := lineAt(text, at)
		if m := decodedText().FindSubmatch(line); literal().Match(line) || m != nil && looksEncoded(m[1]) {
			return "scan.command.decode_shell", ""
		}
		return "scan.command.eval_base64", ""
	}
	if evalFetched().Match(here) {
		return ruleForPipe(lineAt(text, at))
	}
	return "", ""
}

// looksEncoded reports whether a word is encoded text instead of the name of a variable: by its end, or by mixed cases and
// digits.
func looksEncoded(word []byte) bool {
	return word[len(word)-1] == '=' || len(word)%4 == 0 && bytes.ContainsAny(word, "0123456789") && bytes.ContainsFunc(word, unicode.IsUpper) && bytes.ContainsFunc(word[1:], unicode.IsLower)
}

var (
	psPipe       = anchored(`(?i)(?:iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\s[^\n]{0,160}?\\?\|\s*(?:iex|Invoke-Expression)\b`)
	psExpression = anchored(`(?i)(?:iex|Invoke-Expression)[\s(&"'$]{1,8}[^\n|;]{0,120}?(?:iwr|irm|curl|wget|Invoke-WebRequest|Invoke-RestMethod|DownloadString|FromBase64String)\b[^\n]{0,200}`)
	psDownload   = anchored(`(?i)Download(?:String|Data)\([^\n]{0,200}?\)\s*\|\s*(?:iex|Invoke-Expression)|(?is)DownloadFile\(.{0,240}?(?:Start-Process|Invoke-Item|\bii\s|[;\n]\s*&\s)`)
	psDecoded    = compile(`(?i)FromBase64String`)
)

func findExpression(text []byte, at int) (string, string) {
	m := psExpression().Find(window(text, at))
	if m == nil {
		_, m, _ = bytes.Cut(psPipe().Find(window(text, at)), []byte(" "))
	}
	switch {
	case m == nil:
		return "", ""
	case psDecoded().Match(m):
		return "scan.command.decode_shell", ""
	}
	return ruleForPipe(m)
}

func findDownload(text []byte, at int) (string, string) {
	if m := psDownload().Find(window(text, at)); m != nil {
		return ruleForPipe(m)
	}
	return "", ""
}

var (
	outputTo  = compile(`(?:\s(?:-[a-zA-Z]*[oO]|--output|--output-document|-OutFile|-Out|-Destination)[\s=]\s*|>\s*)["']?([\w./~$@{}\\%:-]+)`)
	checked   = compile(`\b(?:sha(?:1|224|256|384|512)(?:sum)?|shasum|md5(?:sum)?|gpg|cosign|minisign|signify|dgst|less|more|vim|nano|Get-FileHash|slsa-verifier|gh attestation)\b`)
	decodesIn = compile(`(?:-[a-zA-Z]*[dD]|--decode)\b`)
)

// maxSteps bounds the commands after a download that are examined.
const maxSteps = 4

// cutCommand returns the first command of a text, also of cmd, and the rest.
func cutCommand(text []byte) (command, rest []byte, more bool) {
	for i, c := range text {
		n := 0
		switch {
		case c == ';' || c == '\n' || c == '`':
			n = 1
		case (c == '&' || c == '|') && i+1 < len(text) && text[i+1] == c:
			n = 2
		case c == '&' && i > 0 && text[i-1] == ' ' && i+1 < len(text) && text[i+1] == ' ':
			n = 1
		default:
			continue
		}
		return bytes.TrimSpace(text[:i]), bytes.TrimSpace(text[i+n:]), true
	}
	return bytes.TrimSpace(text), nil, false
}

// savesFile reports whether a command may write a file and another command follows.
func savesFile(text []byte, at int) bool {
	first, _, more := cutCommand(window(text, at))
	switch {
	case !more:
		return false
	case bytes.HasPrefix(first, []byte("echo ")), bytes.HasPrefix(first, []byte("printf ")):
		return bytes.IndexByte(first, '>') >= 0
	case bytes.HasPrefix(first, []byte("certutil")):
		return true
	}
	return bytes.IndexByte(first, '>') >= 0 || bytes.HasPrefix(first, []byte("wget")) || outputFlag().Match(first)
}

var outputFlag = compile(`\s-[\w-]*[oO]`)

// findFetchAndRun finds a file that is fetched or decoded and then run in the same passage, without a check.
func findFetchAndRun(text []byte, at int) (string, string) {
	command, rest, _ := cutCommand(window(text, at))
	first := string(command)
	file := ""
	encoded := strings.HasPrefix(first, "base64")
	switch m := outputTo().FindStringSubmatch(first); {
	case encoded && (m == nil || !decodesIn().MatchString(first)):
		return "", ""
	case strings.HasPrefix(first, "certutil"):
		words := strings.Fields(first)
		if !strings.Contains(strings.ToLower(first), "-urlcache") || len(words) < 3 {
			return "", ""
		}
		file = words[len(words)-1]
	case m != nil && !strings.HasPrefix(m[1], "http") && m[1] != "-" && m[1] != "/dev/null":
		file = m[1]
	case strings.HasPrefix(first, "wget"), strings.Contains(first, " -O"), strings.Contains(first, " -LO"), strings.Contains(first, "O "):
		if u := url().FindString(first); u != "" {
			file = path.Base(u)
		}
	}
	file = strings.Trim(strings.TrimPrefix(file, "./"), `"'`)
	if len(file) < 1 || strings.HasPrefix(file, "$(") {
		return "", ""
	}
	var steps []string
	for more := true; more && len(steps) < maxSteps; {
		command, rest, more = cutCommand(rest)
		steps = append(steps, string(command))
	}
	if !isRunAfter(file, steps) {
		return "", ""
	}
	if encoded {
		if m := echoed().FindSubmatch(lineBefore(text, at, 300)); m != nil && isPlaceholderCode(m[1]) {
			return "", ""
		}
		return "scan.command.decode_shell", ""
	}
	_, args, _ := strings.Cut(first, " ")
	args = strings.ReplaceAll(args, file, "")
	if u := url().FindString(first); u != "" {
		if isInstaller(u) {
			return knownInstaller, ""
		}
		return "scan.command.pipe_shell", u
	}
	if isPlaceholder([]byte(args)) || !bareHost().MatchString(args) {
		return "", ""
	}
	return "scan.command.pipe_shell", ""
}

var (
	echoed = compile(`(?:echo|printf)\s+(?:-\w+\s+)?["']?([^\s"'|]+)["']?\s*\|\s*$`)
	// placeholderCode stands for text that an author would encode: <encoded>, {encoded}, BASE64_WRAPPER.
	placeholderCode = compile(`^(?:[<{\[].*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)$`)
)

// isPlaceholderCode reports whether an encoded text is a placeholder, or decodes to a sketch with an ellipsis.
func isPlaceholderCode(word []byte) bool {
	text, err := base64.StdEncoding.DecodeString(string(word))
	return placeholderCode().Match(word) || err == nil && len(text) < 40 && bytes.Contains(text, []byte("...")) && !bytes.ContainsAny(text, "/$`")
}

// runner is what precedes the name of a file in a command that runs it.
var runner = compile(`^["']?(?:(?:sudo|nohup|exec|env|\$|insmod|kextload|mshta|regsvr32|doas|command|setsid|time|start|&|-\S+|\w+=\S*)\s+)*(?:(?:[\w./]*/)?((?:ba|z|da|k)?sh|source|\.|python3?|perl|node|ruby|php|start|Start-Process|cmd|exec|eval|insmod|kextload|mshta|regsvr32|&)\s+(?:[-/]\w\S*\s+)*)?["'(]*(\./|\.\\)?$`)

func isRunAfter(file string, steps []string) bool {
	for _, step := range steps {
		if checked().MatchString(step) {
			return false
		}
		before, after, found := strings.Cut(step, file)
		if !found || after != "" && isWord(after[0]) {
			continue
		}
		if m := runner().FindStringSubmatch(before); m != nil && (m[1] != "" || m[2] != "" || strings.Contains(file, "/") || strings.HasSuffix(file, ".exe")) {
			return true
		}
	}
	return false
}
