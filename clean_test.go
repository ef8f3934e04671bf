package pannier_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pannier"
)

// FuzzClean checks that cleaning what is clean changes nothing, and that no mark is left however it is split.
func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"", "plain", "a\r\n\r\nHuman: b", "<<s>s>", "<|a<|b|>|>", "[[INST]INST]", "<\u200bin\u200bvoke a=\"<invoke>\">", "\\Human: x\n\n\\\u200bHuman:", "<<SYS>><</SYS>>", "<｜｜>", "<|", "<", "</",
		"\xff<s>\u2028\u2028Assistant:", strings.Repeat("a", 60) + ":<x:" + strings.Repeat("a", 60) + ":invoke>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, clean := range map[string]func(string) string{"line": pannier.CleanLine, "lines": pannier.CleanLines} {
			once := clean(text)
			if again := clean(once); again != once {
				t.Errorf("%s: %q, then %q", name, once, again)
			}
			if !utf8.ValidString(once) || strings.ContainsAny(once, "\x00\x1b\r\u0085\u2028\u2029\u202e\u200b") {
				t.Errorf("%s: %q", name, once)
			}
			for _, mark := range []string{"<s>", "</s>", "<invoke>", "<invoke ", "[INST]", "<<SYS>>", "<|im_start|>", "\n\nHuman:", "\n\nAssistant:"} {
				if strings.Contains(once, mark) {
					t.Errorf("%s: %q is in %q", name, mark, once)
				}
			}
		}
	})
}
