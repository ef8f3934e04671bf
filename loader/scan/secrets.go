package scan

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
)

// secretProbes search for secrets of known formats. Each pattern includes the end of the secret, so that a longer word does
// not match.
var secretProbes = []probe{
	{keys: []string{"-----BEGIN "}, code: "scan.secret.private_key", match: isPrivateKey},
	format("aws_access_key", `((?:AKIA|ASIA)[A-Z0-9]{16})`, "AKIA", "ASIA"),
	{keys: []string{"secret", "SECRET", "Secret"}, prefilter: hasLongWord, code: "scan.secret.aws_secret_key", match: isAWSSecret},
	format("github", `(gh[pousr]_[A-Za-z0-9]{36,255})`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	format("github", `(github_pat_[A-Za-z0-9_]{50,255})`, "github_pat_"),
	format("gitlab", `(glpat-[A-Za-z0-9_-]{20,64})`, "glpat-"),
	format("slack", `(xox[abeoprs]-(?:[0-9]-)?[0-9A-Za-z]{8,}-[0-9A-Za-z-]{10,})`, "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
	format("slack", `(xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[0-9a-f]{32,})`, "xapp-"),
	format("slack", `hooks\.slack\.com/(?:services|workflows)/(T[A-Z0-9]{7,}/[AB][A-Z0-9]{7,}/[A-Za-z0-9/]{16,})`, "hooks.slack.com/"),
	{keys: []string{"sk-"}, word: true, find: findSK},
	format("google", `(AIza[0-9A-Za-z_-]{35})`, "AIza"),
	format("google", `(GOCSPX-[0-9A-Za-z_-]{28})`, "GOCSPX-"),
	format("stripe", `([sr]k_live_[0-9A-Za-z]{16,247})`, "sk_live_", "rk_live_"),
	format("npm", `(npm_[A-Za-z0-9]{36})`, "npm_"),
	format("pypi", `(pypi-AgE[A-Za-z0-9_-]{50,500})`, "pypi-AgE"),
	format("huggingface", `(hf_[A-Za-z]{34})`, "hf_"),
	format("sendgrid", `(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})`, "SG."),
	format("digitalocean", `(do[opr]_v1_[a-f0-9]{64})`, "dop_v1_", "doo_v1_", "dor_v1_"),
	{keys: []string{":AA"}, code: "scan.secret.telegram", match: isTelegram},
	{keys: []string{"eyJ"}, word: true, code: "scan.secret.jwt", match: isJWT},
}

// after is what may follow a secret: no character that could be part of it.
const after = `(?:[^A-Za-z0-9_-]|$)`

// format returns the probe for a secret that its format identifies. The first group of the pattern is the secret.
func format(code, pattern string, keys ...string) probe {
	re := anchored(pattern + after)
	return probe{keys: keys, word: true, code: "scan.secret." + code, match: func(text []byte, at int) bool {
		m := re().FindSubmatch(window(text, at))
		return m != nil && !isFake(m[1])
	}}
}

var sk = anchored(`(sk-((?:ant|proj|svcacct|admin|or)-)?([A-Za-z0-9_-]{20,255}))` + after)

// findSK finds keys with the prefix "sk-", which many providers use; those of Anthropic continue with "ant". Identifiers can
// begin so too, so the rest must look random.
func findSK(text []byte, at int) (string, string) {
	m := sk().FindSubmatch(window(text, at))
	switch {
	case m == nil || isFake(m[1]):
		return "", ""
	case string(m[2]) == "ant-":
		return "scan.secret.anthropic", ""
	case len(m[3]) >= 32 && looksRandom(m[3]):
		return "scan.secret.openai", ""
	}
	return "", ""
}

var (
	awsSecret = anchored(`(?i:secret)[A-Za-z_ -]{0,24}["'` + "`" + `]?\s{0,4}(?:=>|[:=])?\s{0,4}["'` + "`" + `]?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`)
	aws       = compile(`(?i)\baws|amazon`)
)

// hasLongWord reports whether forty characters that could be a secret follow a place closely.
func hasLongWord(text []byte, at int) bool {
	run := 0
	for _, c := range text[at:min(len(text), at+90)] {
		if !isWord(c) && c != '/' && c != '+' {
			run = 0
		} else if run++; run == 40 {
			return true
		}
	}
	return false
}

// isAWSSecret reports whether a place is forty characters after the key, if AWS is mentioned nearby.
func isAWSSecret(text []byte, at int) bool {
	m := awsSecret().FindSubmatch(window(text, at))
	if m == nil || isFake(m[1]) || !hasUpper(m[1]) || !hasLower(m[1]) || entropy(m[1]) < minEntropy {
		return false
	}
	near := text[max(0, at-120):min(len(text), at+40)]
	return aws().Match(near) || bytes.Contains(near, []byte("AKIA"))
}

var telegram = compile(`(?:^|[^0-9A-Za-z])(?:bot)?([0-9]{8,10}:AA[A-Za-z0-9_-]{33})` + after)

func isTelegram(text []byte, at int) bool {
	m := telegram().FindSubmatch(text[max(0, at-14):min(len(text), at+40)])
	return m != nil && !isFake(m[1][11:])
}

var jwt = anchored(`(eyJ[A-Za-z0-9_-]{8,})\.(eyJ[A-Za-z0-9_-]{8,})\.([A-Za-z0-9_-]{20,})`)

// isJWT reports whether a place is a token whose header names a signature algorithm, other than well-known examples.
func isJWT(text []byte, at int) bool {
	m := jwt().FindSubmatch(text[at:min(at+8<<10, len(text))])
	if m == nil || isFake(m[3]) {
		return false
	}
	var head struct{ Alg string }
	first, err := base64.RawURLEncoding.DecodeString(string(m[1]))
	if err != nil || json.Unmarshal(first, &head) != nil || head.Alg == "" {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(string(m[2]))
	return err == nil && json.Valid(claims) && !isFake(claims) && !bytes.Contains(claims, []byte("John Doe"))
}

var (
	keyHeader = anchored(`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----`)
	keyLine   = compile(`^[A-Za-z0-9+/=]+$`)
	keyField  = compile(`^[A-Za-z0-9-]+: `)
)

// minKey is the minimum length of a key. The shortest complete one has 64 characters, in one or two lines.
const minKey = 24

// isPrivateKey reports whether a place is the beginning of a private key in PEM, also in a string with \n and in quoted lines. A header alone,
// or followed by dots or words, does not match.
func isPrivateKey(text []byte, at int) bool {
	here := window(text, at)
	start := keyHeader().FindIndex(here)
	if start == nil {
		return false
	}
	body := bytes.ReplaceAll(here[start[1]:], []byte(`\n`), []byte("\n"))
	body = bytes.ReplaceAll(body, []byte(`\r`), nil)
	var key []byte
	for line := range bytes.Lines(body) {
		line = bytes.Trim(line, " \t\r\n\"'`,;|>\\#*")
		if len(line) == 0 || len(key) == 0 && keyField().Match(line) {
			continue
		}
		if !keyLine().Match(line) {
			if bytes.Contains(line, []byte("..")) || bytes.Contains(line, []byte("…")) {
				return false
			}
			break
		}
		key = append(key, line...)
	}
	return len(key) >= minKey && !isFake(key)
}
