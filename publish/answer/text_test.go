package answer_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pannier/publish/answer"
)

// FuzzAppendString compares with the encoder of the standard library.
func FuzzAppendString(f *testing.F) {
	var every strings.Builder
	for r := range rune(0x300) {
		every.WriteRune(r)
	}
	for _, text := range []string{"", every.String(), "\xff\xe2\x80\xa8 \u2028\u2029\u2027\ufffd\xed\xa0\x80\U0001f600\xf0\x9f", `"\`, "a\xc3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := string(answer.AppendString(nil, text))+"\n", encodeJSON(t, text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	})
}

// encodeJSON returns a value as the encoder of the standard library has it.
func encodeJSON(t testing.TB, value any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
