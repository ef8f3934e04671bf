package repair_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier/internal/testbench/realskills"
	"pannier/internal/yamldoc"
	"pannier/loader/repair"
)

const golden = "testdata/corpus.golden"

// TestCorpus reads the frontmatter of skills as people publish them: $PANNIER_CORPUS is a directory of repositories. Which
// of them need a repair, what they then say, and which stay refused, and why, is pinned in a golden file.
func TestCorpus(t *testing.T) {
	corpus := realskills.Dir(t)
	var text strings.Builder
	strict, mended, refused := 0, 0, 0
	walk(t, corpus, func(path string, front []byte) {
		r, err := repair.Parse(front)
		var f *yamldoc.Fault
		switch {
		case errors.As(err, &f):
			refused++
			fmt.Fprintf(&text, "%s refused\n  line %d: %s\n  guess %q: %q\n", path, f.Line, f.Message, r.Guess.Name, r.Guess.Description)
		case len(r.Repairs) > 0:
			mended++
			fmt.Fprintf(&text, "%s repaired\n", path)
			for _, p := range r.Repairs {
				value, _ := r.Value.Get(p.Field).Text()
				fmt.Fprintf(&text, "  %d:%d %s\n  = %q\n", p.Line, p.Column, p.Message, value)
			}
		default:
			strict++
		}
	})
	t.Logf("%d read strictly, %d repaired, %d refused", strict, mended, refused)
	realskills.CheckGolden(t, golden, text.String())
}

// walk calls do with the frontmatter of every SKILL.md below a directory that has one.
func walk(t *testing.T, dir string, do func(path string, front []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.EqualFold(e.Name(), "SKILL.md") {
			return err
		}
		file, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if front, ok := frontmatter(file); ok {
			rel, _ := filepath.Rel(dir, path)
			do(filepath.ToSlash(rel), front)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// frontmatter finds what stands between the fences of a file, or before a glued one if it is the only one.
func frontmatter(file []byte) (front []byte, ok bool) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	file = bytes.ReplaceAll(bytes.ReplaceAll(file, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	first, rest, _ := bytes.Cut(file, []byte("\n"))
	if string(bytes.TrimRight(first, " \t")) != "---" {
		return nil, false
	}
	at := 0
	for line := range bytes.Lines(rest) {
		if string(bytes.TrimRight(line, " \t\n")) == "---" {
			return rest[:at], true
		}
		at += len(line)
	}
	front, _, ok = repair.Fence(rest)
	return front, ok
}
