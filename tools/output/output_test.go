package output

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// pieces writes a text in pieces of each size, and returns what all of them lead to.
func pieces(t *testing.T, text string, mask *Mask) string {
	t.Helper()
	var first string
	for _, size := range []int{len(text) + 1, 1, 2, 3, 7} {
		var streamed strings.Builder
		s := NewSink(1<<20, mask, func(b []byte) { streamed.Write(b) })
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if written, err := s.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatalf("wrote %d of %d, %v", written, n, err)
			}
			rest = rest[n:]
		}
		s.Close()
		if first == "" {
			first = s.Text()
		}
		if s.Text() != first || streamed.String() != first {
			t.Errorf("%q in pieces of %d: %q, streamed %q, want %q", text, size, s.Text(), streamed.String(), first)
		}
	}
	return first
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                            "plain\ttext\n",
		"\x1b[31mred\x1b[0m":                       "red",
		"\x1b]0;title\abody":                       "body",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bP1$r\x1b\\after":                      "after",
		"\u009b31mred\u009dtitle\u009cx":           "redx",
		"\x1b(Bline\x1b=":                          "line",
		"a\r\nb\rc":                                "a\nb\nc",
		"bell\a\b\x00\x7f":                         "bell",
		"\xff\xfeé€😀":                              "\uFFFD\uFFFDé€😀",
		"cut\xe2\x82":                              "cut\uFFFD",
		"\u202eevil\u2066":                         "evil",
		"\x1b]never ends\nnext":                    "next",
		"\x1b[" + strings.Repeat("1;", 60) + "x":   strings.Repeat("1;", 27) + "1;x",
	} {
		got := pieces(t, text, nil)
		if strings.HasPrefix(text, "\x1b[1;") { // a sequence that is too long is shown from some place on
			if strings.ContainsRune(got, '\x1b') || !strings.HasSuffix(got, "x") {
				t.Errorf("%q: %q", text, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	const secret = `s3cr+t/"K&y%\Z`
	mask := NewMask(secret, "abc")
	quoted, _ := json.Marshal(secret)
	partly := strings.Replace(url.QueryEscape(secret), "%2F", "/", 1)
	for _, form := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape("s3cr+t/")) + url.QueryEscape(`"K&y%\Z`),
		partly, strings.Trim(string(quoted), `"`), html.EscapeString(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
		`\x73` + secret[1:], "%73" + secret[1:], secret[:4] + "%2b" + secret[5:], "s\x1b[0m" + secret[1:],
	} {
		got := pieces(t, "<"+form+"> abc", mask)
		if got != "<"+Masked+"> abc" {
			t.Errorf("%q: %q", form, got)
		}
	}
	for before := range 4 {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := encoding.EncodeToString([]byte(strings.Repeat("u", before) + secret + ":x"))
			wrapped := text[:9] + "\n" + text[9:]
			for _, text := range []string{text, wrapped} {
				if got := pieces(t, text, mask); !strings.Contains(got, Masked) || len(got) > len(text)-len(secret) {
					t.Errorf("%q behind %d bytes: %q", text, before, got)
				}
			}
		}
	}
	if got := pieces(t, "s3cr+t/ s3cr+t/\"K&y%\\", mask); got != "s3cr+t/ s3cr+t/\"K&y%\\" {
		t.Errorf("the beginning of a value was changed: %q", got)
	}
	const key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END KEY-----\n"
	if got := NewMask(key).String("x BAQEFAASCBKcwggSjAgEAAo y"); got != "x "+Masked+" y" {
		t.Errorf("a line of a key: %q", got)
	}
}

func TestBound(t *testing.T) {
	s := NewSink(5, NewMask("secret"), nil)
	for _, piece := range []string{"ab", "cé", "more", "more"} {
		s.Write([]byte(piece))
	}
	s.Close()
	if s.Text() != "abcé" || !s.Truncated() || s.Dropped() != 8 {
		t.Errorf("%q, %d dropped", s.Text(), s.Dropped())
	}
	s = NewSink(6, NewMask("secret-value"), nil)
	s.Write([]byte("abc secret"))
	s.Write([]byte("-value"))
	s.Close()
	if s.Text() != "abc **" {
		t.Errorf("a secret at the bound: %q", s.Text())
	}
}

func FuzzSink(f *testing.F) {
	f.Add([]byte("a\x1b[31mb secret"), 3)
	f.Add([]byte("%73ecret \xe2\x82"), 1)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		size = max(1, min(size, 100))
		whole, parts := NewSink(1<<20, NewMask("secret"), nil), NewSink(1<<20, NewMask("secret"), nil)
		whole.Write(text)
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			parts.Write(rest[:n])
			rest = rest[n:]
		}
		whole.Close()
		parts.Close()
		if whole.Text() != parts.Text() {
			t.Errorf("%q, in pieces of %d %q", whole.Text(), size, parts.Text())
		}
		if got := whole.Text(); !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00\u009b") || strings.Contains(got, "secret") {
			t.Errorf("%q", got)
		}
	})
}
