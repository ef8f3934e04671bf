package loader_test

import (
	"strings"
	"testing"

	"pannier"
	"pannier/loader"
)

func TestRepairs(t *testing.T) {
	long := strings.Repeat("text\n", 40_000)
	tests := []struct {
		name, text, description, body string
		lines                         []int
	}{
		{"colon", "---\nname: x\ndescription: Use when: asked\n---\nbody\n", "Use when: asked", "body\n", []int{3}},
		{"colon with CR LF", "---\r\nname: x\r\ndescription: Use when: asked\r\n---\r\nbody\r\n", "Use when: asked", "body\r\n", []int{3}},
		{"start of an alias", "---\ndescription: **bold** text\n---\nbody\n", "**bold** text", "body\n", []int{2}},
		{"continuation at column 0", "---\ndescription: one\ntwo\n---\nbody\n", "one two", "body\n", []int{3}},
		{"surrogates", "---\ndescription: \"\\ud83d\\udc3e\"\n---\nbody\n", "🐾", "body\n", []int{2}},
		{"glued fence", "---\ndescription: d\n---# Title\nbody\n", "d", "# Title\nbody\n", []int{3}},
		{"glued fence with CR LF", "---\r\ndescription: d\r\n---# Title\r\nbody\r\n", "d", "# Title\r\nbody\r\n", []int{3}},
		{"glued fence before another", "---\ndescription: d\n---# Title\nbody\n---\nmore\n", "d", "# Title\nbody\n---\nmore\n", []int{3}},
		{"glued fence before one far down", "---\ndescription: d\n---# Title\n" + long + "---\nmore\n", "d", "# Title\n" + long + "---\nmore\n", []int{3}},
		{"glued fence of a long text", "---\ndescription: d\n---# Title\n" + long, "d", "# Title\n" + long, []int{3}},
		{"two at once", "---\ndescription: Use when: asked\n---# Title\n", "Use when: asked", "# Title\n", []int{2, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			writeSkill(t, root, "a", tt.text)
			l := loader.New(loader.Options{Rules: rulesFor(root)})
			s := only(t, load(t, l, pannier.Batch{Full: true}))
			var lines []int
			for _, p := range s.Problems {
				if p.Code != "skill.frontmatter.repaired" || p.Severity != pannier.SeverityWarning || p.Column == 0 || p.Hint == "" {
					t.Errorf("told %v", p)
				}
				lines = append(lines, p.Line)
			}
			if s.Broken || s.Description != tt.description || len(lines) != len(tt.lines) || lines[0] != tt.lines[0] {
				t.Errorf("broken %t, description %q, repaired in lines %v: %v", s.Broken, s.Description, lines, s.Problems)
			}
			doc, err := l.Read(t.Context(), s)
			if err != nil || doc.Body != tt.body || doc.Frontmatter == nil {
				t.Errorf("%s, body %.100q, error %v", doc.Frontmatter, doc.Body, err)
			}
		})
	}
}

func TestGuessOfWhatCanNotBeRepaired(t *testing.T) {
	s := read(t, "---\nname: PDF tools\ndescription: What it does.\nrequires: [a\n---\nbody\n")
	if !s.Broken || s.Name != "pdf" {
		t.Fatalf("broken %t, name %q", s.Broken, s.Name)
	}
	p := s.Problems[0]
	if !strings.Contains(p.Message, `"PDF tools"`) || !strings.Contains(p.Message, `"What it does."`) || p.Line != 4 {
		t.Errorf("told %v", p)
	}
}
