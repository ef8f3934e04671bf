package scan

import (
	"bytes"
	"slices"
	"strings"
)

// fetchedProbes search for programs, usually one-liners, that evaluate the response of a host, and for packages installed
// without https.
var fetchedProbes = []probe{
	{keys: []string{"requests.get(", "httpx.get(", "urlopen(", "fetch(", "axios.get(", "URI.open(", "Net::HTTP.get(", "http.request(", "http.Get(", "LWP", "DownloadString(", "= get(", "=get(", "= get ", "=get ", "->get(", "file_get_contents("}, prefilter: func(text []byte, at int) bool {
		return bytes.IndexByte(text[max(0, at-40):min(len(text), at+2)], '=') >= 0
	}, cost: 10, find: findAssignedThenEval},
	{keys: []string{"pip install ", "pip3 install ", "pipx install ", "uv add ", "npm install ", "npm i ", "pnpm add ", "yarn add ", "yarn global add ", "gem install ", "cpanm "}, word: true, prefilter: near(overHTTP, 0, reach), cost: 4, find: findPackage},
	{keys: []string{"registry", "index-url", "-i http", "GOPROXY=", "gem sources ", "--source http", "brew tap ", "helm repo add ", "trusted-host", "GONOSUMCHECK", "GONOSUMDB", "GOINSECURE", "GOSUMDB", "--allow-unauthenticated", "--force-yes", "--nogpgcheck", "--no-gpg-check", "trusted=yes", "--allow-untrusted"}, cost: 3, find: findSource},
	{keys: []string{"deno run ", "npx ", "bunx ", "pnpm dlx ", "bun x ", "Rscript -e", "git clone "}, word: true, cost: 4, find: findRemoteProgram},
}

var (
	// responseVar is the variable that a response is assigned to.
	responseVar = compile(`(?:^|[\s;"'({$@])(\w+)(?:,\s*\w+)?\s*:?=\s*[^\n;=]{0,40}$`)
	// evaluates is the evaluation of a variable, excluding methods with the same name.
	evaluates = compile(`(?:^|[^\w.$>])(?:(?i:iex|Invoke-Expression)[\s(]+|(?:eval|exec|Function|system|popen|execSync|shell_exec|passthru|os\.(?:system|popen|execute)|io\.popen|subprocess\.\w+|child_process\.\w+|load|loadstring)\s*\(\s*(?:compile\(\s*|(?:\[\s*)?["'](?:ba)?sh["'],\s*["']-c["'],\s*)?|eval\s+)[$@]?(\w+)`)

	// packageSource is an option of an installer with a URL that is not a package.
	packageSource = compile(`\s(?:-i|-f|--index-url|--extra-index-url|--find-links|--proxy|--registry|--https?-proxy|--source|--index|--mirror)[\s=]+\S+`)
	overHTTP      = compile(`http://`)
	// packageHTTP is a URL that is the first argument, or that is of an archive or a repository.
	packageHTTP = compile(`^\w+(?:\s(?:global|install|add|i))?(?:\s+-\S+)*\s+["']?(http://[^\s"'` + "`" + `<>|\\)]+)|\s["']?[^\s"']*?\s?(?:@\s?|git\+)?(http://[^\s"'` + "`" + `<>|\\)]+\.(?:tar(?:\.\w+)?|tgz|zip|whl|gem|git))(?:[\s"'` + "`" + `@#]|$)`)
)

// findAssignedThenEval finds a response in a variable that is evaluated or run as a command.
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
	// installing is a command that sets where packages come from; source is an address of that.
	installing = compile(`\b(?:npm|pnpm|yarn|bun|pip3?|pipx?|uv|poetry|gem|bundle|brew|go|cargo|helm|conda|apt(?:-get)?|yum|dnf|apk|zypper)\s|GOPROXY=|\bdeb\s|registry\s*=|index-url\s*=`)
	source     = compile(`(?:registry|GOPROXY|index-url|--source|--add|-a|-i|tap\s+\S+|repo add\s+\S+)[\s=]+["']?(https?://[^\s"'` + "`" + `<>|\\),]+)`)
	foreign    = compile(`extra-index-url|GOPROXY=`)
	unchecked  = compile(`(?:apt(?:-get)?\s[^\n]*(?:--allow-unauthenticated|--force-yes)|trusted=yes\S*\s+http|(?:yum|dnf|zypper|rpm)\s[^\n]*--no-?gpg-?check|apk\s[^\n]*--allow-untrusted|GONOSUMCHECK=|GO(?:NOSUMDB|INSECURE)=["']?\*)`)
	trustsHost = compile(`trusted-host[\s=]+["']?([\w.-]+)`)
	indexes    = slices.Concat(codeIndexes, []string{"pypi.org", "pythonhosted.org", "rubygems.org", "golang.org", "goproxy.cn", "goproxy.io", "pytorch.org", "nvidia.com", "pkg.dev", "jfrog.io", "cloudsmith.io", "fury.io", "github.io", "anaconda.org", "anaconda.com", "aliyun.com", "aliyuncs.com", "tsinghua.edu.cn", "ustc.edu.cn", "tencent.com", "huaweicloud.com", "douban.com", "npmmirror.com", "yarnpkg.com", "athens.azurefd.net"})
)

// findSource finds packages that come by http, from an unknown index beside the usual one, or without their checks.
func findSource(text []byte, at int) (string, string) {
	before := lineBefore(text, at, 160)
	line := slices.Concat(before, lineAt(text, at))
	if !installing().Match(line) {
		return "", ""
	}
	if m := trustsHost().FindSubmatch(line); m != nil && !isPrivate(string(m[1])) && !isWithin(string(m[1]), indexes) || unchecked().Match(line) {
		return "scan.command.package_http", ""
	}
	for _, m := range source().FindAllSubmatch(line, -1) {
		host := hostOf(string(m[1]))
		if host != "" && !isPrivate(host) && !isWithin(host, indexes) && (bytes.HasPrefix(m[1], []byte("http:")) || foreign().Match(line)) {
			return "scan.command.package_http", host
		}
	}
	return "", ""
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
