package state_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"pannier/internal/state"
)

// The test binary plays another process where these are set.
const (
	roleVariable = "PANNIER_STATE_ROLE"
	dirVariable  = "PANNIER_STATE_DIR"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		play(role, os.Getenv(dirVariable))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// play holds a store open, and in the role of the writer puts numbers and says which are put, until it is killed.
func play(role, dir string) {
	s, err := state.Open(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	for n := 1; role == "writer"; n++ {
		if err := s.Put("numbers", "newest", n); err != nil {
			os.Exit(1)
		}
		fmt.Println(n)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent kills it, or is gone itself
}

// other is another process with a store in dir. It is killed at the end of the test.
func other(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	_, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err = errors.Join(err, err2); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the other process says %q", lines.Text())
	}
	return cmd, lines
}

func open(t *testing.T, dir string) *state.Store {
	t.Helper()
	s, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t *testing.T, s *state.Store, bucket, key string, value any) {
	t.Helper()
	if err := s.Put(bucket, key, value); err != nil {
		t.Fatal(err)
	}
}

// holds fails the test where s does not hold want.
func holds[T comparable](t *testing.T, s *state.Store, bucket, key string, want T) {
	t.Helper()
	var got T
	if found, err := s.Get(bucket, key, &got); err != nil || !found || got != want {
		t.Errorf("%s/%s: got %v, %v, %v, want %v", bucket, key, got, found, err, want)
	}
}
