package profile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"pannier"
)

const maxNameLength = 64

// isNoNameChar reports what Python's str.isalnum denies, but for the hyphen.
func isNoNameChar(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }

// strictName judges the name (Agent Skills specification, "name field"). Lengths count code points, and what is judged is
// the NFKC form of the name, as the reference validator does. Combining marks that no letter takes up are refused by it.
func strictName(c *check) {
	v := c.Front.Get("name")
	text, ok := c.layout.literal(v)
	name, folder := norm.NFKC.String(pannier.TrimBlanks(text)), norm.NFKC.String(c.Folder)
	if !ok || name == "" {
		c.fail("strict.name.required", "name", placeOf(v), "`name:` is missing or not a text", nameHint(c.Folder, folder))
		return
	}
	hint := nameHint(name, folder)
	for _, rule := range nameRules {
		if rule.broken(name) {
			c.fail(rule.code, "name", placeOf(v), rule.message(name), hint)
		}
	}
	if folder != "" && folder != name {
		c.fail("strict.name.folder", "name", placeOf(v),
			fmt.Sprintf("the name %s is not that of the folder, %s", quote(name), quote(c.Folder)), folderHint(name, folder))
	}
}

// nameRules are what a name in NFKC form may break.
var nameRules = []struct {
	code    string
	broken  func(name string) bool
	message func(name string) string
}{
	{"strict.name.length", func(name string) bool { return utf8.RuneCountInString(name) > maxNameLength }, func(name string) string {
		return fmt.Sprintf("the name has %d characters, and at most %d are allowed", utf8.RuneCountInString(name), maxNameLength)
	}},
	{"strict.name.lowercase", func(name string) bool { return name != strings.ToLower(name) }, func(name string) string {
		return "the name " + quote(name) + " has upper-case letters"
	}},
	{"strict.name.hyphen_bounds", func(name string) bool { return strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") }, func(name string) string {
		return "the name " + quote(name) + " starts or ends with a hyphen"
	}},
	{"strict.name.consecutive_hyphen", func(name string) bool { return strings.Contains(name, "--") }, func(name string) string {
		return "the name " + quote(name) + " has two hyphens in a row"
	}},
	{"strict.name.charset", func(name string) bool { return strings.ContainsFunc(name, isNoNameChar) }, func(name string) string {
		r, _ := utf8.DecodeRuneInString(name[strings.IndexFunc(name, isNoNameChar):])
		return fmt.Sprintf("the name %s holds %q (%U), which is not a letter, digit or hyphen", quote(name), r, r)
	}},
}

func fits(name string) bool {
	for _, rule := range nameRules {
		if rule.broken(name) {
			return false
		}
	}
	return name != ""
}

// nameHint proposes a name: that of the folder, where it fits, because the two must be equal.
func nameHint(near, folder string) string {
	if fits(folder) {
		return "write `name: " + folder + "`"
	}
	if slug := proposal(near); slug != "" {
		return "write `name: " + slug + "`, and call the folder the same"
	}
	return fmt.Sprintf("write lower-case letters, digits and single hyphens between them, at most %d characters", maxNameLength)
}

// proposal returns a name that fits every profile, made of one that may not; empty where too much would be lost.
func proposal(near string) string {
	slug := pannier.Slugify(near)
	if len(slug) > maxNameLength || strings.ContainsFunc(near, func(r rune) bool { return r > unicode.MaxASCII }) {
		return ""
	}
	return slug
}

// folderHint says which of the two to change.
func folderHint(name, folder string) string {
	if fits(name) && fits(folder) {
		return fmt.Sprintf("rename the folder to %s, or write `name: %s`", quote(name), folder)
	}
	if fits(name) {
		return "rename the folder to " + quote(name)
	}
	return nameHint(name, folder)
}
