package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pannier/internal/testbench/fixture"
)

// binary is the built program that the end-to-end tests run.
var binary string

func TestMain(m *testing.M) {
	os.Exit(withBinary(m.Run))
}

// withBinary builds the program as a release is built, for as long as the tests run; with the race detector in it where the tests
// have it and are not short, and then a race ends the program, which fails the test.
func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "pannier-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some tests run it as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "pannier")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	fixture.RaiseParallel()
	if detecting && !testing.Short() {
		build.Args = slices.Insert(build.Args, 2, "-race")
		build.Env = os.Environ()
		os.Setenv("GORACE", "halt_on_error=1 atexit_sleep_ms=0")
	}
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return run()
}
