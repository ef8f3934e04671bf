package lint

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// unifiedDiff returns the changes from before to after as hunks of a unified diff, without the lines that name the files.
func unifiedDiff(before, after []byte) string {
	text := string(diff.Diff("", before, "", after))
	if i := strings.Index(text, "@@ "); i >= 0 {
		return text[i:]
	}
	return ""
}
