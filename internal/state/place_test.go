package state_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pannier/internal/state"
)

func TestInPlace(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		gone   bool
	}{
		"nothing":             {"true", false},
		"written by others":   {"touch s/state.db s/state.lock; : > s/other", false},
		"deleted":             {"rm -r s", true},
		"database deleted":    {"rm s/state.db", true},
		"lock deleted":        {"rm s/state.lock", true},
		"database replaced":   {"cp s/state.db n; mv n s/state.db", true},
		"lock replaced":       {": > n; mv n s/state.lock", true},
		"moved":               {"mv s t", true},
		"moved and back":      {"mv s t; mv t s", false},
		"moved behind a link": {"mv s t; ln -s t s", false},
		"a copy":              {"mv s t; cp -a t s", true},
		"a file":              {"mv s t; : > s", true},
		"a directory":         {"rm s/state.db; mkdir s/state.db", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, filepath.Join(dir, "s"))
			put(t, s, "b", "k", 1)
			shell(t, dir, tt.script)
			if err := s.InPlace(); errors.Is(err, state.ErrGone) != tt.gone || err != nil != tt.gone {
				t.Errorf("%v, want gone: %v", err, tt.gone)
			}
			put(t, s, "b", "k", 2) // it is the caller who asks
			holds(t, s, "b", "k", 2)
		})
	}
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A broken database that was moved aside is not the one that is asked for.
func TestInPlaceOfWhatIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "state.db"), []byte("this is no database\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if err := s.InPlace(); s.Recovered() == "" || err != nil {
		t.Errorf("recovered %q, %v", s.Recovered(), err)
	}
}

// What is in memory, or closed, is nowhere else.
func TestInPlaceElsewhere(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		if err := s.InPlace(); err != nil {
			t.Error(err)
		}
		if err := errors.Join(s.Close(), s.InPlace()); err != nil {
			t.Errorf("closed: %v", err)
		}
	})
}
