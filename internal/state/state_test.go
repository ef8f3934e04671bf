package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier/internal/state"
)

// each runs a test on a store on disk and on one in memory: nobody may tell them apart.
func each(t *testing.T, test func(*testing.T, *state.Store)) {
	t.Run("disk", func(t *testing.T) { test(t, open(t, t.TempDir())) })
	t.Run("memory", func(t *testing.T) { test(t, state.Memory()) })
}

func list(t *testing.T, s *state.Store, bucket string) []string {
	t.Helper()
	all, err := s.All(bucket)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for key, raw := range all {
		got = append(got, key+"="+string(raw))
	}
	return got
}

func TestStore(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		type point struct{ X, Y int }
		var p point
		if found, err := s.Get("points", "a", &p); found || err != nil {
			t.Errorf("of nothing: %v, %v", found, err)
		}
		put(t, s, "points", "b", point{3, 4})
		put(t, s, "points", "a", point{1, 2})
		put(t, s, "points", "B", nil)
		put(t, s, "other", "a", "text")
		holds(t, s, "points", "b", point{3, 4})
		holds(t, s, "other", "a", "text")
		want := []string{`B=null`, `a={"X":1,"Y":2}`, `b={"X":3,"Y":4}`}
		if diff := cmp.Diff(want, list(t, s, "points")); diff != "" {
			t.Errorf("points (-want +got):\n%s", diff)
		}
		put(t, s, "points", "a", point{5, 6})
		holds(t, s, "points", "a", point{5, 6})
		for range 2 {
			if err := s.Delete("points", "a"); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff(want[:1], list(t, s, "points")[:1]); diff != "" || len(list(t, s, "nothing")) > 0 {
			t.Errorf("after deleting (-want +got):\n%s", diff)
		}
		if found, err := s.Get("points", "a", &p); found || err != nil {
			t.Errorf("of what was deleted: %v, %v", found, err)
		}
		if s.Recovered() != "" {
			t.Errorf("recovered from %q", s.Recovered())
		}
	})
}

func TestErrors(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		put(t, s, "b", "k", "text")
		long := strings.Repeat("x", 40_000)
		for _, f := range []func() error{
			func() error { return s.Put("", "k", 1) },
			func() error { return s.Put("b", "", 1) },
			func() error { return s.Put("b", long, 1) },
			func() error { return s.Put(long, "k", 1) },
			func() error { return s.Put("b", "k", math.NaN()) },
			func() error { return s.Put("b", "k", func() {}) },
		} {
			if err := f(); err == nil {
				t.Error("no error")
			}
		}
		var number int
		if found, err := s.Get("b", "k", &number); !found || err == nil || !strings.HasPrefix(err.Error(), "get b/k: ") {
			t.Errorf("a text as a number: %v, %v", found, err)
		}
		if found, err := s.Get("", "", &number); found || err != nil {
			t.Errorf("without a name: %v, %v", found, err)
		}
		if err := s.Delete("", ""); err != nil {
			t.Errorf("deleting without a name: %v", err)
		}
		holds(t, s, "b", "k", "text")
	})
}

func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		put(t, s, "b", "k", 1)
		all, err := s.All("b")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		for key, raw := range all {
			if key != "k" || string(raw) != "1" {
				t.Errorf("a list from before is %s=%s", key, raw)
			}
		}
		var value int
		_, get := s.Get("b", "k", &value)
		_, list := s.All("b")
		for verb, err := range map[string]error{
			"get": get, "list": list, "put": s.Put("b", "k", 2), "put without a name": s.Put("", "", 2), "delete": s.Delete("b", "k"),
		} {
			if !errors.Is(err, state.ErrClosed) {
				t.Errorf("%s: %v", verb, err)
			}
		}
	})
}

// A list is there to be acted upon.
func TestWritingWhileListing(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		for n := range 100 {
			put(t, s, "b", fmt.Sprintf("%03d", n), strings.Repeat("x", 1000))
		}
		all, err := s.All("b")
		if err != nil {
			t.Fatal(err)
		}
		for key, raw := range all {
			clear(raw)
			if key == "090" {
				break
			}
			put(t, s, "b", key+"+", strings.Repeat("y", 10_000))
			if err := s.Delete("b", key); err != nil {
				t.Fatal(err)
			}
		}
		if got := list(t, s, "b"); len(got) != 100 || !strings.HasPrefix(got[99], `099="xxx`) {
			t.Errorf("%d keys, the last %.20s", len(got), got[len(got)-1])
		}
	})
}

func TestManyCallers(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		var callers sync.WaitGroup
		for c := range 8 {
			callers.Go(func() {
				bucket := fmt.Sprint("own", c%4)
				for n := range 20 {
					key := fmt.Sprint(c)
					err := errors.Join(s.Put(bucket, key, n), s.Put("shared", "key", n), s.Delete("shared", key))
					var got int
					_, get := s.Get(bucket, key, &got)
					_, list := s.All("shared")
					if err := errors.Join(err, get, list); err != nil || got != n {
						t.Errorf("got %d, %v, want %d", got, err, n)
					}
				}
			})
		}
		callers.Wait()
	})
}

func TestClosingUnderCallers(t *testing.T) {
	each(t, func(t *testing.T, s *state.Store) {
		var callers sync.WaitGroup
		for c := range 4 {
			callers.Go(func() {
				var err error
				for n := 0; err == nil; n++ {
					err = s.Put("b", fmt.Sprint(c), n)
				}
				if !errors.Is(err, state.ErrClosed) {
					t.Error(err)
				}
			})
		}
		callers.Go(func() { _ = s.Close() })
		callers.Wait()
	})
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "workspace")
	s := open(t, dir)
	put(t, s, "b", "raw", json.RawMessage(`{"a": 1}`))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got := list(t, s, "b"); len(got) != 1 || got[0] != `raw={"a":1}` {
		t.Errorf("got %q", got)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "state.db"): 0o600, filepath.Join(dir, "state.lock"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}
