package pannier_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	cellEnd    = regexp.MustCompile(`[^\\]\|`)
	firstLines = regexp.MustCompile(`(?s)\A# [^\n]+\n\n.*?\b[Ff]or\b.*?\n#`)
)

// documents returns the pages that people read, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "docs/*.md", "deploy/*.md", "examples/*/README.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(paths), err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.ToSlash(path)] = string(text)
		}
	}
	return pages
}

// TestDocumentStyle checks that each page says who it is for, that lines have at most 120 columns and cells of tables at most 12
// words, and that no page has a banned word. Blocks of code may have longer lines.
func TestDocumentStyle(t *testing.T) {
	for path, text := range documents(t) {
		if !firstLines.MatchString(text + "\n#") {
			t.Errorf("%s does not say who it is for", path)
		}
		code := false
		number := 0
		for line := range strings.Lines(text) {
			number++
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "```") {
				code = !code
				continue
			}
			if code {
				continue
			}
			if n := utf8.RuneCountInString(line); n > 120 {
				t.Errorf("%s:%d: %d columns", path, number, n)
			}
			for _, word := range bannedWordsIn(line) {
				t.Errorf("%s:%d: %q is a banned word", path, number, word)
			}
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, cell := range cellEnd.Split(line, -1) {
				if n := len(strings.Fields(cell)); n > 12 {
					t.Errorf("%s:%d: %d words in a cell: %s", path, number, n, cell)
				}
			}
		}
	}
}

var (
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notSlug = regexp.MustCompile("[^a-z0-9 _-]")
	anchor  = regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
)

// TestDocumentAnchors checks that each link to a heading of a page leads to one.
func TestDocumentAnchors(t *testing.T) {
	pages := documents(t)
	anchors := map[string]bool{}
	for path, text := range pages {
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			anchors[path+"#"+strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
		}
	}
	links := 0
	for path, text := range pages {
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			target := path
			if m[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(path), m[1]))
			}
			if links++; !anchors[target+"#"+m[2]] {
				t.Errorf("%s links to %s#%s, and there is no such heading", path, m[1], m[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were found: the test does not see them", links)
	}
}

// sourcePath matches a path of a Go file in one of the directories of the program.
var sourcePath = regexp.MustCompile(`\b(?:admin|cmd|config|internal|loader|publish|registry|sidecar|watcher)/[a-z0-9_./-]+\.go\b`)

// TestDocumentPaths checks that the Go files that the pages name exist. CONTRIBUTING.md has recipes for files that do not.
func TestDocumentPaths(t *testing.T) {
	paths := 0
	for page, text := range documents(t) {
		for _, path := range sourcePath.FindAllString(text, -1) {
			paths++
			if _, err := os.Stat(path); err != nil && !(page == "CONTRIBUTING.md" && path == "cmd/pannier/readme.go") {
				t.Errorf("%s names %s, which does not exist", page, path)
			}
		}
	}
	if paths < 25 {
		t.Errorf("%d paths were found: the test does not see them", paths)
	}
}

var (
	// bannedWord finds words for which the field has a plain term.
	bannedWord = regexp.MustCompile(`(?i)\b(whoever|somebody|nobody|can not|of which none|what is gone|the way in|house|door|kin)\b`)
	// isNo finds "X is no Y", which is written "X is not a Y". "There is no X" and "is no longer" are plain.
	isNo = regexp.MustCompile(`(?i)(\bthere )?\bis no\b( longer)?`)
)

// bannedWordsIn returns the banned words of a text.
func bannedWordsIn(text string) []string {
	words := bannedWord.FindAllString(text, -1)
	for _, found := range isNo.FindAllStringSubmatch(text, -1) {
		if found[1] == "" && found[2] == "" {
			words = append(words, found[0])
		}
	}
	return words
}

// TestWords checks that no comment and no string of the product, and no line of its examples and sample settings, has a banned
// word. [TestDocumentStyle] checks the documents.
func TestWords(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			checkWords(t, path)
		case isSample(path) && !d.IsDir():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i, line := range strings.Split(string(text), "\n") {
				for _, word := range bannedWordsIn(line) {
					t.Errorf("%s:%d: %q is a banned word", path, i+1, word)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isSample reports whether a file is an example or has sample settings.
func isSample(path string) bool {
	top, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	return top == "deploy" || top == "examples" || top == "Dockerfile" || top == "pannier.yaml" || top == "docker-compose.yml"
}

func checkWords(t *testing.T, path string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	check := func(at token.Pos, text string) {
		for _, word := range bannedWordsIn(text) {
			t.Errorf("%s: %q is a banned word", files.Position(at), word)
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			check(c.Pos(), c.Text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			check(text.Pos(), text.Value)
		}
		return true
	})
}
