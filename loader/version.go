package loader

import "strings"

// isSemanticVersion reports whether a text is a version by Semantic Versioning 2.0.0: three numbers with dots, then a
// pre-release after a hyphen and build metadata after a plus, if any.
func isSemanticVersion(text string) bool {
	text, build, hasBuild := strings.Cut(text, "+")
	text, pre, hasPre := strings.Cut(text, "-")
	numbers := 0
	for n := range strings.SplitSeq(text, ".") {
		if numbers++; !isNumber(n) {
			return false
		}
	}
	return numbers == 3 && (!hasPre || identifiers(pre, true)) && (!hasBuild || identifiers(build, false))
}

// identifiers reports whether a text is one of identifiers with dots between them. ordered says that they are compared,
// so that a number among them must have no zero before it.
func identifiers(text string, ordered bool) bool {
	for id := range strings.SplitSeq(text, ".") {
		if strings.Trim(id, "0123456789") == "" && ordered && !isNumber(id) {
			return false
		}
		if id == "" || strings.ContainsFunc(id, func(r rune) bool { return !isIdentifier(r) }) {
			return false
		}
	}
	return true
}

func isIdentifier(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '-'
}

// isNumber reports whether a text is a number without zeros before it.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == "" && (text == "0" || text[0] != '0')
}
