package pannier

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Slugify returns s as a slug: ASCII letters and digits lower-cased, every other run of bytes one hyphen, hyphens at the
// ends stripped. It is empty where s holds no ASCII letter or digit.
func Slugify(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteByte(c)
	}
	return b.String()
}

// FallbackSlug returns the slug of a skill whose own names hold nothing that a slug could be made of: "skill-" and the
// first eight hexadecimal digits of the SHA-256 of its path below the root.
func FallbackSlug(pathBelowRoot string) string {
	sum := sha256.Sum256([]byte(pathBelowRoot))
	return "skill-" + hex.EncodeToString(sum[:4])
}

// SplitQualified splits a reference to a skill, "slug" or "owner/slug", into its owner, empty where none is given, and
// its slug. Both come back in slug form.
func SplitQualified(ref string) (owner, slug string) {
	if o, s, ok := strings.Cut(ref, "/"); ok {
		return Slugify(o), Slugify(s)
	}
	return "", Slugify(ref)
}
