package loader_test

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
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
		} else if !loader.IsTextFault(s.Problems[0]) {
			tb.Errorf("%s: textCodes lacks %s, so no profile counts it", s.Path, s.Problems[0].Code)
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
		"---\ndependencies: {env: [A, 1], bins: a, mcp: {}, config: [[]]}\neligibility: {os: [win], enabled: false, any-bins: ~}\nscope: x\n---\nx",
		"---\ncommands: [{name: /a, args: [b]}, 1, {name: }]\nconflicts: a/b, ä\npaths: \"*.{a,b}, c\"\ntriggers: t\nwhen-to-use: w\n---\nx",
		"---\nruntime: {tools: [{tool_slug: a, kind: http, parameters: {a: 1}}, {tool_slug: a, kind: function_proxy, config: {target_tool: b}}, 1]}\n---\nx",
		"---\nmetadata: {openclaw: {install: [{kind: brew, formula: jq}, 1]}}\ninstall: {kind: apt}\n---\nx", "---\ndescription: a: b\n---# x\n",
	} {
		f.Add([]byte(seed), []byte(`{"slug":"s","latest":{"version":"1.0.0"}}`))
		f.Add([]byte(seed), []byte(`{"slug":5,"latest":[]`))
	}
	f.Fuzz(func(t *testing.T, text, meta []byte) {
		root := t.TempDir()
		writeSkill(t, root, "a", string(text))
		write(t, filepath.Join(root, "a/_meta.json"), string(meta))
		l := loader.New(loader.Options{Rules: rulesFor(root)})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		checkSkill(t, s)
		in, err := l.Inspect(t.Context(), s)
		if err != nil || len(in.Conformance) != 4 {
			t.Errorf("inspection %+v, error %v", in, err)
		}
		for _, tool := range in.Tools {
			if tool.Name == "" || !json.Valid(tool.Declaration) || tool.Parameters != nil && !json.Valid(tool.Parameters) {
				t.Errorf("tool %+v", tool)
			}
		}
		for _, p := range in.Problems {
			if p.Code == "" || p.Message == "" || p.Hint == "" || p.Path == "" || p.Severity == pannier.SeverityError {
				t.Errorf("problem %v with hint %q", p, p.Hint)
			}
		}
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

func FuzzLock(f *testing.F) {
	for _, seed := range []string{lockOf("a verified", "b/c strange"), `{"version":1}`, `{"version":1,"skills":null}`, `{"version":"1"}`, `[]`, "", `{"version":1,"skills":{"a":{"trust":5}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, strange, err := loader.ParseLock(text)
		if err != nil && entries != nil || err == nil && !json.Valid(text) {
			t.Fatalf("%v, error %v", entries, err)
		}
		for _, key := range strange {
			if clean := filepath.Clean(key); fs.ValidPath(clean) && clean != "." {
				t.Errorf("%q is a path below the root", key)
			}
		}
		for path, trust := range entries {
			if !fs.ValidPath(path) || path == "." {
				t.Errorf("%q is not a path below the root", path)
			}
			if !slices.Contains(pannier.TrustLevels(), trust) {
				t.Errorf("%q has the trust %q", path, trust)
			}
		}
	})
}
