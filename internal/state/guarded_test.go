package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// TestGuarded writes what no client asked for into a directory that was moved away, and finds it once that is back.
func TestGuarded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s := NewGuarded(openState(t, dir), hclog.NewNullLogger())
	if err := s.Put("b", "before", 0); err != nil {
		t.Fatal(err)
	}
	move(t, dir, dir+".away")
	if r, ok := errors.AsType[*pannier.Refusal](s.Put("b", "asked", 1)); !ok || r.Code != "state.gone" {
		t.Errorf("what a client asked for: %v", r)
	}
	if err := (Lenient{s}).Put("b", "follows", 2); err != nil {
		t.Error(err)
	}
	move(t, dir+".away", dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openState(t, dir)
	for key, want := range map[string]int{"asked": 0, "follows": 2} {
		var kept int
		if _, err := again.Get("b", key, &kept); err != nil || kept != want {
			t.Errorf("%s: %d is kept, %v", key, kept, err)
		}
	}
}

func openState(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
