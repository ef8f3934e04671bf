package scan_test

import (
	"strings"
	"testing"

	"pannier/loader/scan"
)

// secretOf joins a secret, so that no scanner of this repository finds one.
func secretOf(parts ...string) string { return strings.Join(parts, "") }

func TestMaskSecrets(t *testing.T) {
	drawn := "q7Zp3Lk9Xw2Vb8Nc4Mt6Rj1Hd5Gs0FyAeUiOwQzTn"
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"fill in form.pdf for https://example.com/a?b=c", "fill in form.pdf for https://example.com/a?b=c"},
		{"token=" + secretOf("sk-ant", "-api03-", drawn) + " seo", "token=[masked] seo"},
		{"use " + secretOf("sk-ant", "-api03-", drawn) + ", please", "use [masked], please"},
		{"use " + secretOf("sk-ant", "-api03-", drawn[:8]), "use [masked]"}, // cut off
		{secretOf("ghp", "_", drawn[:36]) + "\n" + secretOf("xoxb", "-1234567890-", drawn), "[masked]\n[masked]"},
		{"url=" + secretOf("https://hooks.slack", ".com/services/T0000000/B0000000/", drawn), "url=https://[masked]"},
		{"12345678" + secretOf(":A", "A", drawn[:33]), "12345678[masked]"},
		{`password: "hunter2" x`, `password: "[masked]" x`},
		{"API_KEY=abc AWS_SECRET_ACCESS_KEY = " + drawn[:40], "API_KEY=[masked] AWS_SECRET_ACCESS_KEY = [masked]"},
		{"sk-learn, the secret-sauce-of-everything-here", "sk-learn, the secret-sauce-of-everything-here"},
		{"a " + secretOf("-----BEGIN RSA ", "PRIVATE KEY-----\n", drawn, "\n-----END RSA ", "PRIVATE KEY-----") + " b", "a [masked] b"},
		{"a " + secretOf("-----BEGIN ", "PRIVATE KEY-----\n", drawn), "a [masked]"},
		{"se", "se"},
	} {
		got := scan.MaskSecrets(tt.text)
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
		if again := scan.MaskSecrets(got); again != got {
			t.Errorf("%q masked again: %q", got, again)
		}
	}
}
