package scan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// fetchedProbes look for programs, mostly of one line, that evaluate what a host answers, and for packages that are installed
// from a host without https.
var fetchedProbes = []probe{
	{keys: []string{"eval "}, word: true, cost: 3, find: findEvalWord},
	{
		keys: []string{
			"requests.get(", "httpx.get(", "urlopen(", "fetch(", "axios.get(", "URI.open(", "Net::HTTP.get(", "= get(", "=get(", "= get ", "=get ", "->get(", "file_get_contents(",
		},
		worth: mayKeep, cost: 20, find: findKept,
	},
	{keys: []string{".then("}, worth: mayEvaluate, cost: 4, find: findThen},
	{
		keys: []string{"pip install ", "pip3 install ", "pipx install ", "uv add ", "npm install ", "npm i ", "pnpm add ", "yarn add ", "yarn global add ", "gem install ", "cpanm "},
		word: true, worth: namesHTTP, cost: 4, find: findPackage,
	},
}

var (
	// evalWord is an evaluation without brackets, in Perl and Ruby.
	evalWord = anchored(`eval\s+(?:(?:LWP::Simple::)?get\s*\(?\s*(?:["'$]|q[qw]?[{(/])|(?:LWP::UserAgent|HTTP::Tiny|Mojo::UserAgent|HTTP::Client)\b[^\n;]{0,60}?->\s*get\b|` +
		`(?:URI\.open|Kernel\.open|open)\s*\(?\s*["']https?://|(?:URI\.parse|URI)\s*\(?\s*["']https?://[^\n;]{0,200}?\.(?:read|open)\b|Net::HTTP\.get|HTTParty\.get|Faraday\.get)`)
	// keptIn is the variable that an answer is kept in.
	keptIn = regexp.MustCompile(`(?:^|[\s;"'({$@])(\w+)\s*=\s*[^\n;=]{0,40}$`)
	// evaluates is the evaluation of a variable. A method of an object that is called so is another thing.
	evaluates = regexp.MustCompile(`(?:^|[^\w.$>])(?:(?:eval|exec|Function)\s*\(\s*(?:compile\(\s*)?|eval\s+)[$@]?(\w+)`)
	// thenEval is an answer that is handed to an evaluation.
	thenEval = anchored(`\.then\(\s*(?:eval\s*\)|(?:async\s+)?\(?\s*\w+\s*\)?\s*=>\s*[({]?\s*(?:return\s+)?(?:\(0,\s*eval\)|eval|(?:new\s+)?Function|vm\.runIn\w+)\s*\()`)
	requests = regexp.MustCompile(`\bfetch\(|\baxios\b|\bgot\(|\bhttps?\.get\(`)

	// packageSource is an option of an installer that has an address and names no package.
	packageSource = regexp.MustCompile(`\s(?:-i|-f|--index-url|--extra-index-url|--find-links|--proxy|--registry|--https?-proxy|--source|--index|--mirror)[\s=]+\S+`)
	// packageHTTP is an address that is the first thing to install, or that an archive or a repository has.
	packageHTTP = regexp.MustCompile(`^\w+(?:\s(?:global|install|add|i))?(?:\s+-\S+)*\s+["']?(http://[^\s"'` + "`" + `<>|\\)]+)|\s["']?[^\s"']*?\s?(?:@\s?|git\+)?(http://[^\s"'` + "`" + `<>|\\)]+\.(?:tar(?:\.\w+)?|tgz|zip|whl|gem|git))(?:[\s"'` + "`" + `@#]|$)`)
)

// findEvalWord finds the evaluation of an answer without brackets.
func findEvalWord(text []byte, at int) (string, string) {
	m := evalWord.Find(window(text, at))
	if m == nil {
		return "", ""
	}
	line, _, _ := bytes.Cut(window(text, at), []byte{'\n'})
	return judgePipe(line)
}

// mayKeep reports whether an answer may be kept in a variable, and something evaluated after it.
func mayKeep(text []byte, at int) bool {
	here := window(text, at)
	return bytes.IndexByte(text[max(0, at-40):min(len(text), at+2)], '=') >= 0 &&
		(bytes.Contains(here, []byte("eval")) || bytes.Contains(here, []byte("exec")) || bytes.Contains(here, []byte("Function(")))
}

// findKept finds an answer that is kept in a variable, which is then evaluated.
func findKept(text []byte, at int) (string, string) {
	from := at
	if text[at] == '=' {
		from++ // the key begins with the assignment
	}
	m := keptIn.FindSubmatch(lineBefore(text, from, 80))
	if m == nil {
		return "", ""
	}
	here := window(text, at)
	for _, use := range evaluates.FindAllSubmatch(here, -1) {
		if bytes.Equal(use[1], m[1]) {
			line, _, _ := bytes.Cut(here, []byte{'\n'})
			return judgePipe(line)
		}
	}
	return "", ""
}

// mayEvaluate reports whether a callback may evaluate something.
func mayEvaluate(text []byte, at int) bool {
	here := head(window(text, at), 80)
	return bytes.Contains(here, []byte("eval")) || bytes.Contains(here, []byte("Function(")) || bytes.Contains(here, []byte("vm.run"))
}

// findThen finds an answer that a callback evaluates.
func findThen(text []byte, at int) (string, string) {
	before := text[max(0, at-300):at]
	if !thenEval.Match(window(text, at)) {
		return "", ""
	}
	m := requests.FindAllIndex(before, -1)
	if m == nil {
		return "", ""
	}
	return judgePipe(before[m[len(m)-1][0]:])
}

// namesHTTP reports whether a command has an address without https.
func namesHTTP(text []byte, at int) bool {
	return bytes.Contains(window(text, at), []byte("http://"))
}

// findPackage finds a package that is installed from an address without https, outside of the own network.
func findPackage(text []byte, at int) (string, string) {
	command := packageSource.ReplaceAll(commandAt(text, at), nil)
	command, _, _ = bytes.Cut(command, []byte(" #"))
	m := packageHTTP.FindSubmatch(command)
	if m == nil {
		return "", ""
	}
	hosts := hostsOf(slices.Concat(m[1], m[2], []byte(" ")))
	if len(hosts) == 0 || slices.ContainsFunc(hosts, isPrivate) {
		return "", ""
	}
	return "scan.command.package_http", hosts[0]
}

// isPrivate reports whether a host is the machine itself or of a private network, by its name or address.
func isPrivate(host string) bool {
	if isLocal(host) || !strings.Contains(host, ".") || strings.HasPrefix(host, "10.") || strings.HasPrefix(host, "192.168.") {
		return true
	}
	return isWithin(host, []string{"local", "localhost", "internal", "intranet", "lan", "svc", "corp", "home.arpa"})
}
