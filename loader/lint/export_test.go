package lint

// FixText returns a text with the fixes, and what was done.
func FixText(text []byte, folder string) ([]byte, []Change) {
	f := fix(string(text), folder, 64<<10)
	return []byte(f.text()), f.changes
}

// DiffText returns what [FixText] would change, as a unified diff.
func DiffText(text, folder string) string {
	fixed, _ := FixText([]byte(text), folder)
	return unifiedDiff([]byte(text), fixed)
}

// CutText returns the frontmatter and the body.
func CutText(text []byte) (front, body []byte, found bool) {
	lines := splitLines(string(text))
	end := closing(lines)
	if end < 0 {
		return nil, nil, false
	}
	part := func(lines []line) []byte { return []byte((&fixer{lines: lines}).text()) }
	return part(lines[1:end]), part(lines[end+1:]), true
}
