package lint_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pannier"
	"pannier/loader/lint"
	"pannier/loader/repair"
)

func changeTexts(changes []lint.Change) []string {
	var texts []string
	for _, c := range changes {
		texts = append(texts, fmt.Sprintf("%d %s", c.Line, c.What))
	}
	return texts
}

// checkFix fails where mending a text does what it must not: lose what a line says, change what could be read, find more
// to mend when it has just mended, or show another diff than what it does.
func checkFix(t *testing.T, before, folder string) {
	t.Helper()
	fixed, changes := lint.FixText([]byte(before), folder)
	if (len(changes) == 0) != (string(fixed) == before) {
		t.Errorf("%d changes told, and the text is another: %v", len(changes), string(fixed) != before)
	}
	if again, more := lint.FixText(fixed, folder); len(more) > 0 || !bytes.Equal(again, fixed) {
		t.Errorf("mended again: %q\n%v", again, more)
	}
	if lost := lostLine(before, string(fixed), folder); lost != "" {
		t.Errorf("the line %q is lost in %q", lost, fixed)
	}
	if body, ok := bodyOf(before); ok {
		if fixedBody, _ := bodyOf(string(fixed)); fixedBody != body {
			t.Errorf("the body is %.200q, want %.200q", fixedBody, body)
		}
	}
	if was, ok := readFront(before); ok {
		is, ok := readFront(string(fixed))
		if folder != "" {
			was, is = withoutName(was), withoutName(is)
		}
		if !ok || !slices.Equal(was, is) {
			t.Errorf("read %q before and %q, %v after", was, is, ok)
		}
	}
	if err := checkDiff(before, string(fixed), lint.DiffText(before, folder)); err != nil {
		t.Errorf("diff: %v\n%s", err, lint.DiffText(before, folder))
	}
}

func withoutName(fields []string) []string {
	return slices.DeleteFunc(fields, func(f string) bool { return strings.HasPrefix(f, "name\x00") })
}

// readFront returns what the reader reads of the frontmatter, field by field.
func readFront(text string) ([]string, bool) {
	front, _, ok := lint.CutText([]byte(text))
	if !ok {
		return nil, false
	}
	r, err := repair.Parse([]byte(toLF(string(front))))
	if err != nil {
		return nil, false
	}
	var fields []string
	for pair := range r.Value.Pairs() {
		fields = append(fields, pair.Key+"\x00"+string(pair.Value.AppendMeaning(nil)))
	}
	return fields, true
}

// checkMended fails where the reader still repairs what could be mended.
func checkMended(t *testing.T, before string) {
	t.Helper()
	fixed, _ := lint.FixText([]byte(before), "")
	front, _, ok := lint.CutText(fixed)
	if !ok {
		return
	}
	r, err := repair.Parse(front)
	if err != nil {
		return
	}
	for _, p := range r.Repairs {
		if !p.Dropped {
			t.Errorf("%d: %s is left in %q", p.Line, p.Message, fixed)
		}
	}
}

// bodyOf returns what follows a frontmatter that no text is glued to.
func bodyOf(text string) (string, bool) {
	front, body, ok := lint.CutText([]byte(text))
	if _, _, glued := repair.Fence(front); !ok || glued {
		return "", false
	}
	return toLF(string(body)), true
}

func toLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// plainLines returns what the lines of a text say, however they end.
func plainLines(text string) []string {
	text = toLF(text)
	var lines []string
	for l := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(l, " \t\n"))
	}
	return lines
}

// lostLine returns the first line of a text whose words its mended form does not hold: only quotes, blanks and the signs of
// blocks come and go.
func lostLine(before, after, folder string) string {
	rest := squeeze(after)
	for _, l := range plainLines(before) {
		if strings.Contains(l, `\u`) || folder != "" && strings.HasPrefix(l, "name:") || strings.ContainsFunc(l, unicode.IsControl) {
			continue
		}
		if !strings.Contains(rest, squeeze(l)) {
			return l
		}
	}
	return ""
}

// blockSign is what begins a block, with what says how it is indented and ends.
var blockSign = regexp.MustCompile(`[|>][-+0-9]*|[-"'\\\s\x{feff}]`)

func squeeze(text string) string { return blockSign.ReplaceAllString(text, "") }

// checkDiff follows a unified diff from one text to the other.
func checkDiff(before, after, diff string) error {
	old := slices.Collect(strings.Lines(before)) // a line of a diff ends in LF
	var got []string
	at := 0
	lines := strings.SplitAfter(diff, "\n")
	for i, l := range lines {
		if l == "" || strings.HasPrefix(l, `\`) {
			continue
		}
		text := l[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch l[0] {
		case '@':
			from, _, _ := strings.Cut(strings.TrimPrefix(l, "@@ -"), " ")
			from, _, _ = strings.Cut(from, ",")
			line, err := strconv.Atoi(from)
			if err != nil || line-1 < at || line-1 > len(old) {
				return fmt.Errorf("hunk at %q", l)
			}
			got = append(got, old[at:line-1]...)
			at = line - 1
		case ' ', '-':
			if at >= len(old) || strings.TrimSuffix(old[at], "\n") != strings.TrimSuffix(text, "\n") {
				return fmt.Errorf("line %d is not %q", at+1, text)
			}
			if l[0] == ' ' {
				got = append(got, old[at])
			}
			at++
		case '+':
			got = append(got, text)
		default:
			return fmt.Errorf("line %q", l)
		}
	}
	got = append(got, old[at:]...)
	if strings.Join(got, "") != after {
		return errors.New("it leads to another text")
	}
	return nil
}

func FuzzFixText(f *testing.F) {
	for _, tt := range fixes {
		f.Add(tt.before, tt.folder)
	}
	f.Fuzz(func(t *testing.T, text, folder string) {
		if len(folder) > 64 || strings.ContainsAny(folder, "\r\n") {
			t.Skip("no folder")
		}
		checkFix(t, text, folder)
	})
}

func FuzzText(f *testing.F) {
	for _, tt := range fixes {
		f.Add([]byte(tt.before))
	}
	o := optionsFor("/nowhere")
	o.Profile = lint.ProfileAll
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := lint.Text(t.Context(), text, "stdin", o)
		if err != nil || len(r.Skills) != 1 {
			t.Fatalf("%v: %+v", err, r)
		}
		problems := r.Skills[0].Problems
		if !slices.IsSortedFunc(problems, pannier.CompareProblems) {
			t.Errorf("not in order: %v", problems)
		}
		for _, p := range problems {
			checkProblem(t, p)
		}
	})
}
