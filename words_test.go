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
)

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
