package scan

import (
	"bytes"
	"slices"
)

// instructionProbes look for sentences that tell their reader to send credentials to an address, or to hide it.
var instructionProbes = []probe{{
	keys: slices.Concat(credentialKeys, []string{
		"/run/secrets/", "environment variable", "conversation", "chat history", "passwords", "private key", "cookies", "seed phrase", "API keys", "api keys",
		"credentials", "secrets",
	}),
	prefilter: mayInstruct, cost: 20, code: dataExfil, match: isInstruction,
}, {
	keys: []string{"user asks", "user has", "bcc", "replace ", "swap ", "](http"}, anyCase: true, cost: 3, code: "scan.command.injection", match: near(deceives, 160, 200),
}, {
	keys: []string{"tell ", "telling ", "mention", "inform ", "informing ", "notify", "alert", "disclos", "reveal"}, word: true,
	anyCase: true, prefilter: func(text []byte, at int) bool {
		return hides().Match(lineBefore(text, at, 10)) && user().Match(window(text, at))
	}, cost: 10, code: "scan.command.injection", detail: concealed, match: near(sends_, 300, 300),
}}

// concealed is the detail of an order to hide something. Its negation does not refuse anything.
const concealed = "hidden from the user"

// deceives is an order to lie to the user, to copy mail in secret, to exchange an address of a payment, or an address that
// carries the conversation.
var deceives = compile(`(?i)user asks\s+(?:what\s+(?:you\s+(?:did|sent|read|ran|changed|are\s+doing|have\s+done)|happened)|about\s+(?:this|it|the\s+(?:upload|request|command|transfer))|why\s+(?:you|it)\b)[^\n.]{0,40}\b(?:say|answer|reply|claim|respond|deny)\b|user\s+has\s+(?:already\s+)?(?:approved|consented|agreed|authori[sz]ed|granted)\s[^\n.]{0,20}\b(?:all|every|any)\b[^\n.]{0,40}(?:tool|action|command|request|call)|` +
	`\b(?:always|every|each|silently|secretly)\b[^\n]{0,60}bcc[:\s][^\n]{0,30}\w@\w[^\n]{0,100}(?:not\s+(?:mention|tell|show|inform|ask)|without\s+(?:mention|tell|ask)|silently|secretly|user knows)|\b(?:silently|secretly|without\s+(?:mention|tell|ask)ing)\b[^\n]{0,60}bcc[:\s][^\n]{0,30}\w@\w|` +
	`(?:replace|swap)\s+(?:it|them|(?:the|any|that)\s(?:\w+\s){0,3}address(?:es)?)\s+(?:with|for|by)\s+["'` + "`" + `]?(?:bc1\w{8,}|0x[0-9a-f]{16,}|[13T4][A-Za-z0-9]{25,})|` +
	`\]\(https?://[^\s)]{1,200}[?&]\w+=[^\s)]{0,20}[<{\[$%(][^\n)]{0,60}(?:conversation|history|secret|password|api.?key|system.?prompt|chat|credential|messages)`)

const sending = `(?:send|post|upload|transmit|forward|exfiltrate|submit|deliver|leak|transfer|e-?mail)`

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
	reads    = compile(`(?i)\b(?:read|open|take|get|find|locate|search|collect|gather|copy|encode|zip|archive|compress|cat|grab|fetch)\s+(?:\w+\s+){0,4}?[` + "`" + `"'(]?[\w~/$.{}-]*$`)
	toward   = `\s(?:to|at|into|with|via)\s+(?:\w+\s+){0,3}?[` + "`" + `"'<(\[]{0,2}(https?://[^\s"'` + "`" + `<>|\\)]+|[\w.+-]+@[\w-]+\.[\w.]+)`
	sentTo   = compile(`(?i)^[^\n]{0,120}?` + toward)
	// puts is an order to put a text in a request; shown is an address that a text is put in.
	puts  = compile(`(?i)\b(?:include|append|attach|embed|add|put|insert|paste|encode|pass)\s[^\n]{0,160}?(?:POST|request|query|parameter|body|header|payload)\b[^\n]{0,40}?` + toward)
	shown = compile(`(?i)\b(?:add|include|append|render|insert|show|fetch|load|end|embed)\b[^\n]{0,120}https?://[^\s)]+[?&]\w+=`)
	// published is an order to show a text to everyone; carried is an address that a text is put in.
	published = compile(`(?i)\b(?:create|open|make|post|publish)\s+(?:an?\s+)?(?:public\s+|secret\s+)?(?:gist|paste|issue|pull request|comment)\b[^\n]{0,80}$`)
	carried   = compile(`(?i)\b(?:include|append|attach|embed|add|put|insert|encode|pass|render|show|load|end|copy|place)\b.{0,200}https?://[^\s)]+[?&]\w+=`)
	theirs    = anchored(`(?i)(?:environment variables?|(?:the\s+)?(?:full\s+)?conversation|chat history|passwords|private keys?|cookies|seed phrase|source code|(?:api keys|credentials|secrets)(?:\s+(?:that\s+)?(?:you|it|they|the user|are|were|in)\b)?)`)
	wide      = compile(`(?i)\b(?:all|any|every|full|entire|whole|both|complete|recent|last|user'?s|their|values? of|contents? of|its|your)\s+(?:\w+\s+){0,4}?$`)
	hides     = compile(`(?i)\b(?:never|not|n't|without|avoid)\s*$`)
	user      = anchored(`(?i)\w+\s+(?:(?:this|it|that|anything|about|of|to|the|any|these|your|for)\s+){0,4}(?:user|human|owner|operator|anyone|customer)\b(?:\s+(?:about\s+(?:this|it|that)|about\s+the\s+(?:upload|request|step|transfer|copy|backup|call|sync|check|process)|that\s+you|this)\b|["'` + "`" + `*_)]*\s*(?:[.,;:!]|-->|$|\n))`)
	sends_    = compile(`(?i)\b(?:send|post|upload|transmit|forward|exfiltrate|submit|e-?mail)s?\b[^\n]{0,160}?(?:https?://|\b[\w.+-]+@[\w-]+\.\w+)|\b(?:curl|wget|nc)\s[^\n]{0,160}(?:https?://|\s\d+\.\d+)`)
	thenTo    = compile(`(?i)[\s*_,;]` + sending + `\s+(?:it|them|(?:its|their|the|all|all of its|all the|that|this|those|whatever)\s+(?:\w+\s+){0,2}?(?:contents?|files?|text|values?|secrets?|credentials|keys?|lines))(?:\s+\w+){0,4}?` + toward)
)

// sendWords are parts of the words in [sending], and of those that put a text in a request, in either case.
var sendWords = bytes.Fields([]byte("send Send post Post POST pload ransmit orward xfiltrate ubmit eliver ransfer mail nclude ppend ttach mbed nsert ncode"))

func mayInstruct(text []byte, at int) bool {
	near := text[max(0, at-200):min(len(text), at+300)]
	if bytes.Contains(near, []byte("gist")) || bytes.Contains(near, []byte("paste")) {
		return true
	}
	if !bytes.Contains(near, []byte("http")) && bytes.IndexByte(near, '@') < 0 {
		return false
	}
	return slices.ContainsFunc(sendWords, func(w []byte) bool { return bytes.Contains(near, w) })
}

func isInstruction(text []byte, at int) bool {
	before, after := clauseAround(text, at)
	file := secretFile().Match(window(text, at))
	if !file && (theirs().Find(after) == nil || !wide().Match(before)) || notOrdered().Match(append(append(bytes.Clone(before), ' '), after...)) || bytes.HasPrefix(after, []byte(".env")) && usedFor().Match(before) {
		return false
	}
	var m [][]byte
	if ordersSending().Match(before) {
		m = sentTo().FindSubmatch(after)
	}
	if m == nil && file && reads().Match(before) {
		m = puts().FindSubmatch(after)
	}
	if m == nil && (!settings().Match(after) || reads().Match(before)) {
		m = thenTo().FindSubmatch(after)
	}
	return m != nil && !localOnly(append(bytes.Clone(m[1]), ' ')) || m == nil && (file && (shown().Match(before) || published().Match(before)) || carried().Match(append(append(bytes.Clone(before), ' '), after...)))
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
