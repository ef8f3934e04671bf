package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTooFewDescriptors starts a sidecar that could not open enough files to answer.
func TestTooFewDescriptors(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `ulimit -n 16; exec "$@"`, "sh", binary, "run", "--workspace", newWorkspace(t), "--state-dir", "none",
		"--socket", filepath.Join(shortDir(t), "s"), "--platform-url", "off")
	cmd.Env = cleanEnviron()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUnknown || !strings.Contains(string(out), "the process may open 16 files") || !strings.Contains(string(out), "hint: raise") {
		t.Errorf("%v\n%s", err, out)
	}
}
