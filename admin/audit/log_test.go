package audit_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin/audit"
	"pannier/internal/testbench/faults"
)

// each runs a test on a log on disk and on one in memory.
func each(t *testing.T, test func(*testing.T, *audit.Log)) {
	t.Run("disk", func(t *testing.T) { test(t, open(t, audit.Options{Dir: filepath.Join(t.TempDir(), "audit")})) })
	t.Run("memory", func(t *testing.T) { test(t, open(t, audit.Options{})) })
}

func TestAppend(t *testing.T) {
	each(t, func(t *testing.T, l *audit.Log) {
		before := time.Now()
		var stored []pannier.AuditEntry
		for n := range 3 {
			e := entry(n)
			e.Seq, e.Time, e.Previous = 77, time.Time{}, pannier.DigestOf([]byte("mine"))
			if n == 2 {
				e.Detail, e.Phase, e.Intent, e.Error, e.SnapshotVersion = nil, pannier.AuditOutcome, 2, "no", 9
			}
			got, err := l.Append(e)
			if err != nil {
				t.Fatal(err)
			}
			stored = append([]pannier.AuditEntry{got}, stored...)
		}
		entries, err := l.Newest("", 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, entries); diff != "" {
			t.Errorf("stored and read (-want +got):\n%s", diff)
		}
		if e := entries[2]; e.Seq != 1 || !e.Previous.IsZero() || e.Time.Before(before) || e.Time.Location() != time.UTC {
			t.Errorf("the first is %+v", e)
		}
		if want := `{"\u003c\u0026\u003e":"\u0000\n","n":0}`; detail(t, entries[2]) != want {
			t.Errorf("detail %s", entries[2].Detail)
		}
		if entries[0].Detail != nil || entries[0].Intent != 2 || entries[0].Previous.IsZero() {
			t.Errorf("the last is %+v", entries[0])
		}
	})
}

func TestNewest(t *testing.T) {
	each(t, func(t *testing.T, l *audit.Log) {
		if got := seqs(t, l, "", 5); got != nil {
			t.Errorf("of nothing: %d", got)
		}
		add(t, l, 1, 10)
		for _, tt := range []struct {
			slug  string
			limit int
			want  []uint64
		}{
			{"", 3, []uint64{10, 9, 8}},
			{"", 0, nil},
			{"", -1, nil},
			{"skill-1", 2, []uint64{10, 7}},
			{"skill-2", 100, []uint64{8, 5, 2}},
			{"skill", 100, nil},
		} {
			if got := seqs(t, l, tt.slug, tt.limit); !slices.Equal(got, tt.want) {
				t.Errorf("%q, %d: got %d, want %d", tt.slug, tt.limit, got, tt.want)
			}
		}
	})
}

func TestAppendErrors(t *testing.T) {
	each(t, func(t *testing.T, l *audit.Log) {
		add(t, l, 1, 1)
		for name, detail := range map[string]any{"function": func() {}, "number": math.NaN(), "large": strings.Repeat("x", audit.MaxLine)} {
			if _, err := l.Append(pannier.AuditEntry{Detail: detail}); !errors.Is(err, pannier.ErrNotAudited) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if e, err := l.Append(pannier.AuditEntry{Detail: strings.Repeat("x", audit.MaxLine-500)}); err != nil || e.Seq != 2 {
			t.Errorf("nearly too large: %d, %v", e.Seq, err)
		}
		add(t, l, 3, 3)
		has(t, l, 1, 3)
		closes(t, l)
		closes(t, l)
		fails(t, l, audit.ErrClosed)
		has(t, l, 1, 3)
	})
}

func TestMemoryIsBounded(t *testing.T) {
	l := open(t, audit.Options{MaxBytes: 2 << 10})
	add(t, l, 1, 100)
	got := seqs(t, l, "", 1000)
	if len(got) < 3 || len(got) > 20 || got[0] != 100 {
		t.Errorf("kept %d", got)
	}
}

func TestRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	o := audit.Options{Dir: dir, MaxBytes: 2 << 10, MaxFiles: 3}
	for part := range uint64(10) {
		l := open(t, o)
		add(t, l, part*10+1, part*10+10)
		paths := faults.Segments(t, dir)
		first := faults.Number(t, paths[0])
		if len(paths) > 3 {
			t.Fatalf("%q", paths)
		}
		has(t, l, first, part*10+10)
		verified(t, dir, int(part*10+10-first+1))
		closes(t, l)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700, faults.Segments(t, dir)[0]: 0o600, faults.Segments(t, dir)[2]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for _, path := range faults.Segments(t, dir) {
		if text := faults.Read(t, path); len(text) > 2<<10 {
			t.Errorf("%s has %d bytes", path, len(text))
		}
	}
	o.MaxFiles = 1
	l := open(t, o)
	add(t, l, 101, 101)
	if got := faults.Segments(t, dir); len(got) != 1 {
		t.Errorf("left %q", got)
	}
}

func TestLinesLongerThanAFile(t *testing.T) {
	dir := t.TempDir()
	l := open(t, audit.Options{Dir: dir, MaxBytes: 10})
	add(t, l, 1, 4)
	has(t, l, 1, 4)
	verified(t, dir, 4)
	if got := faults.Segments(t, dir); len(got) != 4 {
		t.Errorf("%q", got)
	}
}

// Readers and writers meet while files come and go.
func TestManyCallers(t *testing.T) {
	dir := t.TempDir()
	l := open(t, audit.Options{Dir: dir, MaxBytes: 4 << 10, MaxFiles: 2})
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for n := range 25 {
				if _, err := l.Append(entry(c)); err != nil {
					t.Error(err)
				}
				got := seqs(t, l, "", 5)
				if !slices.IsSortedFunc(got, func(a, b uint64) int { return int(b) - int(a) }) || len(got) == 0 || n > 5 && len(got) < 5 {
					t.Errorf("read %d", got)
				}
				if _, err := audit.Verify(dir, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if got := seqs(t, l, "", 1); !slices.Equal(got, []uint64{200}) {
		t.Errorf("the newest is %d", got)
	}
}

func TestKill(t *testing.T) {
	dir, last := filepath.Join(t.TempDir(), "audit"), uint64(0)
	for range 3 {
		said := faults.Kill(t, dirVariable+"="+dir, last, 60)
		l := open(t, audit.Options{Dir: dir})
		if last = seqs(t, l, "", 1)[0]; last < said || last > said+1 {
			t.Fatalf("%d entries were appended, %d are there", said, last)
		}
		closes(t, l)
		if _, err := audit.Verify(dir, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README", "1.jsonl", "00000000000000000000.jsonl", "99999999999999999999.jsonl", "00000000000000000001.json"} {
		faults.Write(t, filepath.Join(dir, name), []byte("text"))
	}
	l := open(t, audit.Options{Dir: dir, MaxFiles: 1, MaxBytes: 1})
	add(t, l, 1, 3)
	has(t, l, 3, 3)
	if all, err := os.ReadDir(dir); err != nil || len(all) != 6 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	faults.Write(t, file, nil)
	if _, err := audit.Open(audit.Options{Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as the directory: %v", err)
	}
	if _, err := audit.Verify(file, nil); err == nil {
		t.Error("a file is verified")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "00000000000000000001.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Open(audit.Options{Dir: dir}); err == nil {
		t.Error("a directory as a file of the log")
	}
	verified(t, filepath.Join(dir, "missing"), 0)
}

func BenchmarkNewest(b *testing.B) {
	dir := b.TempDir()
	var text bytes.Buffer
	for n := range 20_000 {
		text.WriteString(`{"seq":` + strconv.Itoa(n+1) + `,"time":"2026-01-02T03:04:05Z","phase":"intent","action":"policy.set","actor":{"kind":"socket"},"slug":"a"}` + "\n")
	}
	faults.Write(b, filepath.Join(dir, "00000000000000000001.jsonl"), text.Bytes())
	l := open(b, audit.Options{Dir: dir})
	for name, slug := range map[string]string{"any": "", "none": "b"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Newest(slug, 0, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestEarlierFormat reads the log of an earlier version and continues it.
func TestEarlierFormat(t *testing.T) {
	dir := filepath.Join(faults.Copy(t, "testdata/state"), "audit")
	verified(t, dir, 10)
	l := open(t, audit.Options{Dir: dir})
	if entries, err := l.Newest("csv-report", 0, 9); err != nil || len(entries) != 4 || entries[3].Action != pannier.ActionSetPolicy {
		t.Errorf("%+v, %v", entries, err)
	}
	add(t, l, 11, 12)
	has(t, l, 1, 12)
	verified(t, dir, 12)
	if l.Broken() != "" {
		t.Error(l.Broken())
	}
}
