package pannier

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const digestPrefix = "sha256:"

// Digest is a SHA-256 sum. Its text form, on every surface, is "sha256:" and 64 lower-case hexadecimal digits; the zero
// Digest means that there is nothing that could have one, and its text form is empty.
type Digest [sha256.Size]byte

// DigestOf returns the digest of b.
func DigestOf(b []byte) Digest { return sha256.Sum256(b) }

// IsZero reports whether there is no digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the text form.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return digestPrefix + hex.EncodeToString(d[:])
}

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) {
	if d.IsZero() {
		return nil, nil
	}
	text := append(make([]byte, 0, len(digestPrefix)+hex.EncodedLen(len(d))), digestPrefix...)
	return hex.AppendEncode(text, d[:]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	hexadecimal, ok := strings.CutPrefix(string(text), digestPrefix)
	sum, err := hex.DecodeString(hexadecimal)
	if !ok || err != nil || len(sum) != len(d) {
		return fmt.Errorf("digest %q is not %q and %d hexadecimal digits", text, digestPrefix, hex.EncodedLen(len(d)))
	}
	*d = Digest(sum)
	return nil
}

// ParseFingerprint reads a fingerprint that a caller expects a skill to have. An empty text and the zero digest are errors,
// because either would switch the check off.
func ParseFingerprint(text string) (d Digest, err error) {
	if text == "" {
		return d, errors.New("it is empty")
	}
	if err = d.UnmarshalText([]byte(text)); err == nil && d.IsZero() {
		err = errors.New("no skill has the fingerprint of zeros")
	}
	return d, err
}

// TreeDigest returns the digest of the raw files of skills: the SHA-256 of one line for each, ordered by path in bytes.
// A line is the path of the skill directory as [Skill.Path] has it, a NUL, the hexadecimal SHA-256 of its SKILL.md, a
// NUL, that of its _meta.json, and a line feed; where a file is missing or cannot be read, nothing stands in its place.
// A skill that has tools only has no SKILL.md, and no line; nor has one that is gone and in its grace. What is compared with is a walk that shares no code with the loader.
func TreeDigest(skills []*Skill) Digest {
	ordered := skills
	byPath := func(a, b *Skill) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(ordered, byPath) {
		ordered = slices.SortedFunc(slices.Values(skills), byPath)
	}
	h := sha256.New()
	line := make([]byte, 0, 512)
	for _, s := range ordered {
		if s.ToolsOnly || s.Deleting {
			continue
		}
		line = append(line[:0], s.Path...)
		line = appendHex(append(line, 0), s.FileDigest)
		line = appendHex(append(line, 0), s.MetaFileDigest)
		h.Write(append(line, '\n'))
	}
	return Digest(h.Sum(nil))
}

func appendHex(b []byte, d Digest) []byte {
	if d.IsZero() {
		return b
	}
	return hex.AppendEncode(b, d[:])
}
