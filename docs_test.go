package pannier_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentsBuildStaticBinaries: without CGO_ENABLED=0 a machine with a C compiler makes a binary that runs in no image
// without its C library.
func TestDocumentsBuildStaticBinaries(t *testing.T) {
	builds := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "examples/*/*.md", "Makefile", "Dockerfile"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if at := strings.Index(line, "go build"); at >= 0 && filepath.Base(file) != "CHANGELOG.md" {
					builds++
					if !strings.HasSuffix(line[:at], "CGO_ENABLED=0 ") {
						t.Errorf("%s: %s", file, line)
					}
				}
			}
		}
	}
	if builds < 5 {
		t.Errorf("%d builds", builds)
	}
}

var markdownLink = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestDocumentsLinkToWhatIsThere follows every relative link of the project's documents.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	links := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && slices.Contains([]string{"testdata", ".git", "workspace", "node_modules"}, e.Name()) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 5 {
		t.Errorf("%d links were found: the test does not see them", links)
	}
}
