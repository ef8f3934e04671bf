package scan

import (
	"bytes"
	"slices"
	"strings"
)

// fetchedProbes search for programs, usually one-liners, that evaluate the response of a host, and for packages installed
// without https.
var fetchedProbes = []probe{
	{keys: []string{"eval "}, word: true, cost: 3, find: findEvalWord},
	{keys: []string{"requests.get(", "httpx.get(", "urlopen(", "fetch(", "axios.get(", "URI.open(", "Net::HTTP.get(", "= get(", "=get(", "= get ", "=get ", "->get(", "file_get_contents("}, prefilter: mayAssign, cost: 20, find: findAssignedThenEval},
	{keys: []string{".then("}, prefilter: mayEvaluate, cost: 4, find: findThen},
	{keys: []string{"pip install ", "pip3 install ", "pipx install ", "uv add ", "npm install ", "npm i ", "pnpm add ", "yarn add ", "yarn global add ", "gem install ", "cpanm "}, word: true, prefilter: near(overHTTP, 0, reach), cost: 4, find: findPackage},
	{keys: []string{"deno run ", "npx ", "bunx ", "pnpm dlx ", "bun x ", "Rscript -e", "git clone "}, word: true, cost: 4, find: findRemoteProgram},
}

var (
	// evalWord is an evaluation without parentheses, in Perl and Ruby.
	evalWord = anchored(`eval\s+(?:(?:LWP::Simple::)?get\s*\(?\s*(?:["'$]|q[qw]?[{(/])|(?:LWP::UserAgent|HTTP::Tiny|Mojo::UserAgent|HTTP::Client)\b[^\n;]{0,60}?->\s*get\b|` +
		`(?:URI\.open|Kernel\.open|open)\s*\(?\s*["']https?://|(?:URI\.parse|URI)\s*\(?\s*["']https?://[^\n;]{0,200}?\.(?:read|open)\b|Net::HTTP\.get|HTTParty\.get|Faraday\.get)`)
	// responseVar is the variable that a response is assigned to.
	responseVar = compile(`(?:^|[\s;"'({$@])(\w+)\s*=\s*[^\n;=]{0,40}$`)
	// evaluates is the evaluation of a variable, excluding methods with the same name.
	evaluates = compile(`(?:^|[^\w.$>])(?:(?:eval|exec|Function)\s*\(\s*(?:compile\(\s*)?|eval\s+)[$@]?(\w+)`)
	// thenEval is a response that is passed to an evaluation.
	thenEval = anchored(`\.then\(\s*(?:eval\s*\)|(?:async\s+)?\(?\s*\w+\s*\)?\s*=>\s*[({]?\s*(?:return\s+)?(?:\(0,\s*eval\)|eval|(?:new\s+)?Function|vm\.runIn\w+)\s*\()`)
	requests = compile(`\bfetch\(|\baxios\b|\bgot\(|\bhttps?\.get\(`)

	// packageSource is an option of an installer with a URL that is not a package.
	packageSource = compile(`\s(?:-i|-f|--index-url|--extra-index-url|--find-links|--proxy|--registry|--https?-proxy|--source|--index|--mirror)[\s=]+\S+`)
	overHTTP      = compile(`http://`)
	// packageHTTP is a URL that is the first argument, or that is of an archive or a repository.
	packageHTTP = compile(`^\w+(?:\s(?:global|install|add|i))?(?:\s+-\S+)*\s+["']?(http://[^\s"'` + "`" + `<>|\\)]+)|\s["']?[^\s"']*?\s?(?:@\s?|git\+)?(http://[^\s"'` + "`" + `<>|\\)]+\.(?:tar(?:\.\w+)?|tgz|zip|whl|gem|git))(?:[\s"'` + "`" + `@#]|$)`)
)

func findEvalWord(text []byte, at int) (string, string) {
	if !evalWord().Match(window(text, at)) {
		return "", ""
	}
	return ruleForPipe(lineAt(text, at))
}

// mayAssign reports whether a response may be assigned to a variable and something evaluated after it.
func mayAssign(text []byte, at int) bool {
	here := window(text, at)
	return bytes.IndexByte(text[max(0, at-40):min(len(text), at+2)], '=') >= 0 &&
		(bytes.Contains(here, []byte("eval")) || bytes.Contains(here, []byte("exec")) || bytes.Contains(here, []byte("Function(")))
}

func findAssignedThenEval(text []byte, at int) (string, string) {
	from := at
	if text[at] == '=' {
		from++ // the key begins with the assignment
	}
	m := responseVar().FindSubmatch(lineBefore(text, from, 80))
	if m == nil {
		return "", ""
	}
	for _, use := range evaluates().FindAllSubmatch(window(text, at), -1) {
		if bytes.Equal(use[1], m[1]) {
			return ruleForPipe(lineAt(text, at))
		}
	}
	return "", ""
}

func mayEvaluate(text []byte, at int) bool {
	here := head(window(text, at), 80)
	return bytes.Contains(here, []byte("eval")) || bytes.Contains(here, []byte("Function(")) || bytes.Contains(here, []byte("vm.run"))
}

func findThen(text []byte, at int) (string, string) {
	before := text[max(0, at-300):at]
	if !thenEval().Match(window(text, at)) {
		return "", ""
	}
	m := requests().FindAllIndex(before, -1)
	if m == nil {
		return "", ""
	}
	return ruleForPipe(before[m[len(m)-1][0]:])
}

func findPackage(text []byte, at int) (string, string) {
	command := packageSource().ReplaceAll(wholeCommand(text, at), nil)
	command, _, _ = bytes.Cut(command, []byte(" #"))
	m := packageHTTP().FindSubmatch(command)
	if m == nil {
		return "", ""
	}
	hosts := hostsOf(slices.Concat(m[1], m[2], []byte(" ")))
	if len(hosts) == 0 || slices.ContainsFunc(hosts, isPrivate) {
		return "", ""
	}
	return "scan.command.package_http", hosts[0]
}

var (
	remoteProgram = anchored(`(?s)(?:(?:(?:deno run|npx|bunx|pnpm dlx|bun x)(?:\s-\S+)*\s["']?|Rscript -e[^\n]{0,20}source\(["']?)(https?://[^\s"'` + "`" + `<>|\\)]+)|` +
		`git clone\s(?:-\S+\s+(?:\d+\s+)?)*["']?(https?://[^\s"']+).{0,160}?(?:(?:ba|z)?sh\s+\S|python3?\s+\S+\.py|\./\S|\bmake\b|npm\s+(?:i|install|run)\b))`)
	codeIndexes = slices.Concat(codeHosts, []string{"deno.land", "jsr.io", "esm.sh", "npmjs.org", "npmjs.com", "cdn.jsdelivr.net", "unpkg.com", "pkg.pr.new", "huggingface.co", "sourceware.org", "kernel.org", "googlesource.com", "sr.ht", "savannah.gnu.org", "gnome.org", "freedesktop.org", "apache.org", "azure.com", "visualstudio.com", "amazonaws.com"})
)

// findRemoteProgram finds a program that is run from a host that has no index of packages: by its address, or after a clone.
func findRemoteProgram(text []byte, at int) (string, string) {
	m := remoteProgram().FindSubmatch(window(text, at))
	if m == nil {
		return "", ""
	}
	address := slices.Concat(m[1], m[2])
	if host := hostOf(string(address)); isWithin(host, codeIndexes) || isPrivate(host) {
		return "", ""
	}
	return ruleForPipe(address)
}

// isPrivate reports whether a host is the local machine or in a private network, by its name or address.
func isPrivate(host string) bool {
	if isLocal(host) || !strings.Contains(host, ".") || strings.HasPrefix(host, "10.") || strings.HasPrefix(host, "192.168.") {
		return true
	}
	return isWithin(host, []string{"local", "localhost", "internal", "intranet", "lan", "svc", "corp", "home.arpa"})
}
