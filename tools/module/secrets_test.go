package module

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pannier/config"
)

// TestReadSecret reads a regular file only: a pipe would hold up the call.
func TestReadSecret(t *testing.T) {
	dir := t.TempDir()
	file, pipe, large := filepath.Join(dir, "file"), filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	err := os.WriteFile(file, []byte("value\r\n"), 0o600)
	if err == nil {
		err = os.WriteFile(large, make([]byte, maxSecretBytes+1), 0o600)
	}
	if err == nil {
		err = syscall.Mkfifo(pipe, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readSecret(config.ToolSecret{Name: "KEY", File: file}); got != "value" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, path := range []string{pipe, large, filepath.Join(dir, "missing")} {
		if got, err := readSecret(config.ToolSecret{Name: "KEY", File: path}); got != "" || err == nil || !strings.Contains(err.Error(), "secret KEY") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
