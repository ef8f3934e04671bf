package scan

import (
	"bytes"
	"regexp"
	"strings"
)

// commandProbes look for commands in any text: an agent runs what a document says as well as a script.
var commandProbes = []probe{
	{keys: []string{"/dev/tcp/", "/dev/udp/"}, find: findDevTCP},
	{keys: []string{"nc ", "ncat ", "netcat "}, word: true, find: matching("scan.command.reverse_shell_nc", netcat)},
	{keys: []string{"rm "}, word: true, find: findRemoveRoot},
	{keys: []string{"curl ", "wget "}, word: true, find: findPipe},
	{keys: []string{"iwr ", "irm ", "Invoke-WebRequest ", "Invoke-RestMethod "}, word: true, find: findPowerShellPipe},
	{keys: []string{"base64 -d", "base64 --decode", "base64 -D"}, word: true, find: matching("scan.command.decode_shell", decodeShell)},
	{keys: []string{"curl ", "wget "}, word: true, find: findSentSecret},
	{keys: []string{"eval", "exec"}, word: true, find: matching("scan.command.eval_base64", evalBase64)},
	{keys: []string{".aws/credentials", ".ssh/id_", ".git-credentials", "/.netrc", "/etc/shadow", "secrets/vault", "secrets.vault"}, find: findCredentialPath},
}

// matching makes the find of a probe that has one rule and one pattern.
func matching(code string, re *regexp.Regexp) func([]byte, int) (string, string) {
	return func(text []byte, at int) (string, string) {
		if re.Match(window(text, at)) {
			return code, ""
		}
		return "", ""
	}
}

// A shell, as the end of a pipe names it, and what comes between a command and it: anything on the line, and on the lines
// that a backslash joins to it.
const (
	shell   = `(?:sudo\s+(?:-\S+\s+)*)?(?:/usr)?(?:/bin/)?(?:env\s+)?(?:(?:ba|z|da|k)?sh)(?:[\s"'` + "`" + `;&|)\\]|$)`
	between = `(?:[^\n]|\\\r?\n)`
)

var (
	devTCP      = anchored(`/dev/(?:tcp|udp)/([A-Za-z0-9$<{(][^\s/"']*)/[0-9$<{A-Za-z(]`)
	netcat      = anchored(`(?:nc|ncat|netcat)(?:\s[^\n|;]{0,40}?)?\s(?:-[a-zA-Z]{0,4}e|--exec|--sh-exec)\s+["']?[\w/$.]`)
	removeRoot  = anchored(`rm\s+((?:-{1,2}[a-zA-Z-]+\s+)+)["']?(?:/|~/?|\$HOME/?|\$\{HOME\}/?)(\*|\.\*)?["']?(?:[\s;&|)` + "`" + `"'\\,]|$)`)
	pipe        = anchored(`(?:curl|wget)\s(` + between + `{0,160}?)\\?\|\s*(?:` + shell + `|(?:sudo\s+)?python3?(?:\s+-)?\s*(?:["'` + "`" + `;)]|$|\n))`)
	decodeShell = anchored(`base64 (?:-d|-D|--decode)[^\n|]{0,80}\|\s*` + shell)
	evalBase64  = anchored(`(?:eval|exec)\b[^\n]{0,80}?(?:b64decode|base64_decode|decodebytes|atob\s*\(|base64\s+(?:-d|-D|--decode)|['"]base64['"])`)
	psPipe      = anchored(`(?:iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\s[^\n]{0,160}?\\?\|\s*(?:iex|Invoke-Expression)\b`)
	intoShell   = regexp.MustCompile(`(?:^|[\s"'` + "`" + `/(])(?:(?:ba|z|da|k)?sh\s+(?:-\S+\s+)*\\?["']?(?:\$\(|<\(|` + "`" + `)|(?:eval|source|\.)\s+\\?["']?(?:\$\(|<\(|` + "`" + `))\s*$`)
)

// findDevTCP finds a connection of a shell. To the machine itself it is how scripts wait for a service.
func findDevTCP(text []byte, at int) (string, string) {
	m := devTCP.FindSubmatch(window(text, at))
	if m == nil {
		return "", ""
	}
	switch string(m[1]) {
	case "localhost", "127.0.0.1", "0.0.0.0":
		return "", ""
	}
	return "scan.command.reverse_shell_devtcp", ""
}

// findRemoveRoot finds the removal of everything. Without a flag to go into directories, and without a pattern for what is
// in them, rm refuses.
func findRemoveRoot(text []byte, at int) (string, string) {
	m := removeRoot.FindSubmatch(window(text, at))
	if m == nil {
		return "", ""
	}
	for flag := range strings.FieldsSeq(string(m[1])) {
		long := strings.HasPrefix(flag, "--")
		if long && (flag == "--recursive" || flag == "--no-preserve-root") || !long && strings.ContainsAny(flag, "rR") ||
			len(m[2]) > 0 && (flag == "--force" || !long && strings.Contains(flag, "f")) {
			return "scan.command.rm_root", ""
		}
	}
	return "", ""
}

// findPipe finds a download that a shell runs: piped to it, or put into its command line.
func findPipe(text []byte, at int) (string, string) {
	here := window(text, at)
	before := text[max(0, at-60):at]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	if bytes.ContainsAny(before, "(`") && intoShell.Match(before) {
		if end := bytes.IndexAny(here, ")`\n"); end >= 0 {
			here = here[:end]
		}
		return judgePipe(here)
	}
	if bytes.IndexByte(here, '|') < 0 {
		return "", ""
	}
	if m := pipe.FindSubmatch(here); m != nil {
		return judgePipe(m[1])
	}
	return "", ""
}

func findPowerShellPipe(text []byte, at int) (string, string) {
	if m := psPipe.Find(window(text, at)); m != nil {
		return judgePipe(m)
	}
	return "", ""
}

// judgePipe returns the rule for what a shell runs. Talk about it, which names nothing to fetch, is none.
func judgePipe(args []byte) (string, string) {
	if talk(args) {
		return "", ""
	}
	urls := url.FindAll(args, -1)
	for _, u := range urls {
		if !isInstaller(string(u)) {
			return "scan.command.pipe_shell", ""
		}
	}
	if len(urls) == 0 || bareHost.Match(args) {
		return "scan.command.pipe_shell", ""
	}
	return "scan.command.known_installer", ""
}

// talk reports whether a command names nothing that could be fetched: "curl | sh", "curl -fsSL [url] | sh".
func talk(args []byte) bool {
	for word := range strings.FieldsSeq(string(args)) {
		word = strings.Trim(word, "`\"'\\")
		if word != "" && word[0] != '-' && !strings.ContainsAny(word[:1], "[<.|") && !strings.HasPrefix(word, "…") {
			return false
		}
	}
	return true
}

var credentialPath = anchored(`(?:\.ssh/id_(?:rsa|dsa|ecdsa|ed25519)|\.aws/credentials|\.git-credentials|/\.netrc|/etc/shadow|secrets[/.]vault)(\.pub)?(?:[^\w-]|$)`)

// findCredentialPath finds the name of a file that holds credentials. The public half of a key is none.
func findCredentialPath(text []byte, at int) (string, string) {
	if m := credentialPath.FindSubmatch(window(text, at)); m != nil && m[1] == nil {
		return "scan.command.credential_path", ""
	}
	return "", ""
}
