package loader_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

// read returns the skill that a text makes.
func read(t *testing.T, text string) *pannier.Skill {
	t.Helper()
	root := t.TempDir()
	writeSkill(t, root, "pdf", text)
	return only(t, full(t, root))
}

func TestFrontmatterIsFound(t *testing.T) {
	tests := []struct{ name, text, description string }{
		{"LF", "---\ndescription: d\n---\nbody\n", "d"},
		{"CR LF", "---\r\ndescription: d\r\n---\r\nbody\r\n", "d"},
		{"CR", "---\rdescription: d\r---\rbody\r", "d"},
		{"mixed", "---\r\ndescription: d\n---\rbody", "d"},
		{"byte order mark", "\ufeff---\ndescription: d\n---\nbody\n", "d"},
		{"blanks behind the fences", "--- \t\ndescription: d\n---\t \nbody\n", "d"},
		{"end of file at the closing fence", "---\ndescription: d\n---", "d"},
		{"dashes in a value", "---\ndescription: a --- b\n---\nbody\n", "a --- b"},
		{"dashes in a block", "---\ndescription: |\n  a\n  ---\n  b\n---\nbody\n", "a\n---\nb"},
		{"dashes in the body", "---\ndescription: d\n---\na\n---\ndescription: e\n---\n", "d"},
		{"longer dashes are no fence", "---\ndescription: |\n ----\n---\nbody\n", "----"},
		{"no empty line is added by CR LF", "---\r\ndescription: |\r\n  a\r\n  b\r\n---\r\nbody\r\n", "a\nb"},
		{"NUL-free text behind a large body", "---\ndescription: d\n---\n" + strings.Repeat("text\n", 40_000), "d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := read(t, tt.text)
			if s.Broken || s.Description != tt.description {
				t.Errorf("broken %t, description %q, want %q; %v", s.Broken, s.Description, tt.description, s.Problems)
			}
			if s.Digest != pannier.DigestOf([]byte(tt.text)) || s.FileDigest != s.Digest {
				t.Error("the digest is not that of the raw bytes")
			}
		})
	}
}

func TestFrontmatterIsRefused(t *testing.T) {
	body := strings.Repeat("x", 70<<10)
	tests := []struct {
		name, text, code string
		line             int
	}{
		{"empty file", "", "skill.frontmatter.missing", 1},
		{"heading first", "# Title\n---\na: b\n---\n", "skill.frontmatter.missing", 1},
		{"blank line first", "\n---\na: b\n---\n", "skill.frontmatter.missing", 1},
		{"blank before the fence", " ---\na: b\n---\n", "skill.frontmatter.missing", 1},
		{"four dashes", "----\na: b\n----\n", "skill.frontmatter.missing", 1},
		{"one long line", body, "skill.frontmatter.missing", 1},
		{"unclosed", "---\ndescription: d\n", "skill.frontmatter.unclosed", 1},
		{"opening fence alone", "---", "skill.frontmatter.unclosed", 1},
		{"glued to other text", "---\ntags: [d\n---# Title\n", "skill.frontmatter.unclosed", 1},
		{"row of a table", "---\ndescription: d\n---|---\n", "skill.frontmatter.unclosed", 1},
		{"indented closing fence", "---\ndescription: d\n ---\n", "skill.frontmatter.unclosed", 1},
		{"NUL", "---\na: b\nc: \x00d\n---\n", "skill.nul", 3},
		{"NUL with CR", "---\ra: b\rc: \x00d\r---\r", "skill.nul", 3},
		{"NUL with CR LF", "---\r\na: b\r\nc: \x00d\r\n---\r\n", "skill.nul", 3},
		{"NUL in the body", "---\na: b\n---\n\x00", "skill.nul", 4},
		{"NUL far down in the body", "---\na: b\n---\n" + body + "\x00", "skill.nul", 0},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", "skill.nul", 1},
		{"no UTF-8", "---\na: b\nc: \xff\n---\n", "skill.frontmatter.encoding", 3},
		{"no UTF-8 with CR", "---\ra: b\rc: \xff\r---\r", "skill.frontmatter.encoding", 3},
		{"cut off in a character", "---\na: \xe6\x8a\n---\n", "skill.frontmatter.encoding", 2},
		{"no YAML", "---\nname: x\ntags: [y\n---\n", "skill.frontmatter.syntax", 3},
		{"no YAML with CR LF", "---\r\nname: x\r\ntags: [y\r\n---\r\n", "skill.frontmatter.syntax", 3},
		{"no mapping", "---\n- a\n---\n", "skill.frontmatter.syntax", 2},
		{"too long", "---\n# " + body + "\n---\n", "skill.frontmatter.too_long", 1},
		{"too long and unclosed", "---\n" + strings.Repeat("a\n", 40<<10), "skill.frontmatter.too_long", 1},
		{"file too long", good("d") + strings.Repeat("x", 1<<20), "skill.file.too_long", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := read(t, tt.text)
			if !s.Broken || len(s.Problems) == 0 {
				t.Fatalf("broken %t, problems %v", s.Broken, s.Problems)
			}
			p := s.Problems[0]
			if p.Code != tt.code || p.Line != tt.line || p.Severity != pannier.SeverityError || p.Hint == "" {
				t.Errorf("problem %v with hint %q, want %s in line %d", p, p.Hint, tt.code, tt.line)
			}
			if s.Name != "pdf" || s.Slug != "pdf" {
				t.Errorf("name %q, slug %q; a skill that cannot be read is called like its folder", s.Name, s.Slug)
			}
		})
	}
}

// TestUnclosedFrontmatterIsGuessed finds the name and the description of a file whose frontmatter does not end.
func TestUnclosedFrontmatterIsGuessed(t *testing.T) {
	for text, want := range map[string]string{
		"---\nname: PDF\ndescription: Reads: PDFs.\n\n# Title\n\nDo it.\n": `; its name seems to be "PDF"; its description seems to be "Reads: PDFs."`,
		"\ufeff---\r\ndescription: d\r\nname: n\r\n":                       `; its name seems to be "n"; its description seems to be "d"`,
		"---\nDo it.\n":            "",
		"---\nname: a\nbody: \xff": "",
	} {
		s := read(t, text)
		i := slices.IndexFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == "skill.frontmatter.unclosed" })
		if i < 0 || s.Problems[i].Message != "the frontmatter is not closed"+want {
			t.Errorf("%q: problems %v, want %q", text, s.Problems, want)
		}
	}
}

// frontOf returns a SKILL.md whose frontmatter has exactly size bytes.
func frontOf(size int) string {
	front := "description: d\n# "
	return "---\n" + front + strings.Repeat("x", size-len(front)-1) + "\n---\nbody\n"
}

func TestFrontmatterBound(t *testing.T) {
	const limit = 64 << 10
	if s := read(t, frontOf(limit)); s.Broken {
		t.Errorf("exactly at the bound: %v", s.Problems)
	}
	if s := read(t, frontOf(limit+1)); !s.Broken || s.Problems[0].Code != "skill.frontmatter.too_long" {
		t.Errorf("one byte more: %v", s.Problems)
	}
	text := good("d")
	if s := read(t, text+strings.Repeat("x", 1<<20-len(text))); s.Broken {
		t.Errorf("a file exactly at the bound: %v", s.Problems)
	}
}

func TestFrontmatterWarnings(t *testing.T) {
	for _, tt := range []struct {
		text, code string
		line       int
	}{
		{"\ufeff" + good("d"), "skill.bom", 1},
		{"---\nname: a\ndescription: d\nname: b\n---\nbody", "skill.frontmatter.repeated_key", 4},
		{"---\ndescription: d\n---\n \r\n", "skill.body.empty", 0},
		{"---\nname: a\n---\nbody", "skill.description.missing", 0},
	} {
		s := read(t, tt.text)
		if s.Broken || len(s.Problems) != 1 || s.Problems[0].Code != tt.code || s.Problems[0].Line != tt.line || s.Problems[0].Hint == "" {
			t.Errorf("%q: broken %t, problems %v, want %s in line %d", tt.text, s.Broken, s.Problems, tt.code, tt.line)
		}
	}
}

func TestMissingFrontmatterAllowed(t *testing.T) {
	for _, text := range []string{"# Title\ntext\n", "---\nnot closed\n", ""} {
		root := t.TempDir()
		writeSkill(t, root, "My Skill", text)
		rules := rulesFor(root)
		rules.AllowMissingFrontmatter = true
		l := loader.New(loader.Options{Rules: rules})
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		if s.Broken || s.Name != "My Skill" || s.Slug != "my-skill" {
			t.Errorf("%q: broken %t, name %q, slug %q", text, s.Broken, s.Name, s.Slug)
		}
		doc, err := l.Read(t.Context(), s)
		if err != nil || doc.Body != text || doc.Frontmatter != nil {
			t.Errorf("%q: document %+v, error %v", text, doc, err)
		}
	}
	for _, text := range []string{"# Title\x00\n", "# Title\n" + strings.Repeat("text\n", 16<<10) + "\x00"} {
		root := t.TempDir()
		writeSkill(t, root, "a", text)
		rules := rulesFor(root)
		rules.AllowMissingFrontmatter = true
		s := only(t, load(t, loader.New(loader.Options{Rules: rules}), pannier.Batch{Full: true}))
		if !s.Broken || s.Problems[0].Code != "skill.nul" {
			t.Errorf("a NUL byte at %d: broken %t, problems %v", len(text), s.Broken, s.Problems)
		}
	}
}

func FuzzCut(f *testing.F) {
	for _, seed := range []string{"---\na: b\n---\nbody", "---\r\na\r\n---\r\n", "---\ra\r---\r", "\ufeff---\n---", "---\n---# x\n", "--- \n\n---\t\n", "x", "---\n\xff\n---\n", "---\n\x00"} {
		f.Add([]byte(seed), 8)
	}
	const limit = 1 << 10
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		front, body, line, code := loader.FindFrontmatter(text, true, limit)
		if (line > 0) != (front != nil) || line > 0 && code == "skill.frontmatter.missing" {
			t.Fatalf("line %d, front %q, %s", line, front, code)
		}
		if line == 0 {
			return
		}
		i := bytes.Index(text, []byte("---")) + 3
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		from := i + len(lineEnd(text[i:]))
		if !bytes.HasPrefix(text[from:], front) || !bytes.HasSuffix(text, body) {
			t.Fatal("the parts are no slices of the text at their place")
		}
		fence := text[from+len(front) : len(text)-len(body)]
		if !bytes.HasPrefix(fence, []byte("---")) || len(bytes.Trim(fence[3:], "- \t\r\n")) > 0 {
			t.Fatalf("closed by %q", fence)
		}
		if n := len(front); n > 0 && front[n-1] != '\n' && front[n-1] != '\r' {
			t.Fatalf("the closing fence does not begin a line: %q", front)
		}
		if glued := len(body) > 0 && fence[len(fence)-1] != '\n' && fence[len(fence)-1] != '\r' || bytes.HasPrefix(fence, []byte("----")); glued {
			return // it counts only where no other fence does, and that is not known of a part of the text
		}
		if at < 0 || at >= len(text) || int64(at) < limit+int64(from)+int64(len(fence)) {
			return
		}
		again, _, _, cutCode := loader.FindFrontmatter(text[:at], false, limit)
		if code == "" && (cutCode != "" || !bytes.Equal(again, front)) {
			t.Fatalf("from the first %d bytes: %q, %s", at, again, cutCode)
		}
	})
}

func lineEnd(text []byte) []byte {
	switch {
	case bytes.HasPrefix(text, []byte("\r\n")):
		return text[:2]
	case len(text) > 0:
		return text[:1]
	}
	return nil
}

// TestMissingDescription says what agents see instead.
func TestMissingDescription(t *testing.T) {
	s := read(t, "---\nname: a\n---\nbody")
	at := slices.IndexFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == "skill.description.missing" })
	if at < 0 || !strings.Contains(s.Problems[at].Message, "agents see the first line of the instructions") {
		t.Errorf("problems %v", s.Problems)
	}
}
