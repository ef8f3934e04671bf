//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"pannier"
	"pannier/config"
)

func FuzzWorkspace(f *testing.F) {
	for _, seed := range []string{
		"", "name: a\nskills: [a, ~, 3]\n", "skills: '[a, b]'\n", "skills: {a: 1}\n", "a2a: {streaming: yes}\n", "name: a: b\n",
		"\ufeff# x\n---\nname: y\n", "a: *b\n", "- a\n", "skills: [../x, /y, \"\\0\"]\n",
		"prompt_files: [a.md, sub/b.md, ./a.md, ../c.md, /d, config.yaml, config.yaml/e, sub, ~, '', \"\\0\"]\n",
		"prompt_files: '[sub/b.md, ]'\n", "prompt_files: {a.md: b}\n", "prompt_files: link\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		writeFile(t, dir, "sub/b.md", "b")
		check(t, os.Symlink("..", filepath.Join(dir, "link")))
		writeConfig(t, dir, "name: the last good\nskills: [kept]\n")
		r := config.NewWorkspaceReader(dir, 0)
		good := r.Read()
		writeConfig(t, dir, string(text))
		got := r.Read()
		codes(t, got)
		if got.LastGood {
			got.LastGood, got.Problems = false, good.Problems
			if diff := cmp.Diff(good, got); diff != "" {
				t.Fatalf("not the last good: %s", diff)
			}
			return
		}
		checkSkills(t, got)
		checkPrompts(t, got, r.Watched(), dir)
	})
}

// checkSkills checks that entries are what a root can hold.
func checkSkills(t *testing.T, w pannier.Workspace) {
	t.Helper()
	seen := map[string]bool{}
	for _, p := range w.Problems {
		if p.Severity != pannier.SeverityWarning && !strings.HasPrefix(p.Code, "config.prompt_") {
			t.Errorf("a file that was parsed has %v", p)
		}
	}
	for _, entry := range w.Skills {
		if !filepath.IsLocal(entry) || entry == "." || seen[entry] {
			t.Errorf("entry %q", entry)
		}
		seen[entry] = true
	}
	if !w.Listed && len(w.Skills) > 0 {
		t.Errorf("skills %q without a list", w.Skills)
	}
}

// checkPrompts checks that prompt files are below the workspace, each once, and so is what is watched.
func checkPrompts(t *testing.T, w pannier.Workspace, watched []string, dir string) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range w.Prompts {
		if !filepath.IsLocal(f.Path) || filepath.Clean(f.Path) != f.Path || seen[f.Path] {
			t.Errorf("prompt file %q", f.Path)
		}
		if f.Digest.IsZero() && f.Text != "" || !utf8.ValidString(f.Text) || strings.ContainsAny(f.Text, "\x00\r") {
			t.Errorf("%q says %q", f.Path, f.Text)
		}
		seen[f.Path] = true
	}
	for _, d := range watched {
		if filepath.Clean(d) != d || !strings.HasPrefix(d, dir+"/") {
			t.Errorf("%q is watched", d)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "settle: 1s\n", "platform: {headers: {A: top-secret}}\n", "platform: [{url: x}, {}]\n", "roots: [{path: a, kind: b}]\n", "skip: [a]\n",
		"policy: {skills: {pdf: {enabled: false}, X: {}}}\nwrite_uids: [0, -1]\n", "\"a\\nb\": c\n", "platform.url: x\n", "settle: 1s\ndebounce: 2s\n",
	} {
		f.Add([]byte(seed), seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, variable string) {
		path := filepath.Join(dir, "pannier.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		const secret = "zq8\u2028zq8"
		flags := pflag.NewFlagSet("pannier", pflag.ContinueOnError)
		s, err := config.Load(flags, []string{"HOME=/h", "PANNIER_PLATFORM_HEADER=" + secret, "PANNIER_CONFIG=" + path, "PANNIER_" + variable})
		if err == nil {
			t.Fatal("a header without a name passes")
		}
		if diff := cmp.Diff(config.Settings{}, s); diff != "" {
			t.Errorf("settings with an error: %s", diff)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the secret is in %q", err)
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != len(faultsOf(t, err)) {
			t.Errorf("%d faults in %d lines: %q", len(faultsOf(t, err)), len(lines), lines)
		}
	})
}
