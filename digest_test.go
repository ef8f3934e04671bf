package pannier_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier"
)

func TestDigestText(t *testing.T) {
	d := pannier.DigestOf([]byte("abc"))
	const want = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if d.String() != want || d.IsZero() {
		t.Errorf("got %s", d)
	}
	for _, d := range []pannier.Digest{d, {}, pannier.DigestOf(nil)} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		back := pannier.DigestOf([]byte("something else"))
		if err := json.Unmarshal(text, &back); err != nil || back != d {
			t.Errorf("%s came back as %s, %v", text, back, err)
		}
	}
	if s := (pannier.Digest{}).String(); s != "" {
		t.Errorf("no digest is %q", s)
	}
}

func TestDigestErrors(t *testing.T) {
	hexadecimal := strings.Repeat("0f", 32)
	for _, text := range []string{
		"sha256", "sha256:", hexadecimal, "md5:" + hexadecimal, "SHA256:" + hexadecimal,
		"sha256:" + hexadecimal[1:], "sha256:" + hexadecimal + "0", "sha256:" + hexadecimal + "00",
		"sha256:" + hexadecimal[:62] + "0g", " sha256:" + hexadecimal, "sha256:" + hexadecimal + "\n",
	} {
		d := pannier.DigestOf([]byte("before"))
		err := d.UnmarshalText([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "64 hexadecimal digits") {
			t.Errorf("%q: %v", text, err)
		}
		if d != pannier.DigestOf([]byte("before")) {
			t.Errorf("%q changed the digest to %s and failed", text, d)
		}
	}
}

func FuzzDigest(f *testing.F) {
	f.Add([]byte("sha256:" + strings.Repeat("0F", 32)))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d, again pannier.Digest
		if d.UnmarshalText(text) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
			t.Errorf("%s came back as %s, %v", d, again, err)
		}
	})
}

// The format is written down for those who walk the disk themselves; this is such a walk.
func TestTreeDigestFormat(t *testing.T) {
	type file struct{ path, skill, meta string }
	files := []file{{"skills/b", "B", ""}, {"/opt/skills/c", "C", "meta"}, {"skills/a/x", "A", ""}, {"skills/a-b", "", ""}}
	var skills []*pannier.Skill
	for _, f := range files {
		s := &pannier.Skill{Path: f.path}
		if f.skill != "" {
			s.FileDigest = pannier.DigestOf([]byte(f.skill))
		}
		if f.meta != "" {
			s.MetaFileDigest = pannier.DigestOf([]byte(f.meta))
		}
		skills = append(skills, s)
	}
	given := slices.Clone(skills)
	slices.SortFunc(files, func(a, b file) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	var text strings.Builder
	sum := func(s string) string {
		if s == "" {
			return ""
		}
		return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))
	}
	for _, f := range files {
		fmt.Fprintf(&text, "%s\x00%s\x00%s\n", f.path, sum(f.skill), sum(f.meta))
	}
	want := pannier.Digest(sha256.Sum256([]byte(text.String())))
	if got := pannier.TreeDigest(skills); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !slices.Equal(given, skills) {
		t.Error("the skills were put into another order")
	}
	slices.Reverse(skills)
	if got := pannier.TreeDigest(skills); got != want {
		t.Errorf("the other way round it is %s", got)
	}
	if got := pannier.TreeDigest(nil); got != pannier.DigestOf(nil) {
		t.Errorf("of nothing it is %s", got)
	}
}
