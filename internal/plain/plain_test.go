package plain_test

import (
	"testing"
	"unicode"

	"pannier/internal/plain"
)

// TestIsControl compares all characters with the categories of Unicode.
func TestIsControl(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		want := r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
		if got := plain.IsControl(r); got != want {
			t.Errorf("%U: got %t, want %t", r, got, want)
		}
	}
}
