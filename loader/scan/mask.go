package scan

import "bytes"

// Masked replaces a secret in the texts that [MaskSecrets] returns.
const Masked = "[masked]"

// minMasked is how many bytes a word that begins as a secret has at least.
const minMasked = 16

// named finds what a name of a secret is given as its value, with quotes or without. The second group is the value.
var named = compile(`\A(?i)((?:secret|token|passw(?:or)?d|api[_-]?key|access[_-]?key|private[_-]?key|credential)[a-z_]{0,12}["']?\s{0,3}(?::=|=>|[:=])\s{0,3}["']?)([^\s"']+)`)

// nameKeys finds where [named] may match, which takes a regular expression many times as long.
var nameKeys = newMatcher([]probe{{keys: []string{"secret", "token", "passw", "api", "access", "private", "credential"}, anyCase: true}}, nil)

// privateKey finds a private key in PEM, also one that is cut off.
var privateKey = compile(`(?s)-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|$)`)

// MaskSecrets masks the secrets that a scan knows in a text. It is less strict than a scan: it masks placeholders, secrets that are
// cut off, and any value of a name such as token or password. A text that it returned stays the same.
func MaskSecrets(text string) string {
	b := privateKey().ReplaceAllLiteral([]byte(text), []byte(Masked))
	b = maskNamed(b)
	var masked []byte
	from := 0
	for {
		at := secretKeys.next(b, from)
		if at < 0 {
			return string(append(masked, b[from:]...))
		}
		end := at + 1 // the key of a Telegram token begins with a colon
		for end < len(b) && isToken(b[end]) {
			end++
		}
		masked = append(masked, b[from:at]...)
		if end-at < minMasked || bytes.EqualFold(b[at:at+len("secret")], []byte("secret")) { // a name, not a value
			masked = append(masked, b[at:end]...)
		} else {
			masked = append(masked, Masked...)
		}
		from = end
	}
}

func maskNamed(b []byte) []byte {
	var masked []byte
	from := 0
	for at := nameKeys.next(b, 0); at >= 0; at = nameKeys.next(b, at) {
		m := named().FindSubmatchIndex(b[at:])
		if m == nil {
			at++
			continue
		}
		masked = append(append(masked, b[from:at+m[3]]...), Masked...)
		at += m[1]
		from = at
	}
	return append(masked, b[from:]...)
}
