package sidecar

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/testbench/fixture"
	"pannier/publish/api"
)

// TestTokensAreReadAgain changes the file in every way that an operator does.
func TestTokensAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tokens")
	line := func(name string) string { return name + " read " + pannier.DigestOf([]byte(name)).String() }
	fixture.WriteIn(t, dir, "umask 077; echo '"+line("a")+"' > tokens")
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
		fixture.WriteIn(t, dir, step.script)
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
	tokens.reading = true // and does not end
	write("b")
	begun := time.Now()
	if got := tokens.current(); len(got) != 1 || got[0].Name != "a" || time.Since(begun) > fixture.Patience {
		t.Errorf("got %v after %s", got, time.Since(begun))
	}
	tokens.refreshLoop() // goes on
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
