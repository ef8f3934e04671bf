package audit_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier/admin/audit"
	"pannier/internal/testbench/faults"
)

func TestVerify(t *testing.T) {
	whole, _ := many(t, 30)
	for name, test := range map[string]struct {
		change func(lines []string) []string
		line   int // of the second file, where the break is; 0 is the last of the first file
	}{
		"changed":            {func(l []string) []string { l[2] = strings.Replace(l[2], `"uid":1000`, `"uid":0`, 1); return l }, 3},
		"space":              {func(l []string) []string { l[2] += " "; return l }, 3},
		"taken out":          {func(l []string) []string { return append(l[:2:2], l[3:]...) }, 3},
		"put in":             {func(l []string) []string { return append(l[:2:2], l[1:]...) }, 3},
		"swapped":            {func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }, 2},
		"garbage":            {func(l []string) []string { l[2] = "garbage"; return l }, 3},
		"empty":              {func(l []string) []string { l[2] = ""; return l }, 3},
		"long":               {func(l []string) []string { l[2] = strings.Repeat("x", audit.MaxLine); return l }, 3},
		"first taken out":    {func(l []string) []string { return l[1:] }, 1},
		"last taken out":     {func(l []string) []string { return l[:len(l)-1] }, -1},
		"previous changed":   {func(l []string) []string { l[2] = strings.Replace(l[2], "sha256:", "sha256:0", 1); return l }, 3},
		"without a previous": {func(l []string) []string { l[0] = l[0][:strings.Index(l[0], `,"previous"`)] + "}"; return l }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			verified(t, dir, 30)
			paths := faults.Segments(t, dir)
			lines := strings.Split(strings.TrimSuffix(string(faults.Read(t, paths[1])), "\n"), "\n")
			faults.Write(t, paths[1], []byte(strings.Join(test.change(lines), "\n")+"\n"))
			file, line := paths[1], test.line
			switch line {
			case 0:
				file, line = paths[0], bytes.Count(faults.Read(t, paths[0]), []byte("\n"))
			case -1:
				file, line = paths[2], 1
			}
			_, err := audit.Verify(dir, nil)
			if b, ok := errors.AsType[*audit.BreakError](err); !ok || b.File != file || b.Line != line {
				t.Errorf("got %v, want %s:%d", err, filepath.Base(file), line)
			}
		})
	}
}

func TestVerifyEnds(t *testing.T) {
	dir, paths := many(t, 30)
	first := bytes.Count(faults.Read(t, paths[0]), []byte("\n"))
	if err := errors.Join(os.Remove(paths[0]), os.Remove(dir+".head")); err != nil {
		t.Fatal(err)
	}
	verified(t, dir, 30-first) // without a head, the oldest file may have been rotated away

	newest := paths[len(paths)-1]
	text := faults.Read(t, newest)
	faults.Write(t, newest, append(text, `{"seq":31`...))
	verified(t, dir, 30-first) // what is being written is none either

	faults.Write(t, paths[1], bytes.TrimSuffix(faults.Read(t, paths[1]), []byte("\n")))
	_, err := audit.Verify(dir, nil)
	if b, ok := errors.AsType[*audit.BreakError](err); !ok || b.File != paths[1] {
		t.Errorf("a file that is torn in the middle of the log: %v", err)
	}

	faults.Write(t, paths[0], []byte(`{"seq":1,"time":"2026-01-02T03:04:05Z","previous":"sha256:`+strings.Repeat("1", 64)+`"}`+"\n"))
	if _, err := audit.Verify(dir, nil); err == nil {
		t.Error("a first entry that is behind another one")
	}
}

// Whatever is in the directory, the log can be opened and goes on, and no whole line is lost.
func FuzzOpen(f *testing.F) {
	_, paths := many(f, 12)
	whole := faults.Read(f, paths[0])
	f.Add(whole, uint64(13))
	f.Add(whole[:len(whole)-7], uint64(2))
	f.Add([]byte("\n\n\x00\n"), uint64(1))
	f.Add([]byte(`{"seq":4611686018427387904}`+"\n"), uint64(1<<62-2))
	f.Add([]byte("{\"seq\":18446744073709551615}\n{}\nx"), uint64(3))
	f.Fuzz(func(t *testing.T, text []byte, name uint64) {
		dir := t.TempDir()
		path := filepath.Join(dir, fileOf(name%(1<<62-1)+1))
		faults.Write(t, path, text)
		o := audit.Options{Dir: dir, Logger: hclog.NewNullLogger()}
		l := open(t, o)
		kept := faults.Read(t, path)
		lost, ok := bytes.CutPrefix(text, kept)
		if !ok || bytes.Count(lost, []byte("\n")) > 1 || bytes.Contains(lost, []byte("\n")) && !bytes.Contains(lost, []byte("\x00")) {
			t.Fatalf("cut off %q", lost)
		}
		var last uint64
		for range 3 {
			e, err := l.Append(entry(0))
			if err != nil || last > 0 && e.Seq != last+1 {
				t.Fatalf("appended %d after %d: %v", e.Seq, last, err)
			}
			last = e.Seq
			closes(t, l)
			l = open(t, o)
		}
		if got := seqs(t, l, "", 2); got[0] != last {
			t.Fatalf("the newest are %d, want %d", got, last)
		}
		_, _ = audit.Verify(dir, nil)
		closes(t, l)
	})
}
