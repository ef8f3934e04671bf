package oracle_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pannier/internal/testbench/oracle"
)

// binary is the built program that the oracle is held against, and holds.
var binary string

func TestMain(m *testing.M) {
	os.Exit(withBinary(m.Run))
}

func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "pannier")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "pannier/cmd/pannier")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return run()
}

// listed returns what the binary lists of a workspace that nobody serves.
func listed(t *testing.T, workspace string) oracle.List {
	t.Helper()
	cmd := exec.Command(binary, "list", "--json", "--workspace", workspace, "--socket", filepath.Join(t.TempDir(), "none"))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("list: %v\n%s", err, &complaint)
	}
	list, err := oracle.ReadList(&out)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// lay runs a script in the skills/ of a new workspace, and returns the workspace.
func lay(t *testing.T, script string) string {
	t.Helper()
	workspace := t.TempDir()
	skills := filepath.Join(workspace, "skills")
	if err := os.Mkdir(skills, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, skills, script)
	return workspace
}

func run(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", "skill() { mkdir -p \"$1\"; printf -- '---\\nname: x\\ndescription: Does it.\\n---\\nDo it.\\n' > \"$1/${2:-SKILL.md}\"; }\n"+script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("script: %v\n%s", err, out)
	}
}
