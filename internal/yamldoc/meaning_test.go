package yamldoc_test

import (
	"bytes"
	"testing"

	"pannier/internal/yamldoc"
)

func meaning(t *testing.T, text string) []byte {
	t.Helper()
	v, _, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.AppendMeaning(nil)
}

func TestMeaning(t *testing.T) {
	tests := []struct {
		name, a, b string
		same       bool
	}{
		{"comment", "a: 1 # x\n", "# y\na: 1\n", true},
		{"quotes of a text", "a: Ann\n", "a: \"Ann\"\n", true},
		{"styles of a text", "a: 'x y'\n", "a: >-\n  x\n  y\n", true},
		{"styles of collections", "a: [b, {c: d}]\n", "a:\n  - b\n  - c: d\n", true},
		{"spellings of null", "a: ~\n", "a:\n", true},
		{"quotes of a key", "'a': b\n", "a: b\n", true},
		{"last of repeated keys", "a: 1\na: 2\n", "a: 2\n", true},
		{"null and nothing", "a:\n", "", false},
		{"null and a word", "a:\n", "a: 'null'\n", false},
		{"null and an empty text", "a:\n", "a: ''\n", false},
		{"quotes of a number", "a: 1\n", "a: '1'\n", false},
		{"quotes of an old truth", "a: off\n", "a: 'off'\n", false},
		{"quotes of a date", "a: 2024-01-01\n", "a: '2024-01-01'\n", false},
		{"how a number is written", "a: 1.0\n", "a: 1.00\n", false},
		{"line end of a block", "a: |\n  x\n", "a: |-\n  x\n", false},
		{"order of a list", "a: [b, c]\n", "a: [c, b]\n", false},
		{"depth of a list", "a: [[b], c]\n", "a: [[b, c]]\n", false},
		{"list and mapping", "a: [b]\n", "a: {b: }\n", false},
		{"text that looks like the end of another", "a: ['x\"1y']\n", "a: [x, y]\n", false},
		{"order of keys", "a: 1\nb: 2\n", "b: 2\na: 1\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if same := bytes.Equal(meaning(t, tt.a), meaning(t, tt.b)); same != tt.same {
				t.Errorf("%q and %q mean the same: %v, want %v", tt.a, tt.b, same, tt.same)
			}
		})
	}
	if got := (yamldoc.Value{}).AppendMeaning(nil); bytes.Equal(got, meaning(t, "")) {
		t.Error("nothing means an empty mapping")
	}
}
