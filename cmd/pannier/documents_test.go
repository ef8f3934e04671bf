package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commandBlock is a block of commands in a document.
type commandBlock struct {
	line int
	mark string // the HTML comment on the line before it, if any
	text string
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*) -->\n)?```([a-z]*)\n(.*?)^```$")
	// commandStart is how the text of a block begins that is of commands but does not say so.
	commandStart = regexp.MustCompile(`(?m)^(\$ )?(pannier|go|curl|docker|kubectl|systemctl|export|make) `)
	notRun       = regexp.MustCompile(`^(not run by a test: .+|tested by (Test\w+): .+)$`)
)

// commandBlocks returns the blocks of commands of a document.
func commandBlocks(t *testing.T, path string) (blocks []commandBlock) {
	t.Helper()
	text := must(os.ReadFile(path))(t)
	for _, m := range fencedBlock.FindAllSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return string(text[m[2*i]:m[2*i+1]])
		}
		b := commandBlock{line: 1 + strings.Count(string(text[:m[0]]), "\n"), mark: part(1), text: part(3)}
		switch language := part(2); {
		case slices.Contains([]string{"sh", "bash", "shell", "console"}, language):
			blocks = append(blocks, b)
		case language == "" && commandStart.MatchString(b.text):
			t.Errorf("%s:%d: a block of commands does not say so: begin it with ```sh", path, b.line)
		}
	}
	return blocks
}

// TestCommandBlocks runs the commands of README.md and docs as a reader does who pastes them, page by page, at the top of a clone
// and beside the sidecar of README.md. A block that cannot run says why in an HTML comment on the line before it.
func TestCommandBlocks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	ran := 0
	for _, page := range append([]string{"../../README.md"}, pages...) {
		var script strings.Builder
		for _, b := range commandBlocks(t, page) {
			m := notRun.FindStringSubmatch(b.mark)
			switch {
			case m == nil:
				script.WriteString(b.text)
				ran++
			case m[2] != "" && !strings.Contains(testsOfThisPackage(t), "func "+m[2]+"("):
				t.Errorf("%s:%d: there is no %s", page, b.line, m[2])
			}
		}
		if script.Len() == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("curl"); err != nil && strings.Contains(script.String(), "curl ") {
				t.Skip(err)
			}
			runBlocks(t, filepath.Base(page), script.String())
		})
	}
	if ran < 4 {
		t.Errorf("%d blocks were run: the test does not see them", ran)
	}
}

// runBlocks runs the blocks of one page. README.md shows how to build the program; the other pages expect it on the PATH.
func runBlocks(t *testing.T, page, script string) {
	dir, environ := readmeSidecar(t)
	copyTracked(t, "../..", ".", dir)
	path := os.Getenv("PATH")
	if page != "README.md" {
		path = filepath.Dir(binary) + ":" + path
	}
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(environ, "PATH="+path, "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\nof\n%s", err, out, script)
	}
	if page == "DEPLOY.md" {
		checkTokenFile(t, cmd, filepath.Join(dir, "ci.token"))
	}
}

// checkTokenFile checks that only its owner can read the token that the commands of DEPLOY.md make, and that they leave the token of
// before as it was where they fail.
func checkTokenFile(t *testing.T, commands *exec.Cmd, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Fatalf("the token: %v, %v", info, err)
	}
	before := must(os.ReadFile(path))(t)
	again := exec.Command(commands.Path, commands.Args[1:]...) // the name is taken
	again.Dir, again.Env = commands.Dir, commands.Env
	out, failed := again.CombinedOutput()
	after, err := os.ReadFile(path)
	if failed == nil || err != nil || string(after) != string(before) {
		t.Errorf("the commands a second time: %v %s, and the token is %q, not %q: %v", failed, out, after, before, err)
	}
}

// testsOfThisPackage returns the text of the test files here.
func testsOfThisPackage(t *testing.T) string {
	t.Helper()
	files := must(filepath.Glob("*_test.go"))(t)
	var all strings.Builder
	for _, file := range files {
		text := must(os.ReadFile(file))(t)
		all.Write(text)
	}
	return all.String()
}
