package seqlog

import (
	"io"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	const most = 2 * readAhead
	full := strings.Repeat("x", most-1)
	for name, c := range map[string]struct {
		text string
		want []any // lines and errors
	}{
		"empty":           {"", []any{io.EOF}},
		"lines":           {"a\n\nbc\n", []any{"a", "", "bc", io.EOF}},
		"not ended":       {"a\nb", []any{"a", ErrNotEnded, io.EOF}},
		"longest":         {full + "\nb\n", []any{full, "b", io.EOF}},
		"too long":        {full + "x\nb\n", []any{ErrTooLong, "b", io.EOF}},
		"too long by far": {strings.Repeat(full, 5) + "\nb\n", []any{ErrTooLong, "b", io.EOF}},
		"too long at end": {"a\n" + full + "xx", []any{"a", ErrTooLong, io.EOF}},
	} {
		t.Run(name, func(t *testing.T) {
			const before = "not read\n"
			r := strings.NewReader(before + c.text + "nor is this\n")
			l := NewLines(r, int64(len(before)), int64(len(before)+len(c.text)), most)
			for i, want := range c.want {
				line, err := l.Next()
				if text, ok := want.(string); ok && (string(line) != text || err != nil) || !ok && err != want {
					t.Fatalf("%d: %.20q, %v, want %.20q", i, line, err, want)
				}
			}
			if end := int64(len(before) + len(c.text)); l.Offset != end {
				t.Errorf("ended at %d, want %d", l.Offset, end)
			}
		})
	}
}
