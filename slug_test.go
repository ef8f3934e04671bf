package pannier_test

import (
	"regexp"
	"testing"

	"pannier"
)

func TestSlugify(t *testing.T) {
	for in, want := range map[string]string{
		"pdf": "pdf", "PDF_Tools": "pdf-tools", "PDF  Tools!": "pdf-tools", "--a--b--": "a-b", "a.b/c\\d": "a-b-c-d", "1.0": "1-0",
		"": "", "-": "", "技能": "", "技能 pdf": "pdf", "café": "caf", "naïve": "na-ve", "\u212a": "", "ſ": "", "a\x00b": "a-b", "a\xffb": "a-b",
		"Z9": "z9", "[x]": "x", "@`{a": "a", "İ": "",
	} {
		if got := pannier.Slugify(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestFallbackSlug(t *testing.T) {
	for in, want := range map[string]string{"abc": "skill-ba7816bf", "": "skill-e3b0c442"} {
		if got := pannier.FallbackSlug(in); got != want || got != pannier.Slugify(got) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if pannier.FallbackSlug("a/技能") == pannier.FallbackSlug("b/技能") {
		t.Error("two paths have one slug")
	}
}

func TestSplitQualified(t *testing.T) {
	for in, want := range map[string][2]string{
		"pdf": {"", "pdf"}, "acme/pdf": {"acme", "pdf"}, "Acme Inc/PDF Tools": {"acme-inc", "pdf-tools"}, "a/b/c": {"a", "b-c"},
		"/pdf": {"", "pdf"}, "acme/": {"acme", ""}, "": {"", ""}, "/": {"", ""},
	} {
		if owner, slug := pannier.SplitQualified(in); owner != want[0] || slug != want[1] {
			t.Errorf("%q: got %q and %q, want %q", in, owner, slug, want)
		}
	}
}

var slugForm = regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*)?$`)

func FuzzSlugify(f *testing.F) {
	for _, s := range []string{"PDF_Tools", "--a--", "技能/x", "\xff", "a/b/c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		owner, name := pannier.SplitQualified(s)
		for _, slug := range []string{pannier.Slugify(s), pannier.FallbackSlug(s), owner, name} {
			if !slugForm.MatchString(slug) || pannier.Slugify(slug) != slug {
				t.Errorf("%q became %q", s, slug)
			}
		}
	})
}
