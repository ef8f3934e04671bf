package loader_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"pannier"
	"pannier/loader"
)

// checkSkill fails where a skill is neither usable nor broken with an error that tells what to do.
func checkSkill(tb testing.TB, s *pannier.Skill) {
	tb.Helper()
	for _, p := range s.Problems {
		if p.Code == "" || p.Message == "" || p.Hint == "" || p.Path == "" || p.Line < 0 || p.Column < 0 {
			tb.Errorf("%s: problem %v with hint %q", s.Path, p, p.Hint)
		}
	}
	if s.Broken {
		if len(s.Problems) == 0 || s.Problems[0].Severity != pannier.SeverityError {
			tb.Errorf("%s is broken without an error: %v", s.Path, s.Problems)
		}
	} else if len(s.Problems) > 0 && s.Problems[0].Severity == pannier.SeverityError {
		tb.Errorf("%s has an error and is not broken: %v", s.Path, s.Problems)
	}
	if s.Slug == "" || s.Slug != pannier.Slugify(s.Slug) || s.Name == "" || s.Sum.IsZero() {
		tb.Errorf("%s: slug %q, name %q", s.Path, s.Slug, s.Name)
	}
}

func FuzzSkill(f *testing.F) {
	for _, seed := range []string{
		good("d"), broken, "", "---\n---\n", "---\nruntime: {tools: 1, adapters: [a, ~]}\n---\n", "---\nmetadata: '{\"openclaw\": [1]}'\n---\n",
		"---\nmetadata: |\n  {\"openclaw\": {\"requires\": 1, \"os\": {}}}\n---\n", "---\nallowed-tools: a(b, c) d)\nname: ~\nslug: \"\"\n---\n\xff",
		"---\r\ntags: [a, {b: c}]\r\n---\r\n", "\ufeff---\n? [a]\n: b\n---\nx",
	} {
		f.Add([]byte(seed), []byte(`{"slug":"s","latest":{"version":"1"}}`))
		f.Add([]byte(seed), []byte(`{"slug":5,"latest":[]`))
	}
	f.Fuzz(func(t *testing.T, text, meta []byte) {
		root := t.TempDir()
		writeSkill(t, root, "a", string(text))
		write(t, filepath.Join(root, "a/_meta.json"), string(meta))
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		checkSkill(t, s)
		if s.FileDigest != pannier.DigestOf(text) && len(text) <= 1<<20 {
			t.Errorf("digest %s", s.FileDigest)
		}
		if s.Broken {
			return
		}
		doc, err := l.Read(t.Context(), s)
		if err != nil || !json.Valid(doc.Frontmatter) || !utf8.ValidString(doc.Body) {
			t.Errorf("document %+v, error %v", doc, err)
		}
	})
}
