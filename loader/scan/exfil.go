package scan

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

var exfilProbes = []probe{
	{keys: []string{"curl ", "wget ", "http POST ", "http PUT ", "http --form ", "http -f ", "https POST "}, word: true, prefilter: mayUpload, cost: 30, code: dataExfil, match: isUpload},
	{keys: []string{"| curl ", "|curl ", "| wget ", "|wget ", "| nc ", "|nc ", "| ncat ", "|ncat ", "| netcat ", "| socat ", "|socat ", "| ssh ", "|ssh ", "| openssl s_client", "| telnet ", "|telnet "}, cost: 10, code: dataExfil, match: isPipedAway},
	{keys: []string{"> /dev/tcp/", ">/dev/tcp/", "> /dev/udp/", ">/dev/udp/"}, cost: 10, code: dataExfil, match: isPipedAway},
	{keys: []string{"nc ", "ncat ", "netcat "}, word: true, code: dataExfil, pattern: anchored(`(?:nc|ncat|netcat)\s[^\n;]{0,80}?<\s*["']?(?:\(\s*(?:` + allEnv + `\s*\)|[^)\n]{0,60}?` + credentials + `)|` + credentials + `)`)},
	{keys: []string{"scp ", "rsync ", "sftp ", "s3 cp ", "s3 sync ", "gsutil cp ", "gist create ", "rclone copy "}, word: true, cost: 10, code: dataExfil, match: isCopiedAway},
	{keys: []string{"dig ", "nslookup ", "host ", "ping "}, word: true, cost: 4, code: dataExfil, match: isOverDNS},
	{keys: []string{"ChildItem Env:", "ChildItem env:", "gci env:", "gci Env:", "dir env:", "dir Env:", "ls env:", "GetEnvironmentVariables("}, cost: 5, code: dataExfil, match: near(psSends, 200, 300)},
	{keys: []string{"disregard ", "forget ", "override ", "bypass ", "vergiss ", "missachte", "ignor", "oubli", "olvid", "esque", "dimentica", "忽略", "无视", "忘记", "無視"}, word: true, anyCase: true, code: "scan.command.injection", match: isInjection},
}

// Paths of credentials, and commands that print them.
const (
	credentials = `(?:(?:~|\$\{?HOME\}?|/root|/home/[^/\s]+|%USERPROFILE%|\$env:USERPROFILE|HOME["'\])}]{0,3}\s*[+/,]?\s*["']?|\.\.?)?[/\\]?\.(?:ssh(?:/id_\w+|/\*|/?(?:[\s"'` + "`" + `);|]|$))|aws(?:/credentials|/?(?:[\s"'` + "`" + `);|]|$))|netrc|git-credentials|kube/config|docker/config\.json|npmrc|pypirc|gnupg|config/gcloud|config/solana|config/gh/hosts|azure|bash_history|zsh_history|pgpass|my\.cnf|env(?:\.\w+)?(?:[\s"'` + "`" + `);|]|$)|openclaw|claude/\.credentials|claude\.json|vault-token|terraform\.d/credentials|electrum|bitcoin|ethereum/keystore|solana/id)` +
		`|/etc/(?:shadow|passwd)|/proc/(?:self|\d+|\*|\$\$)/environ|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|wallet\.dat|Login Data|logins\.json|keychain-db|login\.keychain|/Keychains\b|Google/Chrome|google-chrome|\.mozilla/firefox|Mozilla[/\\]Firefox|\bCookies\b|cookies\.sqlite|key4\.db|keyrings\b|MetaMask|nkbihfbeogaeaoehlefnkodbefgpgknn|\.password-store|application_default_credentials|accessTokens\.json|\.kdbx\b|\.config/op\b|\.cargo/credentials|\.s3cfg|\.boto\b|\.oci/|\.config/rclone|\.codex/auth|\.aws/config|\.(?:psql|mysql|python)_history|\.zhistory|aws[/\\]credentials|ssh[/\\]id_(?:rsa|ed25519))`
	prints  = `(?:security find-(?:generic|internet)-password|kubectl get secrets?|secretsmanager get-secret-value|vault kv get|op read|pass show|aws configure export-credentials|git credential fill|gpg --export-secret-keys?|gpg --armor --export-secret-keys?|gpg -a --export-secret-keys?|docker-credential-\w+ get|kubectl config view --raw|npm token|op item get|bw get|pass ls)`
	allEnv  = `(?:env|printenv|set|export(?:\s+-p)?|declare\s+-[xp]+|compgen\s+-[ve]+|history)`
	ownKeys = `169\.254\.169\.254|metadata\.google\.internal`
)

var (
	inUpload = compile(`(?:\s(?:-d|--data(?:-\w+)*|--json|-F|--form(?:-string)?|-T|--upload-file|--post-data|--post-file|--body-data|--body-file|-H|--header|-u|-A|-b)[\s=]*|[?&/=][^\s]*)["']?[^\n]{0,80}?(?:(?:\$\(|` + "`" + `|<\()\s*(?:` + allEnv + `\s*[|)` + "`" + `]|(?:printenv|env)\b[^)\n]{0,40}[|)]|[^)\n]{0,80}?(?:` + credentials + `|` + prints + `|` + ownKeys + `))|[@=]["']?` + credentials + `|\s["']?` + credentials + `)`)
	keyFlag  = compile(`\s(?:--cert|--key|--cacert|-E|-K|--config|--netrc-file|--env-file|-i|--identity)[\s=]+\S+|ssh\s+-i\s*[^\s"']+|[^\s"'@=]*\.pub\b|\S*\.env\.(?:example|sample|template)\b`)
	pipedEnv = compile(`(?:^|[;&|({` + "`" + `"']|\$\s|\bsudo\s)\s*(?:` + allEnv + `\s*(?:2>\S+\s*)?$|` + allEnv + `\s*\||printenv\b)`)

	overDNS  = anchored(`(?:dig|nslookup|host|ping)\s[^\n;]{0,60}?(?:(?:\$\(|` + "`" + `)[^)\n]{0,120}?(?:base64|base32|xxd|\bod\b|cat\s|` + allEnv + `\b|whoami|TOKEN|KEY|SECRET|PASSWORD)[^\n]{0,120}?[)` + "`" + `]["']?|\$\{?\w*(?:TOKEN|KEY|SECRET|PASSWORD)\w*\}?)\.[\w$.{-]*\w`)
	packs    = compile(`\b(?:tar|zip)\s`)
	homeOnly = compile(`\s["']?(?:~|\$HOME|\$\{HOME\}|/home(?:/[\w$]+)?|/root|/Users(?:/[\w$]+)?)/?["']?(?:\s|$)`)
	ownHost  = compile(`(?:^|[\s@"'])(?:localhost|[\w-]+\.(?:local|lan|home\.arpa)|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+):`)
	remote   = compile(`\s["']?(?:[\w.$-]+@)?[\w$][\w.$-]*:|\ss3://|\sgs://|gist create|\s\w+:`)
	psSends  = compile(`(?i)-Body\b|-InFile\b|UploadString|Invoke-RestMethod|Invoke-WebRequest|\birm\b|\biwr\b`)

	ignoring        = anchored(`(?i)(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|my|of|these|every|other|about|everything|and)\s+){0,5}(?:(?:previous|previously|prior|above|earlier|preceding|existing|system|safety|former|foregoing|developer|original|given)\s+(?:and\s+\w+\s+)?){1,2}(?:(?:system|user|safety)\s+)?(?:instructions?|prompts?|rules?|guidelines?|messages?|directives?|context|constraints?|polic(?:y|ies)|restrictions?|orders?)`)
	before_         = compile(`(?i)^(?:ignore|disregard|forget)\b.*\b(?:previous|previously|prior|earlier|preceding|above)\b`)
	takesOver       = compile(`(?i)^[^\n"]{0,80}?[.,:;]?\s*(?:and\s+)?(?:you\s+are\s+now|act\s+as|from\s+now\s+on|print|reveal|output|show|send|reply|respond|call|do\s+not|never|always)\b`)
	ignoringForeign = anchored(`(?i)(?:(?:ignoriere|vergiss|vergesse|missachte)n?\s+(?:\S+\s+){0,4}?(?:bisherigen?|vorherigen?|früheren?|vorigen?|obigen?)\s+(?:\S+\s+)?(?:anweisung|instruktion|regel|vorgabe)|(?:ignor|oubli|olvid|esque|dimentica)\S*\s+(?:\S+\s+){0,3}?(?:instru\S+|istruzioni|consignes|r[eè]gles|reglas|regras|indicaciones|órdenes)\s+(?:\S+\s+)?(?:précédent|antérieur|anterior|previas|prévi|precedent)|(?:忽略|无视|忘记|忽視|無視)(?:掉|你)?(?:之前|以上|前面|先前|上述|此前|所有|全部|一切|的){1,5}(?:系统)?(?:指令|指示|说明|规则|提示|命令))`)
	ordered         = compile(`(?:^|[\s"'` + "`" + `$(>])(?:curl|wget|rm\s+-\w+|nc|ncat|bash|sh\s+-\w+|scp|ssh|sudo|chmod|eval|python3?|node|powershell|iex|cat\s+["']?[~/.$]\S*|printenv|env\s*[|>` + "`" + `]|base64|tar|dd\s+if=\S+|git\s+(?:push|remote|config)|npm|pip3?|crontab|find\s+/\S*)(?:\s|` + "`" + `|$)`)
)

// isOverDNS reports whether a place is a command, not a word of a sentence, that asks for a name made of secrets.
func isOverDNS(text []byte, at int) bool {
	before := bytes.TrimRight(lineBefore(text, at, 200), " ")
	return overDNS().Match(window(text, at)) && (len(before) == 0 || bytes.IndexByte([]byte(";&|(){`$!\"'>"), before[len(before)-1]) >= 0 || wrappers().Match(append(before, ' ')))
}

func mayUpload(text []byte, at int) bool {
	command := wholeCommand(text, at)
	return bytes.ContainsAny(command, "@`~<") || bytes.Contains(command, []byte("$(")) || bytes.Contains(command, []byte("/.")) || bytes.Contains(command, []byte("id_")) || bytes.Contains(command, []byte("/run/secrets"))
}

func isUpload(text []byte, at int) bool {
	command := keyFlag().ReplaceAll(wholeCommand(text, at), nil)
	return (inUpload().Match(command) || sendsMounted(command)) && !localOnly(command)
}

// Files with mounted secrets of a container.
var (
	mountedToken   = compile(`/run/secrets/(?:kubernetes\.io|eks\.amazonaws\.com)/`)
	mounted        = compile(`(?:\$\(|` + "`" + `|<\(|[@=]|(?:-T|--post-file|--body-file|--upload-file)\s+)[^)\n]{0,40}?/run/secrets/(kubernetes\.io/|eks\.amazonaws\.com/)?`)
	mountedHeader  = compile(`(?:-H|--header|-u|--user|--oauth2-bearer)(?:=|\s*)(?:"[^"\n]*|'[^'\n]*)$`)
	clusterDomains = []string{"svc", "cluster.local", "kubernetes.default"}
)

// sendsMounted reports whether a request sends a mounted secret. The token of a cluster is for the API of the cluster, at an
// address of it; other secrets may be in a header, by https.
func sendsMounted(command []byte) bool {
	m := mounted().FindSubmatchIndex(command)
	hosts := hostsOf(command)
	if m == nil || len(hosts) == 0 {
		return false
	}
	if m[2] >= 0 {
		return leavesCluster(hosts)
	}
	if slices.ContainsFunc(hosts, func(h string) bool { return !isPrivate(h) }) {
		return !mountedHeader().Match(command[:m[0]]) || bytes.Contains(command, []byte("http://"))
	}
	return false
}

func leavesCluster(hosts []string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool { return !isPrivate(h) && !isWithin(h, clusterDomains) })
}

func localOnly(command []byte) bool {
	hosts := hostsOf(command)
	for _, h := range hosts {
		if !isLocal(h) {
			return false
		}
	}
	return len(hosts) > 0
}

// wholeCommand returns a command up to the end of its line, or a separator outside of $(…) and quotes.
func wholeCommand(text []byte, at int) []byte {
	command := window(text, at)
	depth, quote := 0, byte(0)
	for i, c := range command {
		switch {
		case c == '\n':
			return command[:i]
		case c == '(':
			depth++
		case c == ')':
			depth--
		case (c == '"' || c == '\'') && depth <= 0:
			if quote == 0 {
				quote = c
			} else if quote == c {
				quote = 0
			}
		case (c == '|' || c == ';' || c == '&' && i > 0 && command[i-1] == ' ') && depth <= 0 && quote == 0:
			return command[:i]
		}
		if depth < 0 {
			return command[:i]
		}
	}
	return command
}

// isPipedAway reports whether a place is credentials or the whole environment that a pipe sends away.
func isPipedAway(text []byte, at int) bool {
	before := keyFlag().ReplaceAll(lastCommand(lineBefore(text, at, 300), ";", "&&", "`"), nil)
	return (pipedEnv().Match(before) || grabs().Match(before) && !localOnly(window(text, at)) || packs().Match(before) && wholeHome().Match(before) || credentialIndex(before) != nil && !localOnly(window(text, at))) && !localOnly(lineAt(text, at))
}

func isCopiedAway(text []byte, at int) bool {
	command := keyFlag().ReplaceAll(wholeCommand(text, at), nil)
	m := credentialIndex(command)
	if m == nil {
		if m = homeOnly().FindIndex(command); m == nil || ownHost().Match(command[m[1]:]) {
			return false
		}
	}
	rest := command[m[1]:]
	return remote().Match(rest) || remote().Match(append([]byte(" "), rest...)) || bytes.HasPrefix(command, []byte("gist create"))
}

func isInjection(text []byte, at int) bool {
	here := window(text, at)
	m := ignoring().FindIndex(here)
	return m == nil && !isQuoted(text, at) && ignoringForeign().Match(here) || m != nil && (ordered().Match(here[m[1]:]) || !isQuoted(text, at) && before_().Match(here[:m[1]]) && takesOver().Match(here[m[1]:]))
}

// isQuoted reports whether a text before a place opens a quote, so that the place is an example.
func isQuoted(text []byte, at int) bool {
	r, _ := utf8.DecodeLastRune(text[:at])
	return strings.ContainsRune("\"'`«「『《“‘„", r)
}

func credentialIndex(text []byte) []int {
	for i := 0; i+2 < len(text); i++ {
		i = credentialMatcher.next(text, i)
		if i < 0 {
			return nil
		}
		if m := credential().FindIndex(text[i:min(len(text), i+maxStep)]); m != nil {
			return []int{i, i + m[1]}
		}
	}
	return nil
}

var (
	printKeys = []string{
		"security find-", "kubectl get secret", "secretsmanager get-secret-value", "vault kv get", "op read", "pass show",
		"aws configure export-credentials", "git credential fill", "gpg --", "gpg -a", "docker-credential", "kubectl config view --raw", "npm token", "op item get", "bw get", "169.254.169.254", "metadata.google.internal",
	}
	credentialMatcher = newMatcher([]probe{{keys: slices.Concat(credentialKeys, printKeys)}}, nil)
)

// sentProbes search for credentials that a command or a program keeps, in a variable or a file, before it sends them.
var sentProbes = []probe{
	{keys: []string{"=$(", `="$(`, "=`cat", "=`base64", "=`env`", "=`printenv", "=`tar", "$(base64 ", "$(xxd "}, cost: 12, code: dataExfil, match: isKeptAndSent},
	{
		keys: []string{"tar ", "zip ", "cp ", "cat ", "7z ", "base64 ", "env ", "printenv ", "rsync ", "gpg ", "sqlite3 ", "screencapture ", "scrot ", "ffmpeg ", "xclip ", "pbpaste ", "history "},
		word: true, prefilter: mayStage, cost: 8, code: dataExfil, match: isStagedAndSent,
	},
	{keys: []string{"mail ", "mailx ", "mutt ", "sendmail ", "ssh ", "ftp "}, word: true, prefilter: func(text []byte, at int) bool { return credentialIndex(lineAt(text, at)) != nil }, cost: 6, code: dataExfil, match: isMailed},
	{keys: []string{"toJSON(secrets)"}, anyCase: true, code: dataExfil, match: near(uploads, 400, 400)},
	{keys: []string{"askPass", "askpass", "ASKPASS", "credential.helper"}, cost: 6, code: dataExfil, match: near(asksAndSends, 400, 300)},
	{keys: []string{"-exec ", "xargs ", "while read", "parallel "}, cost: 2, code: dataExfil, match: isEachSent},
	{keys: []string{"os.environ", "process.env", "os.getenv(", "ENV["}, cost: 4, find: findSentVariable},
	{keys: []string{"curl ", "wget "}, word: true, prefilter: func(text []byte, at int) bool { return bytes.Contains(lineAt(text, at), []byte("token")) }, cost: 4, code: "scan.command.env_exfil", match: isForeignToken},
}

var (
	uploads = compile(`\b(?:curl|wget|nc|ncat|netcat|socat|scp|rsync|sftp|ftp|http|https|xh|httpie|aws\s+s3\s+cp|gsutil\s+cp|rclone|gh\s+gist|git\s+(?:add|push)|mail|mutt|sendmail|dig|nslookup|Invoke-RestMethod|Invoke-WebRequest|irm|iwr)\s|/dev/tcp/`)
	grabs   = compile(`\b(?:pbpaste|wl-paste|xsel|xclip\s[^|\n]{0,40}-o|screencapture\s|scrot\s|import\s+-window\s+root|gnome-screenshot|ffmpeg\s[^\n]{0,60}(?:avfoundation|x11grab|alsa|pulse|gdigrab)|security\s+(?:dump-keychain|find-\w+-password))|\bgrep\s+(?:-\S+\s+)*-\w*[rR]\w*\s[^\n]{0,80}?(?i:passw|secret|api_?key|token|BEGIN)[^\n]{0,60}?[\s"'](?:~|\$HOME|/home|/etc|\s/\s)`)
	// asksAndSends is a helper program that sends the password that it is asked for.
	asksAndSends = compile(`(?:curl|wget|nc|ncat)\s[^\n]{0,160}(?:[?&]\w+=\$|@-|\s(?:-d|--data\S*|-F)\s*["']?[^\n]{0,40}\$)|(?:requests\.post|urlopen)\([^\n]{0,80}https?://`)
	tokens       = compile(`gh auth token|get-session-token|gcloud auth|az account get-access-token|heroku auth:token`)
	keptName     = compile(`(?:^|[\s;&(])(\w+)(?:=["']?|\s+in\s+)?$`)
	envDump      = compile(`^["=]*(?:` + "`" + `|\$\()\s*(?:` + allEnv + `)\s*[|)` + "`" + `]`)
	oneValue     = compile(`\b(?:grep|jq|cut|awk|sed|yq)\b`)
	// writes names the file that a command writes, beside those of outputTo.
	writes  = compile(`^(?:tar\s+(?:-?\w*f\w*\s+|[^\n]{0,40}?\s-f\s*)|zip\s+(?:-\w+\s+)*|7z\s+a\s+(?:-\S+\s+)*|gpg\s[^\n]{0,60}?-o\s+|(?:scrot|screencapture)\s+(?:-\S+\s+)*|import\s+-window\s+root\s+|ffmpeg\s[^\n]{0,160}\s|(?:cp|rsync)\s[^\n]*\s)["']?([\w./~$\{\}-]{2,})`)
	allFile = compile(`^(?:env|printenv|set|history)\s*>`)
	mailed  = compile(`<|\s-[aA]\s+["']?\S*$`)
	each    = compile(`^(?:-exec|xargs|while read|parallel)\b[^\n]{0,160}?\b(?:curl|wget|nc|ncat|scp|http)\s`)
	eachOf  = compile(`(?:@|-T\s*|--upload-file[\s=]|--post-file[\s=]|scp\s(?:-\S+\s+)*)["']?(?:\{\}|"?\$\w+)`)

	programVar = compile(`(\w+)\s*=\s*(?:\w+[.\w]*\(\s*){0,3}$`)
	sentBy     = compile(`(?:requests|httpx|axios|session|client|got|http)\.(?:post|put|get|request)\(|urlopen\(|Request\(|\bfetch\(|https?\.request\(|sendall\(|\.send\(`)
	oneEnv     = anchored(`(?:os\.environ(?:\.get\()?|os\.getenv\(|process\.env\.|ENV\[)[\[("']{0,3}([A-Z][A-Z0-9_]+)`)
	nodeEnv    = anchored(`process\.env\s*[;)},\n]`)
)

// namesCredential reports whether credentials, or what prints them, are on the line of a place.
func namesCredential(text []byte, at int) bool {
	line := lineAt(text, at)
	return bytes.Contains(line, []byte("/run/secrets/")) || credentialIndex(line) != nil || grabs().Match(line) || envDump().Match(line) || tokens().Match(line)
}

// isKeptAndSent reports whether a variable with credentials is in a command that sends. A key of a file in a header is not.
func isKeptAndSent(text []byte, at int) bool {
	m := keptName().FindSubmatch(lineBefore(text, at, 60))
	if m == nil || !namesCredential(text, at) {
		return false
	}
	value, rest := lineAt(text, at), window(text, at)
	for _, end := range uses(rest, string(m[1])) {
		before := lineBefore(rest, end, reach)
		command := slices.Concat(before, lineAt(rest, end))
		cluster := mountedToken().Match(value)
		if cluster && !leavesCluster(hostsOf(command)) {
			continue
		}
		key := !cluster && (oneValue().Match(value) || bytes.Contains(value, []byte("/run/secrets/")) && !bytes.Contains(command, []byte("http://"))) && header().Match(before[:bytes.LastIndexByte(before, '$')])
		if uploads().Match(command) && !localOnly(command) && !key && !isOwnToken(value, command) {
			return true
		}
	}
	return false
}

// mayStage reports whether a command before another one names credentials or a home directory, or is one of a few.
func mayStage(text []byte, at int) bool {
	first, _, more := cutCommand(window(text, at))
	return more && (bytes.IndexByte(first, '~') >= 0 || bytes.Contains(first, []byte("HOME")) || allFile().Match(first) || credentialIndex(first) != nil || text[at] == 's')
}

// isStagedAndSent reports whether credentials are written to a file that a later command sends.
func isStagedAndSent(text []byte, at int) bool {
	first, rest, more := cutCommand(window(text, at))
	m := writes().FindSubmatch(first)
	if m == nil {
		m = outputTo().FindSubmatch(first)
	}
	if m == nil {
		return false
	}
	from := bytes.Replace(keyFlag().ReplaceAll(first, nil), m[1], nil, 1)
	if credentialIndex(from) == nil && !grabs().Match(from) && !wholeHome().Match(from) && !allFile().Match(from) {
		return false
	}
	file := bytes.TrimPrefix(m[1], []byte("./"))
	for more && len(file) > 1 {
		var command []byte
		if command, rest, more = cutCommand(rest); uploads().Match(command) && !localOnly(command) && bytes.Contains(command, file) {
			return true
		}
	}
	return false
}

func isMailed(text []byte, at int) bool {
	command := keyFlag().ReplaceAll(wholeCommand(text, at), nil)
	m := credentialIndex(command)
	return m != nil && mailed().Match(command[:m[0]])
}

// isEachSent reports whether a command for each of many files or lines sends them.
func isEachSent(text []byte, at int) bool {
	before, line := keyFlag().ReplaceAll(lineBefore(text, at, 300), nil), lineAt(text, at)
	return each().Match(line) && !localOnly(line) &&
		(credentialIndex(before) != nil || pipedEnv().Match(bytes.TrimRight(before, "| ")) || grabs().Match(before) || wholeHome().Match(before) && eachOf().Match(line))
}

// findSentVariable finds the environment, or a credential of a service, that a program sends to another host.
func findSentVariable(text []byte, at int) (string, string) {
	if m := oneEnv().FindSubmatch(window(text, at)); m != nil {
		if !isSecretName(string(m[1])) || !slices.ContainsFunc(owners, func(o owner) bool { return bytes.HasPrefix(m[1], []byte(o.variable)) }) {
			return "", ""
		}
		before := text[max(0, at-300):at]
		calls := sentBy().FindAllIndex(before, -1)
		if calls == nil {
			return "", ""
		}
		call := before[calls[len(calls)-1][1]:]
		if bytes.Contains(call, []byte("\n\n")) || !isForeign(string(m[1]), hostsOf(call)) {
			return "", ""
		}
		return "scan.command.env_exfil", "$" + string(m[1])
	}
	m := programVar().FindSubmatch(lineBefore(text, at, 100))
	if m == nil || text[at] == 'E' || text[at] == 'o' && !isWholeEnv(text, at) || text[at] == 'p' && !nodeEnv().Match(window(text, at)) {
		return "", ""
	}
	here := window(text, at)
	for _, call := range sentBy().FindAllIndex(here, -1) {
		for word := range strings.FieldsFuncSeq(string(head(here[call[1]:], 200)), func(r rune) bool { return r >= 128 || !isWord(byte(r)) || r == '-' }) {
			if word == string(m[1]) {
				return dataExfil, ""
			}
		}
	}
	return "", ""
}

func isForeignToken(text []byte, at int) bool {
	command := wholeCommand(text, at)
	return tokens().Match(command) && len(hostsOf(command)) > 0 && !isOwnToken(command, command)
}

// isOwnToken reports whether a value is the token of a tool, and a command sends it to hosts of the service of that tool alone.
func isOwnToken(value, command []byte) bool {
	return slices.ContainsFunc(owners, func(o owner) bool {
		return o.tool != "" && bytes.Contains(value, []byte(o.tool)) && !slices.ContainsFunc(hostsOf(command), func(h string) bool { return !isPrivate(h) && !isWithin(h, o.domains) })
	})
}
