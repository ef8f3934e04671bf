package policyfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pannier/internal/policyfile"
)

const previous = policyfile.Name + ".previous"

// open opens the file of a directory as a sidecar does. begun counts the first generations.
func open(t *testing.T, dir string, seq *uint64, begun *int) (*policyfile.File, policyfile.Source) {
	t.Helper()
	g, from, _ := policyfile.Load(dir)
	f := policyfile.New(g)
	err := f.Attach(dir, from, func() (uint64, bool) { return *seq, true }, func() { *begun++ })
	if err == nil {
		err = f.Resume(false)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, from
}

func put(t *testing.T, f *policyfile.File, key string, value any) {
	t.Helper()
	if err := f.Put("policy", key, value); err != nil {
		t.Fatal(err)
	}
}

func rows(g policyfile.Generation) string {
	text, _ := json.Marshal(g.Sections["policy"])
	return string(text)
}

func TestGenerations(t *testing.T) {
	dir, seq, begun := t.TempDir(), uint64(4), 0
	f, from := open(t, dir, &seq, &begun)
	if files, _ := os.ReadDir(dir); from != policyfile.Absent || len(files) > 0 {
		t.Errorf("opening wrote %v, from %d", files, from)
	}
	put(t, f, "a", 1)
	if begun != 1 || !f.OnDisk() {
		t.Errorf("begun %d times", begun)
	}
	seq = 9
	put(t, f, "b", 2)
	g, from, err := policyfile.Load(dir)
	if err != nil || from != policyfile.Current || g.Number != 3 || g.AuditSeq != 9 || rows(g) != `{"a":1,"b":2}` {
		t.Errorf("%+v from %d, %v", g, from, err)
	}
	if err := os.WriteFile(filepath.Join(dir, policyfile.Name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	g, from, err = policyfile.Load(dir)
	if err == nil || from != policyfile.Previous || g.Number != 2 || g.AuditSeq != 4 || rows(g) != `{"a":1}` {
		t.Errorf("%+v from %d, %v", g, from, err)
	}
	next, _ := open(t, dir, &seq, &begun)
	put(t, next, "c", 3)
	if damaged, _ := filepath.Glob(filepath.Join(dir, policyfile.Name+".damaged-*")); len(damaged) != 1 || begun != 2 {
		t.Errorf("moved aside %q, begun %d times", damaged, begun)
	}
	if g, from, _ = policyfile.Load(dir); from != policyfile.Current || rows(g) != `{"a":1,"c":3}` {
		t.Errorf("%+v from %d", g, from)
	}
	if err := next.Delete("policy", "a"); err != nil {
		t.Fatal(err)
	}
	if g, _, _ = policyfile.Load(dir); rows(g) != `{"c":3}` {
		t.Errorf("%+v", g)
	}
}

// TestReplaceIsInBothFiles: no audit entry leads from one to the other.
func TestReplaceIsInBothFiles(t *testing.T) {
	dir, seq, begun := t.TempDir(), uint64(1), 0
	f, _ := open(t, dir, &seq, &begun)
	if err := f.Replace("policy", policyfile.Rows{"x": json.RawMessage("true")}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, policyfile.Name)); err != nil {
		t.Fatal(err)
	}
	if g, from, _ := policyfile.Load(dir); from != policyfile.Previous || rows(g) != `{"x":true}` {
		t.Errorf("%+v from %d", g, from)
	}
}

// TestEveryFlippedByteShows changes each byte of a file.
func TestEveryFlippedByteShows(t *testing.T) {
	dir, seq, begun := t.TempDir(), uint64(7), 0
	f, _ := open(t, dir, &seq, &begun)
	put(t, f, "workspace/pdf", map[string]bool{"enabled": false})
	path := filepath.Join(dir, policyfile.Name)
	whole, err := os.ReadFile(path)
	if err != nil || os.Remove(filepath.Join(dir, previous)) != nil {
		t.Fatal(err)
	}
	want, _, _ := policyfile.Load(dir)
	for i := range whole {
		for _, bit := range []byte{1, 0x20, 0x80} {
			text := bytes.Clone(whole)
			text[i] ^= bit
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if g, from, _ := policyfile.Load(dir); from == policyfile.Current && fmt.Sprint(g) != fmt.Sprint(want) {
				t.Fatalf("byte %d is %q and reads %+v", i, text[i], g)
			}
		}
	}
	for n := range whole {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if g, from, err := policyfile.Load(dir); from == policyfile.Current && fmt.Sprint(g) != fmt.Sprint(want) || from != policyfile.Current && err == nil {
			t.Fatalf("%d bytes read %+v from %d", n, g, from)
		}
	}
}

func TestChangesThatFail(t *testing.T) {
	dir, seq, begun := t.TempDir(), uint64(1), 0
	f, _ := open(t, dir, &seq, &begun)
	put(t, f, "a", 1)
	if err := f.Put("policy", "big", strings.Repeat("x", policyfile.MaxBytes)); err == nil || f.Failed() == nil {
		t.Errorf("%v, %v", err, f.Failed())
	}
	var n int
	if found, err := f.Get("policy", "big", &n); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
	put(t, f, "b", 2)
	if f.Failed() != nil {
		t.Error(f.Failed())
	}
}

// TestSuspended keeps changes in memory until they are resumed.
func TestSuspended(t *testing.T) {
	dir := t.TempDir()
	f := policyfile.New(policyfile.Generation{})
	if err := f.Attach(dir, policyfile.Unreadable, func() (uint64, bool) { return 0, false }, nil); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put(t, f, "a", 1)
	if _, from, _ := policyfile.Load(dir); from != policyfile.Absent {
		t.Error("it was written")
	}
	if err := f.Resume(true); err != nil {
		t.Fatal(err)
	}
	if g, from, _ := policyfile.Load(dir); from != policyfile.Current || rows(g) != `{"a":1}` {
		t.Errorf("%+v from %d", g, from)
	}
}
