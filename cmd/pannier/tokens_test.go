package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pannier"
	"pannier/publish/api"
)

// pannierToken runs `pannier token` and returns what it prints.
func pannierToken(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"token"}, args...)...)
	cmd.Env = cleanEnviron()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestTokenCommandPrintsTheLine(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := pannierToken(t, "grafana", "read")
	token := strings.TrimSuffix(stdout, "\n")
	if code != exitYes || !regexp.MustCompile(`\Apannier_[A-Za-z0-9_-]{43}\z`).MatchString(token) {
		t.Fatalf("printed %q, exit code %d", stdout, code)
	}
	_, line, _ := strings.Cut(stderr, "\n")
	if want := "grafana read " + pannier.DigestOf([]byte(token)).String() + "\n"; line != want || strings.Contains(stderr, token) {
		t.Errorf("said %q, want the line %q", stderr, want)
	}
	if again, _, _ := pannierToken(t, "grafana", "read"); again == stdout {
		t.Error("the same token twice")
	}
}

func TestTokenCommandRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeIn(t, dir, `printf 'broken\n' > broken; printf '# mine\n' > good; chmod 640 good`)
	if _, _, code := pannierToken(t, "ci", "write", "--append", filepath.Join(dir, "good")); code != exitYes {
		t.Fatalf("exit code %d", code)
	}
	before := must(os.ReadFile(filepath.Join(dir, "good")))(t)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"two words", "read"}, "not a valid name of a token"},
		{[]string{"ci", "admin"}, "unknown scope"},
		{[]string{"ci"}, `"pannier token" needs SCOPE`},
		{[]string{"x", "read", "--append", filepath.Join(dir, "broken")}, "line 1: it has 1 words"},
		{[]string{"ci", "read", "--append", filepath.Join(dir, "good")}, "once more"},
		{[]string{"x", "read", "--append", filepath.Join(dir, "none", "file")}, "no such file"},
	} {
		stdout, stderr, code := pannierToken(t, tt.args...)
		if code != exitUnknown || stdout != "" || !strings.Contains(stderr, tt.says) {
			t.Errorf("%q: printed %q, said %q, exit code %d", tt.args, stdout, stderr, code)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "good")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("a refused token changed the file to %q, %v", after, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "good")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
}

func TestTokensAreAppended(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	var wg sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		wg.Go(func() {
			if err := appendToken(file, name+" read "+pannier.DigestOf([]byte(name)).String()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info, err)
	}
	text := must(os.ReadFile(file))(t)
	tokens, err := api.ParseTokens(text)
	if err != nil || len(tokens) != len(names) {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	if left, err := fs.Glob(os.DirFS(dir), ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
