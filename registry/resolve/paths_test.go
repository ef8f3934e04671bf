package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"pannier"
	"pannier/registry/resolve"
)

func TestPathsOfText(t *testing.T) {
	for text, want := range map[string]string{
		"please mend src/lib.rs.":                                  "src/lib.rs",
		"see ./src/a.go, 'src/b.go' and `src/c.go`; (src/d.go)!":   "src/a.go src/b.go src/c.go src/d.go",
		`C:\proj\src\a.go and src\b.go`:                            "C:/proj/src/a.go src/b.go",
		"\"docs/read me\" [a](docs/x.md) <docs/y.md>":              "docs/read docs/x.md docs/y.md",
		"app/[id]/page.tsx (group)/page.tsx {a}/b":                 "app/[id]/page.tsx (group)/page.tsx {a}/b",
		"(app/[id]/page.tsx), [app/(x)/y.ts]":                      "app/[id]/page.tsx app/(x)/y.ts",
		"src/a.go:12:3 src/b.go:7 src/c.go#L5-L9 @src/d.go":        "src/a.go src/b.go src/c.go src/d.go",
		"form.pdf, .env and Makefile.":                             "form.pdf .env",
		"--file=src/a.go -o=out/b.bin a=b/c":                       "src/a.go out/b.bin a=b/c",
		"src/a.go src/./a.go src//a.go":                            "src/a.go",
		"../up/x.go /etc/hosts /a.b/c":                             "../up/x.go /etc/hosts /a.b/c",
		"a/../../b/c.go":                                           "../b/c.go",
		"„src/a.go“，“src/b.go”。":                                   "src/a.go“，“src/b.go",
		"routes/$id.tsx":                                           "routes/$id.tsx",
		"https://a.test/x/y.go http://b.test ftp://c/d.e":          "",
		"(https://a.test/x.go) see:https://b.test/y <//c.test/z>":  "",
		"www.a.test/x mailto:ann@a.test ann@a.test git@a.test:b/c": "",
		"/help /skill:pdf @skill:acme/pdf $acme/pdf $HOME/x.go":    "",
		"24/7 1/2 12/31/2026 1.5 v1.2 e.g. i.e. U.S. ... // / \\":  "",
		"no path at all":                                           "",
		strings.Repeat("x", 1025) + ".go":                          "",
		strings.Repeat("(", 4000) + "a/b":                          "",
	} {
		if got := strings.Join(resolve.PathsOf(pannier.Turn{Text: text}), " "); got != want {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
}

func TestPathsOfTurn(t *testing.T) {
	for _, tt := range []struct {
		project, path, want string
	}{
		{"", "src/a.go", "src/a.go"},
		{"", "/p/src/a.go", "/p/src/a.go"},
		{"/p", "/p/src/a.go", "src/a.go"},
		{"/p/", "/p/src/../a.go", "a.go"},
		{"/p", "/pp/a.go", "/pp/a.go"},
		{"/p", "src/a.go", "src/a.go"},
		{"/p", "/p", "/p"},
		{"/", "/etc/hosts", "etc/hosts"},
		{`C:\p`, `C:\p\src\a.go`, "src/a.go"},
		{"/p", " ./x ", "x"},
		{"/p", "with blank/a b.go", "with blank/a b.go"},
		{"/p", "", ""},
		{"/p", strings.Repeat("x", 1025), ""},
	} {
		if got := strings.Join(resolve.PathsOf(pannier.Turn{ProjectDir: tt.project, Paths: []string{tt.path}}), " "); got != tt.want {
			t.Errorf("%q in %q: %q, want %q", tt.path, tt.project, got, tt.want)
		}
	}
}

func TestPathsAreBounded(t *testing.T) {
	turn := pannier.Turn{}
	for i := range 2000 {
		turn.Paths = append(turn.Paths, fmt.Sprint("p/", i/4))
		turn.Text += fmt.Sprintf(" t/f%d.go", i)
	}
	got := resolve.PathsOf(turn)
	if len(got) != pannier.MaxTurnPaths || got[499] != "p/499" || got[500] != "t/f0.go" {
		t.Errorf("%d paths", len(got))
	}
}

func TestGlobs(t *testing.T) {
	for _, tt := range []struct {
		glob, path string
		want       bool
	}{
		{"src/*.rs", "src/lib.rs", true},
		{"src/*.rs", "src/lib.ts", false},
		{"src/*.rs", "src/a/lib.rs", false},
		{"./src/*.rs", "src/lib.rs", true},
		{"src/**/mod.rs", "src/mod.rs", true},
		{"src/**/mod.rs", "src/a/b/mod.rs", true},
		{"src/**", "src", true},
		{"src/**", "srcs/a", false},
		{"**", "any/thing", true},
		{"**/*.{ts,tsx}", "a/b.tsx", true},
		{"**/x", "x", true},
		{"*.rs", "src/lib.rs", false},
		{"src/[a-c]?.go", "src/bx.go", true},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{"/etc/**", "/etc/hosts", true},
		{"SRC/*", "src/a", false},
		{"", "a", false},
		{"[", "[", false},
		{"{a,b", "a", false},
		{strings.Repeat("{a,b}", 7), "abababa", false}, // 128 globs
		{strings.Repeat("{a,b}", 6), "ababab", true},
		{strings.Repeat("*", 600), "a", false},
	} {
		if got, indexed := resolve.Match(tt.glob, tt.path), resolve.MatchIndexed(tt.glob, tt.path); got != tt.want || indexed != tt.want {
			t.Errorf("%.40s of %s: %t, indexed %t", tt.glob, tt.path, got, indexed)
		}
	}
}

// TestPathMatch chooses among skills that may come unasked, and among no others.
func TestPathMatch(t *testing.T) {
	globs := func(globs ...string) func(*pannier.Entry) {
		return func(e *pannier.Entry) { e.Paths = globs }
	}
	s := snapshot(
		entry("asked", globs("**")),
		entry("auto", implicit, globs("docs/*.md", "src/**/*.go")),
		entry("broken", implicit, globs("**"), against(pannier.ReasonInvalid)),
		entry("crew", implicit, globs("**"), runtimes("crewai")),
		entry("hidden", implicit, globs("**"), notForUsers),
		entry("off", implicit, globs("**"), disabled),
		entry("other", implicit, globs("*.py")),
		entry("plain", implicit),
		entry("quiet", implicit, globs("**"), noModel),
	)
	way := func(turn pannier.Turn) string {
		turn.NamedOnly = true
		active, rejected := said(resolve.Resolve(s, turn))
		return active + rejected
	}
	for _, tt := range []struct {
		turn pannier.Turn
		want string
	}{
		{pannier.Turn{}, ""},
		{pannier.Turn{Paths: []string{"src/a.go"}}, "auto:path_match crew:path_match hidden:path_match"},
		{pannier.Turn{Text: "mend `src/x/y.go`"}, "auto:path_match crew:path_match hidden:path_match"},
		{pannier.Turn{Paths: []string{"/p/docs/a.md"}, ProjectDir: "/p", Runtime: "else"}, "auto:path_match hidden:path_match"},
		{pannier.Turn{Paths: []string{"/p/docs/a.md"}, Runtime: "else"}, "hidden:path_match"},
		{pannier.Turn{Paths: []string{"a.py"}, Text: "$other $asked $auto", Runtime: "else"}, "asked:reference auto:reference other:reference hidden:path_match"},
	} {
		if got := way(tt.turn); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.turn, got, tt.want)
		}
	}
}

func FuzzPathsOf(f *testing.F) {
	for _, text := range []string{"src/a.go", "(`a/b`).", `C:\x\y`, "https://a/b", "\xff/\x00.a", "@a/b:1:2#L3", "](](/x", "--a=b/c", strings.Repeat("[", 99) + "a/b"} {
		f.Add(text, "/p", text)
	}
	f.Fuzz(func(t *testing.T, text, project, given string) {
		turn := pannier.Turn{Text: text, ProjectDir: project, Paths: []string{given}}
		got := resolve.PathsOf(turn)
		if len(got) > pannier.MaxTurnPaths || !slices.Equal(got, resolve.PathsOf(turn)) {
			t.Errorf("%d paths, or others the second time", len(got))
		}
		seen := map[string]bool{}
		for _, p := range got {
			if p == "" || seen[p] || strings.Contains(p, `\`) || strings.Contains(p, "//") || strings.HasPrefix(p, "./") || len(p) > pannier.MaxPathBytes {
				t.Errorf("path %q", p)
			}
			seen[p] = true
		}
		for _, p := range resolve.PathsOf(pannier.Turn{Text: text}) {
			if strings.Contains(p, "://") || utf8.ValidString(text) && !utf8.ValidString(p) {
				t.Errorf("%q from %q", p, text)
			}
		}
	})
}

// FuzzGlob holds the short cuts against the library that they save.
func FuzzGlob(f *testing.F) {
	for _, pair := range [][2]string{{"src/**", "src"}, {"**/a", "a"}, {"a{b,c}/*", "ab/x"}, {`a\{b`, "a{b"}, {"[!a]/**/", "b/c"}, {"a/**/b", "a/b"}, {"{a/**,b}", "a"}, {"./x", "x"}, {"a]b", "a]b"}, {"{,/}a", "a"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		if path == "" || !utf8.ValidString(path) || !utf8.ValidString(glob) || !resolve.Within(glob) {
			return
		}
		text := strings.TrimPrefix(strings.TrimSpace(glob), "./")
		want, err := doublestar.Match(text, path)
		want = want && err == nil && text != "" && doublestar.ValidatePattern(text)
		if got, indexed := resolve.Match(glob, path), resolve.MatchIndexed(glob, path); got != want || indexed != want {
			t.Errorf("%q of %q: %t, indexed %t, the library says %t", glob, path, got, indexed, want)
		}
	})
}
