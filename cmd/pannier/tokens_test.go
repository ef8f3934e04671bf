package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

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
	dir := t.TempDir()
	writeIn(t, dir, `printf 'broken\n' > broken; printf '# mine\n' > good; chmod 640 good`)
	if _, _, code := pannierToken(t, "ci", "write", "--append", filepath.Join(dir, "good")); code != exitYes {
		t.Fatalf("exit code %d", code)
	}
	before, err := os.ReadFile(filepath.Join(dir, "good"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"two words", "read"}, "no name of a token"},
		{[]string{"ci", "admin"}, "no scope"},
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
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := api.ParseTokens(text)
	if err != nil || len(tokens) != len(names) {
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	if left, err := fs.Glob(os.DirFS(dir), ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestTokensAreReadAgain changes the file in every way that an operator does.
func TestTokensAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	line := func(name string) string { return name + " read " + pannier.DigestOf([]byte(name)).String() }
	writeIn(t, dir, "umask 077; echo '"+line("a")+"' > tokens")
	tokens, err := openTokens(file, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, script, want, codes string }{
		{"as it was", "true", "a", ""},
		{"the same size and time", "touch -r tokens stamp; echo '" + line("b") + "' > tokens; touch -r stamp tokens", "b", ""},
		{"a rename", "umask 077; echo '" + line("c") + "' > next; mv next tokens", "c", ""},
		{"a link that is swapped", "mkdir one two; mv tokens one/tokens; ln -s one now; ln -s now/tokens tokens", "c", ""},
		{"and swapped again", "umask 077; echo '" + line("d") + "' > two/tokens; ln -s two next; mv -T next now", "d", ""},
		{"a fault", "echo broken >> two/tokens", "d", "api_tokens_unreadable"},
		{"gone", "rm two/tokens", "d", "api_tokens_unreadable"},
		{"a directory", "mkdir two/tokens", "d", "api_tokens_unreadable"},
		{"back", "rmdir two/tokens; umask 077; echo '" + line("e") + "' > two/tokens", "e", ""},
		{"open to all", "chmod 644 two/tokens", "e", "api_tokens_exposed"},
		{"open to writers", "chmod 620 two/tokens", "e", "api_tokens_exposed"},
		{"for the group", "chmod 640 two/tokens", "e", ""},
		{"nobody", ": > two/tokens", "", "api_tokens_none"},
	} {
		writeIn(t, dir, step.script)
		var names, codes []string
		for _, token := range tokens.current() {
			names = append(names, token.Name)
		}
		for _, c := range tokens.conditions() {
			codes = append(codes, c.Code)
		}
		if strings.Join(names, " ") != step.want || strings.Join(codes, " ") != step.codes {
			t.Errorf("%s: tokens %q with %q, want %q with %q", step.name, names, codes, step.want, step.codes)
		}
	}
}

// TestTokensWhileTheDiskDoesNotAnswer has a look at the file that does not end: callers get what was read last, and the next look
// that ends counts.
func TestTokensWhileTheDiskDoesNotAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(name+" read "+pannier.DigestOf([]byte(name)).String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	tokens, err := openTokens(file, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	tokens.looking = true // and does not end
	write("b")
	begun := time.Now()
	if got := tokens.current(); len(got) != 1 || got[0].Name != "a" || time.Since(begun) > patience {
		t.Errorf("got %v after %s", got, time.Since(begun))
	}
	tokens.lookOn() // goes on
	if got := tokens.current(); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("got %v", got)
	}
}

// TestTokensThatRestAreNotReadAgain has the file read once more only as long as a change could hide.
func TestTokensThatRestAreNotReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("a read "+pannier.DigestOf([]byte("a")).String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := openTokens(file, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	rested := *tokens.newest.Load()
	rested.read = rested.read.Add(time.Minute) // as if it had rested for that long by then
	kept := []api.Token{{Name: "kept"}}
	rested.tokens = kept
	tokens.newest.Store(&rested)
	if got := tokens.current(); !slices.Equal(got, kept) {
		t.Errorf("read again: %v", got)
	}
}
