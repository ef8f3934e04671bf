package profile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/loader/profile"
)

func TestClawHub(t *testing.T) {
	tests := []struct {
		rule, folder, text string
		errors, warnings   string
	}{
		{"a folder that is a slug", "pdf-tools", front("name: PDF Tools"), "", ""},
		{"digits and hyphens", "1--a-", front("name: a"), "", ""},
		{"a folder with upper case", "PDF", front("name: a"), "clawhub.slug.format", ""},
		{"a folder with an underscore", "a_b", front("name: a"), "clawhub.slug.format", ""},
		{"a folder that starts with a hyphen", "-a", front("name: a"), "clawhub.slug.format", ""},
		{"a folder that is not ASCII", "技能", front("name: a"), "clawhub.slug.format", ""},
		{"a slug of its own", "PDF", front("slug: pdf"), "", ""},
		{"a slug of its own that is none", "pdf", front("slug: a/b"), "clawhub.slug.format", ""},
		{"a slug with a line feed", "pdf", front(`slug: "a\nb"`), "clawhub.slug.format", ""},
		{"no frontmatter", "pdf", "# PDF\n", "", ""},
		{"MIT-0", "a", front("license: mit-0"), "", ""},
		{"MIT-0 in a mapping", "a", front("license: {spdx: MIT-0}"), "", ""},
		{"MIT", "a", front("license: MIT"), "", "clawhub.license.other"},
		{"Apache in a mapping", "a", front("license: {spdx: Apache-2.0}"), "", "clawhub.license.other"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			problems := profile.ClawHub(skillOf(tt.folder, tt.text))
			checkProblems(t, problems)
			if codesOf(problems, pannier.SeverityError) != tt.errors || codesOf(problems, pannier.SeverityWarning) != tt.warnings {
				t.Errorf("%v", problems)
			}
		})
	}
}

func TestClawHubFiles(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00"
	long := strings.Repeat("é", 5000) // its 8192nd byte is the end of a character, that of "x"+long is not
	tests := []struct {
		rule  string
		files map[string]string
		want  string // "severity code path", one a line
	}{
		{"texts", map[string]string{"SKILL.md": "x", "LICENSE": "MIT", "a.unknown": "text", "b": long, "c": "x" + long, "empty": ""}, ""},
		{"binaries", map[string]string{"SKILL.md": "x", "a.png": png, "b/c.bin": "a\xffb", "d": strings.Repeat("a", 8191) + "\x00"}, "error clawhub.file.binary skills/a/a.png\nerror clawhub.file.binary skills/a/b/c.bin\nerror clawhub.file.binary skills/a/d"},
		{"a NUL further back is not looked for", map[string]string{"d": strings.Repeat("a", 8192) + "\x00"}, ""},
		{"a character cut off at the end", map[string]string{"d": "a\xc3"}, "error clawhub.file.binary skills/a/d"},
		{"extensions of text are taken at their word", map[string]string{"a.MD": png}, ""},
		{"hidden files and modules are not published", map[string]string{".DS_Store": png, ".git/x": png, "a/node_modules/b": png}, ""},
		{"what is left out is not judged", map[string]string{"SKILL.md": "x", ".clawhubignore": "*.png\n", "a.png": png, "a/b.PNG": png}, ""},
		{"gitignore is honoured, and overruled", map[string]string{".gitignore": "*.bin", ".clawhubignore": "!b.bin", "a.bin": png, "b.bin": png}, "error clawhub.file.binary skills/a/b.bin"},
		{"SKILL.md is left out", map[string]string{"SKILL.md": "x", ".clawhubignore": "*.md\n!README.md\n"}, "error clawhub.file.ignored skills/a/SKILL.md"},
		{"a file that cannot be read", map[string]string{"a.bin": "unreadable"}, "info clawhub.file.unread skills/a/SKILL.md"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			problems := profile.ClawHub(filesOf(skillOf("a", front("name: a")), tt.files))
			checkProblems(t, problems)
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%s %s %s", p.Severity, p.Code, p.Path))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestClawHubSize(t *testing.T) {
	s := skillOf("a", front("name: a"))
	s.Files = []pannier.File{{Path: "a.txt", Size: 50<<20 - 1}, {Path: "b.txt", Size: 1}, {Path: ".big", Size: 1 << 40}}
	if problems := profile.ClawHub(s); len(problems) != 0 {
		t.Errorf("50 MB: %v", problems)
	}
	s.Files = append(s.Files, pannier.File{Path: "c.txt", Size: 2})
	problems := profile.ClawHub(s)
	if codesOf(problems, pannier.SeverityError) != "clawhub.bundle.size" || !strings.HasSuffix(problems[0].Hint, `"a.txt", "c.txt", "b.txt"`) {
		t.Errorf("more: %+v", problems)
	}
}

func TestClawHubManyFiles(t *testing.T) {
	files := map[string]string{".clawhubignore": strings.Repeat("x\n", 1001)}
	for i := range 30 {
		files[fmt.Sprintf("f%02d.bin", i)] = "\x00"
	}
	problems := profile.ClawHub(filesOf(skillOf("a", front("name: a")), files))
	checkProblems(t, problems)
	more := func(p pannier.Problem) bool { return p.Message == "10 more files are no text" }
	if len(problems) != 22 || !slices.ContainsFunc(problems, more) || codesOf(problems, pannier.SeverityWarning) != "clawhub.ignore.too_long" {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
}

func TestBundle(t *testing.T) {
	tests := []struct{ rule, patterns, files, want string }{
		{"comments and blank lines", "# a\n\n  \n\\#b\n", "a #b c", "a c"},
		{"CR LF and blanks at the end", "a  \r\nb\\ \r\n", "a b c", "b c"},
		{"a name matches at every level", "a", "a b/a b/c", "b/c"},
		{"a slash at the front ties it", "/a", "a b/a", "b/a"},
		{"a slash in the middle ties it", "b/a", "b/a c/b/a", "c/b/a"},
		{"a slash at the end means directories", "a/", "a b/a/c", "a"},
		{"stars do not match a slash", "b/*.md", "b/x.md b/c/x.md", "b/c/x.md"},
		{"a question mark is one character", "?.md", "é.md ab.md .md", "ab.md"},
		{"classes", "[a-c].md\n[!x]y", "a.md d.md xy zy", "d.md xy"},
		{"stars that match directories", "b/**/x", "b/x b/c/x b/c/d/x c/x", "c/x"},
		{"stars at the front", "**/x/y", "x/y a/x/y a/x/z", "a/x/z"},
		{"stars at the end", "b/**", "b/x b/c/x c", "c"},
		{"stars alone", "**", "a b/c", ""},
		{"negation", "*.md\n!a.md", "a.md b.md b/a.md", "a.md b/a.md"},
		{"the last one decides", "!a\na\n", "a b", "b"},
		{"nothing comes out of a directory that is left out", "b/\n!b/x", "b/x b/y c", "c"},
		{"but of one whose files are", "b/*\n!b/x", "b/x b/y c", "b/x c"},
		{"case does not count", "*.PNG\nReadme.*", "a.png README.md x", "x"},
		{"an escaped exclamation mark", `\!a`, "!a a", "a"},
		{"patterns that are none", "[a\n/\n!\n!/\n", "a [a", "a [a"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			contents := map[string]string{".clawhubignore": tt.patterns}
			for file := range strings.FieldsSeq(tt.files) {
				contents[file] = "x"
			}
			var got []string
			for _, f := range profile.Bundle(filesOf(skillOf("a", front("name: a")), contents)) {
				got = append(got, f.Path)
			}
			slices.Sort(got)
			want := slices.Sorted(strings.FieldsSeq(tt.want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
