package execute

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier"
)

// TestPrograms that the tool cannot execute are passed over, as shims in a home directory are.
func TestPrograms(t *testing.T) {
	closed, err := os.MkdirTemp("", "closed") // as the home directory of root
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(closed) })
	for _, name := range []string{"cat", "python3", "only-here"} {
		if err := os.WriteFile(filepath.Join(closed, name), []byte("#!/bin/sh\necho shim\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e := executor(t, Options{Environ: []string{"PATH=" + closed + ":/usr/bin:/bin"}})
	dir := skill(t, "")
	if got := run(t, e, shell(t, dir, "cat", "SKILL.md")); got.Output != "name" {
		t.Errorf("%+v, %+v", got, got.Error)
	}
	if got := run(t, e, shell(t, dir, "only-here")); codeOf(got) != pannier.ToolDependencyMissing || got.Error.Hint == "" {
		t.Errorf("%+v, %+v", got, got.Error)
	}
	if got := run(t, e, shell(t, dir, "sh", "-c", "no-such-program 2>&1")); !strings.Contains(got.Output, "not found") {
		t.Errorf("a missing program: %+v, %+v", got, got.Error)
	}
	if python := e.Report().Python; filepath.Dir(python) == closed {
		t.Errorf("the report names %s", python)
	}
	open := executor(t, Options{Environ: []string{"PATH=" + closed + ":/usr/bin:/bin"}, Read: []string{closed}})
	if err := os.Chmod(closed, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := run(t, open, shell(t, dir, "only-here")); got.Output != "shim\n" || open.Report().Python != filepath.Join(closed, "python3") {
		t.Errorf("%+v, %+v, python3 is %s", got, got.Error, open.Report().Python)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chmod(closed, 0o700); err != nil { // another user's
		t.Fatal(err)
	}
	if got := run(t, open, shell(t, dir, "cat", "SKILL.md")); got.Output != "name" {
		t.Errorf("%+v, %+v", got, got.Error)
	}
}
