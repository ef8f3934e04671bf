package scan

import (
	"bytes"
)

// instructionProbe looks for a sentence that tells its reader to send a file with credentials to an address.
var instructionProbe = probe{
	keys: []string{
		".ssh", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".aws", ".netrc", ".git-credentials", ".kube/config", ".docker/config.json", ".npmrc", ".pypirc",
		".gnupg", ".config/gcloud", ".config/gh/hosts", ".bash_history", ".zsh_history", ".pgpass", ".env", ".claude/.credentials", "/etc/shadow", "/etc/passwd",
		"/run/secrets/", "wallet.dat", "Login Data",
	},
	prefilter: mayInstruct, cost: 20, code: dataExfil, match: isInstruction,
}

const sending = `(?:send|post|upload|transmit|forward|exfiltrate|submit|deliver|leak|transfer)`

var (
	// secretFile is what a place has to be. An example of a file, and the public half of a key, are none.
	secretFile = anchored(`(?:\.ssh(?:/(?:id_\w+|\*)|/?(?:[\s"'` + "`" + `),;]|$))|id_(?:rsa|ed25519|ecdsa|dsa)|\.aws(?:/credentials|/?[\s"'` + "`" + `),;])|\.netrc|\.git-credentials|\.kube/config|\.docker/config\.json|\.npmrc|\.pypirc|` +
		`\.gnupg|\.config/gcloud|\.config/gh/hosts|\.(?:ba|z)sh_history|\.pgpass|\.env(?:\.(?:local|production|prod|staging|development|dev))?|\.claude/\.credentials(?:\.json)?|/etc/(?:shadow|passwd)|/run/secrets/[\w./-]+|wallet\.dat|Login Data)(?:[\s"'` + "`" + `),;:]|$)`)
	ordersSending = compile(`(?i)(?:^|[\s"'` + "`" + `*_(,;:>])` + sending + `\s[^\n]{0,120}$`)
	// notOrdered is talk about sending that is not an order: a refusal, or what others could do.
	notOrdered = compile(`(?i)\b(?:never|not|n't|cannot|avoid|without|could|would|might|may|can|tries to|try to|attempts? to|refuse to|nor|or)\s+(?:\w+\s+){0,2}` + sending + `\b`)
	// usedFor is a file that a request takes its key from.
	usedFor = compile(`(?i)\b(?:from|in|with|using|via|by|at|see|to)\s+(?:the\s+|your\s+|an?\s+|local\s+)*[` + "`" + `"'(]?[\w~/$.{}-]*$`)
	// settings are files that tools read their keys from, so that only a text that has them read themselves means their content.
	settings = anchored(`\.(?:env|npmrc|pypirc|netrc|docker/config)`)
	reads    = compile(`(?i)\b(?:read|open|take|get|collect|gather|copy|encode|zip|archive|compress|cat|grab|fetch)\s+(?:\w+\s+){0,4}?[` + "`" + `"'(]?[\w~/$.{}-]*$`)
	toward   = `\s(?:to|at|into|with)\s+(?:\w+\s+){0,3}?[` + "`" + `"'<(\[]{0,2}(https?://[^\s"'` + "`" + `<>|\\)]+)`
	sentTo   = compile(`(?i)^[^\n]{0,120}?` + toward)
	thenTo   = compile(`(?i)[\s*_,;]` + sending + `\s+(?:it|them|(?:its|their|the|all|all of its|all the|that|this|those|whatever)\s+(?:\w+\s+){0,2}?(?:contents?|files?|text|values?|secrets?|credentials|keys?|lines))(?:\s+\w+){0,4}?` + toward)
)

func mayInstruct(text []byte, at int) bool {
	return bytes.Contains(text[at:min(len(text), at+300)], []byte("http"))
}

func isInstruction(text []byte, at int) bool {
	if !secretFile.Match(window(text, at)) {
		return false
	}
	before, after := clauseAround(text, at)
	all := append(append(bytes.Clone(before), ' '), after...)
	if notOrdered.Match(all) || bytes.HasPrefix(after, []byte(".env")) && usedFor.Match(before) {
		return false
	}
	var m [][]byte
	if ordersSending.Match(before) {
		m = sentTo.FindSubmatch(after)
	}
	if m == nil && (!settings.Match(after) || reads.Match(before)) {
		m = thenTo.FindSubmatch(after)
	}
	return m != nil && !localOnly(append(bytes.Clone(m[1]), ' '))
}

// clauseAround returns the parts of a sentence before and from a place, on one line each. A sentence goes on in the next line
// where that begins with a letter.
func clauseAround(text []byte, at int) (before, after []byte) {
	start, end := max(0, at-200), min(len(text), at+300)
	for i := start; i < at; i++ {
		if endsClause(text[i:at]) {
			start = i + 1
		}
	}
	for i := at; i < end; i++ {
		if endsClause(text[i:end]) {
			end = i
		}
	}
	return bytes.ReplaceAll(text[start:at], []byte{'\n'}, []byte{' '}), bytes.ReplaceAll(text[at:end], []byte{'\n'}, []byte{' '})
}

func endsClause(text []byte) bool {
	if text[0] == '\n' {
		return len(text) < 2 || !isLetter(text[1])
	}
	return isSentenceEnd(text) && text[0] != ';' || len(text) > 1 && text[1] == '\n' && bytes.IndexByte([]byte(".!?"), text[0]) >= 0
}
