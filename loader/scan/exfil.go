package scan

import (
	"bytes"
	"slices"
)

var exfilProbes = []probe{
	{keys: []string{"curl ", "wget ", "http "}, word: true, prefilter: mayUpload, cost: 30, code: dataExfil, match: isUpload},
	{keys: []string{"| curl ", "|curl ", "| wget ", "|wget ", "| nc ", "|nc ", "| ncat ", "|ncat ", "| netcat ", "| socat ", "|socat ", "| ssh ", "|ssh ", "| openssl s_client", "| telnet ", "|telnet "}, cost: 10, code: dataExfil, match: isPipedAway},
	{keys: []string{"> /dev/tcp/", ">/dev/tcp/", "> /dev/udp/", ">/dev/udp/"}, cost: 10, code: dataExfil, match: isPipedAway},
	{keys: []string{"nc ", "ncat ", "netcat "}, word: true, code: dataExfil, pattern: fileToNetcat},
	{keys: []string{"scp ", "rsync ", "sftp ", "s3 cp ", "s3 sync ", "gsutil cp ", "gist create ", "rclone copy "}, word: true, cost: 10, code: dataExfil, match: isCopiedAway},
	{keys: []string{"dig ", "nslookup ", "host ", "ping "}, word: true, cost: 4, code: dataExfil, pattern: overDNS},
	{keys: []string{"ChildItem Env:", "ChildItem env:", "gci env:", "gci Env:", "dir env:", "dir Env:", "ls env:", "GetEnvironmentVariables("}, cost: 5, code: dataExfil, match: isPowerShellEnv},
	{keys: []string{"ignore ", "Ignore ", "IGNORE ", "disregard ", "Disregard ", "DISREGARD ", "forget ", "Forget ", "FORGET ", "override ", "Override ", "OVERRIDE ", "bypass ", "Bypass "}, word: true, code: "scan.command.injection", match: isInjection},
}

// Paths of credentials, and commands that print them.
const (
	credentials = `(?:(?:~|\$\{?HOME\}?|/root|/home/[^/\s]+|%USERPROFILE%|\$env:USERPROFILE|HOME["'\])}]{0,3}\s*[+/,]?\s*["']?|\.\.?)?[/\\]?\.(?:ssh(?:/id_\w+|/\*|/?(?:[\s"'` + "`" + `);|]|$))|aws(?:/credentials|/?(?:[\s"'` + "`" + `);|]|$))|netrc|git-credentials|kube/config|docker/config\.json|npmrc|pypirc|gnupg|config/gcloud|config/gh/hosts|azure|bash_history|zsh_history|pgpass|my\.cnf|env(?:\.\w+)?(?:[\s"'` + "`" + `);|]|$)|openclaw|claude/\.credentials|claude\.json|vault-token|terraform\.d/credentials|electrum|bitcoin|ethereum/keystore|solana/id)` +
		`|/etc/(?:shadow|passwd)|/proc/(?:self|\d+|\*|\$\$)/environ|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|wallet\.dat|Login Data|logins\.json|keychain-db|login\.keychain|aws[/\\]credentials|ssh[/\\]id_(?:rsa|ed25519))`
	prints  = `(?:gh auth token|security find-(?:generic|internet)-password|kubectl get secrets?|secretsmanager get-secret-value|vault kv get|op read|pass show|aws configure export-credentials|git credential fill)`
	allEnv  = `(?:env|printenv|set|export(?:\s+-p)?|declare\s+-[xp]+|compgen\s+-[ve]+|history)`
	ownKeys = `169\.254\.169\.254|metadata\.google\.internal`
)

var (
	inUpload = compile(`(?:\s(?:-d|--data(?:-\w+)*|--json|-F|--form(?:-string)?|-T|--upload-file|--post-data|--post-file|--body-data|--body-file|-H|--header|-u|-A|-b)[\s=]*|[?&/=][^\s]*)["']?[^\n]{0,80}?(?:(?:\$\(|` + "`" + `|<\()\s*(?:` + allEnv + `\s*[|)` + "`" + `]|(?:printenv|env)\b[^)\n]{0,40}[|)]|[^)\n]{0,80}?(?:` + credentials + `|` + prints + `|` + ownKeys + `))|[@=]["']?` + credentials + `|\s["']?` + credentials + `)`)
	keyFlag  = compile(`\s(?:--cert|--key|--cacert|-E|-K|--config|--netrc-file|--env-file|-i|--identity)[\s=]+\S+|ssh\s+-i\s*[^\s"']+`)
	pipedEnv = compile(`(?:^|[;&|({` + "`" + `"']|\$\s|\bsudo\s)\s*(?:` + allEnv + `\s*(?:2>\S+\s*)?$|` + allEnv + `\s*\||printenv\b)`)

	fileToNetcat = anchored(`(?:nc|ncat|netcat)\s[^\n;]{0,80}?<\s*["']?(?:\(\s*(?:` + allEnv + `\s*\)|[^)\n]{0,60}?` + credentials + `)|` + credentials + `)`)
	overDNS      = anchored(`(?:dig|nslookup|host|ping)\s[^\n;]{0,60}?(?:(?:\$\(|` + "`" + `)[^)\n]{0,120}?(?:base64|base32|xxd|\bod\b|cat\s|` + allEnv + `\b|whoami|TOKEN|KEY|SECRET|PASSWORD)[^\n]{0,120}?[)` + "`" + `]["']?|\$\{?\w*(?:TOKEN|KEY|SECRET|PASSWORD)\w*\}?)\.[\w$.{-]*\w`)
	remote       = compile(`\s["']?(?:[\w.$-]+@)?[\w$][\w.$-]*:|\ss3://|\sgs://|gist create|\s\w+:`)
	psSends      = compile(`(?i)-Body\b|-InFile\b|UploadString|Invoke-RestMethod|Invoke-WebRequest|\birm\b|\biwr\b`)

	ignoring = anchored(`(?i)(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|the|your|my|of|these|every|other|about|everything|and)\s+){0,5}(?:(?:previous|previously|prior|above|earlier|preceding|existing|system|safety|former|foregoing|developer|original|given)\s+(?:and\s+\w+\s+)?){1,2}(?:(?:system|user|safety)\s+)?(?:instructions?|prompts?|rules?|guidelines?|messages?|directives?|context|constraints?|polic(?:y|ies)|restrictions?|orders?)`)
	ordered  = compile(`(?:^|[\s"'` + "`" + `$(>])(?:curl|wget|rm\s+-\w+|nc|ncat|bash|sh\s+-\w+|scp|ssh|sudo|chmod|eval|python3?|node|powershell|iex|cat\s+["']?[~/.$]\S*|printenv|env\s*[|>` + "`" + `]|base64|tar|dd\s+if=\S+|git\s+(?:push|remote|config)|npm|pip3?|crontab|find\s+/\S*)(?:\s|` + "`" + `|$)`)
)

func mayUpload(text []byte, at int) bool {
	command := wholeCommand(text, at)
	return bytes.ContainsAny(command, "@`~<") || bytes.Contains(command, []byte("$(")) || bytes.Contains(command, []byte("/.")) || bytes.Contains(command, []byte("id_"))
}

func isUpload(text []byte, at int) bool {
	command := keyFlag.ReplaceAll(wholeCommand(text, at), nil)
	return (inUpload.Match(command) || sendsMounted(command)) && !localOnly(command)
}

// Files with mounted secrets of a container.
var (
	mounted        = compile(`(?:\$\(|` + "`" + `|<\(|[@=])[^)\n]{0,40}?/run/secrets/(kubernetes\.io/|eks\.amazonaws\.com/)?`)
	mountedHeader  = compile(`(?:-H|--header|-u|--user|--oauth2-bearer)(?:=|\s*)(?:"[^"\n]*|'[^'\n]*)$`)
	clusterDomains = []string{"svc", "cluster.local", "kubernetes.default"}
)

// sendsMounted reports whether a request sends a mounted secret. The token of a cluster is for the API of the cluster, at an
// address of it; other secrets may be in a header, by https.
func sendsMounted(command []byte) bool {
	m := mounted.FindSubmatchIndex(command)
	hosts := hostsOf(command)
	if m == nil || len(hosts) == 0 {
		return false
	}
	if m[2] >= 0 {
		return slices.ContainsFunc(hosts, func(h string) bool { return !isPrivate(h) && !isWithin(h, clusterDomains) })
	}
	if slices.ContainsFunc(hosts, func(h string) bool { return !isPrivate(h) }) {
		return !mountedHeader.Match(command[:m[0]]) || bytes.Contains(command, []byte("http://"))
	}
	return false
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
	before := lineBefore(text, at, 300)
	for _, separator := range []string{";", "&&", "`"} {
		if i := bytes.LastIndex(before, []byte(separator)); i >= 0 && len(bytes.TrimSpace(before[i+len(separator):])) > 1 {
			before = before[i+len(separator):]
		}
	}
	before = keyFlag.ReplaceAll(before, nil)
	return (pipedEnv.Match(before) || credentialIndex(before) != nil && !localOnly(window(text, at))) && !localOnly(lineAt(text, at))
}

func isCopiedAway(text []byte, at int) bool {
	command := keyFlag.ReplaceAll(wholeCommand(text, at), nil)
	m := credentialIndex(command)
	if m == nil {
		return false
	}
	rest := command[m[1]:]
	return remote.Match(rest) || remote.Match(append([]byte(" "), rest...)) || bytes.HasPrefix(command, []byte("gist create"))
}

func isPowerShellEnv(text []byte, at int) bool {
	return psSends.Match(text[max(0, at-200):min(len(text), at+300)])
}

func isInjection(text []byte, at int) bool {
	here := window(text, at)
	m := ignoring.FindIndex(here)
	return m != nil && ordered.Match(here[m[1]:])
}

func credentialIndex(text []byte) []int {
	for i := 0; i+2 < len(text); i++ {
		i = credentialMatcher.next(text, i)
		if i < 0 {
			return nil
		}
		if m := credential.FindIndex(text[i:min(len(text), i+maxStep)]); m != nil {
			return []int{i, i + m[1]}
		}
	}
	return nil
}

var (
	printKeys = []string{
		"gh auth token", "security find-", "kubectl get secret", "secretsmanager get-secret-value", "vault kv get", "op read", "pass show",
		"aws configure export-credentials", "git credential fill", "169.254.169.254", "metadata.google.internal",
	}
	credentialMatcher = newMatcher([]probe{{keys: slices.Concat(credentialKeys, printKeys)}}, nil)
)
