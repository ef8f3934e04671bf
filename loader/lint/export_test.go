package lint

// DiffText returns what [FixText] would change, as a unified diff.
func DiffText(text, folder string) string {
	return unifiedDiff([]byte(text), []byte(fix(text, folder, usualLimit).text()))
}

// CutText is what the audit takes for frontmatter and body.
func CutText(text []byte) (front, body []byte, found bool) { return cut(text) }
