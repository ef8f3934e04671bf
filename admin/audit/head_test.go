package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pannier"
	"pannier/admin/audit"
	"pannier/internal/testbench/faults"
)

// TestManipulations changes a log of three files in ways that an attacker with the directory would, and expects that
// both verification and the next start notice.
func TestManipulations(t *testing.T) {
	lines := func(t *testing.T, path string) []string {
		return strings.SplitAfter(strings.TrimSuffix(string(faults.Read(t, path)), "\n"), "\n")
	}
	for name, change := range map[string]func(t *testing.T, dir string, paths []string){
		"newest line removed": func(t *testing.T, _ string, p []string) {
			l := lines(t, p[2])
			faults.Write(t, p[2], []byte(strings.Join(l[:len(l)-1], "")))
		},
		"all but the first line removed": func(t *testing.T, _ string, p []string) {
			faults.Write(t, p[0], []byte(lines(t, p[0])[0]))
			_, _ = os.Remove(p[1]), os.Remove(p[2])
		},
		"newest file emptied": func(t *testing.T, _ string, p []string) { faults.Write(t, p[2], nil) },
		"newest file removed": func(t *testing.T, _ string, p []string) { _ = os.Remove(p[2]) },
		"directory removed":   func(t *testing.T, dir string, _ []string) { _ = os.RemoveAll(dir) },
		"all files emptied": func(t *testing.T, _ string, p []string) {
			for _, path := range p {
				faults.Write(t, path, nil)
			}
		},
		"oldest file removed": func(t *testing.T, _ string, p []string) { _ = os.Remove(p[0]) },
		"newest line edited": func(t *testing.T, _ string, p []string) {
			text := string(faults.Read(t, p[2]))
			i := strings.LastIndex(text, `"uid":1000`)
			faults.Write(t, p[2], []byte(text[:i]+`"uid":1001`+text[i+10:]))
		},
		"newest line replaced by garbage": func(t *testing.T, _ string, p []string) {
			l := lines(t, p[2])
			faults.Write(t, p[2], []byte(strings.Join(l[:len(l)-1], "")+"{}\n"))
		},
		"head damaged":               func(t *testing.T, dir string, _ []string) { faults.Write(t, dir+".head", []byte(`{"seq":`)) },
		"head emptied":               func(t *testing.T, dir string, _ []string) { faults.Write(t, dir+".head", nil) },
		"head replaced by a FIFO":    func(_ *testing.T, dir string, _ []string) { _ = syscall.Mkfifo(remove(dir+".head"), 0o600) },
		"head replaced by directory": func(_ *testing.T, dir string, _ []string) { _ = os.Mkdir(remove(dir+".head"), 0o700) },
		"head of another log": func(t *testing.T, dir string, _ []string) {
			other, _ := many(t, 30)
			faults.Write(t, dir+".head", faults.Read(t, other+".head"))
		},
		"whole log of somewhere else": func(t *testing.T, dir string, _ []string) { replaceLog(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, paths := many(t, 30)
			if len(paths) < 3 {
				t.Fatalf("only %d files", len(paths))
			}
			paths = []string{paths[0], paths[1], paths[len(paths)-1]}
			change(t, dir, paths)
			if _, err := audit.Verify(dir, nil); !breaks(err) {
				t.Errorf("verification says %v", err)
			}
			l := open(t, audit.Options{Dir: dir})
			reason := l.Broken()
			if reason == "" {
				t.Fatal("the start does not notice")
			}
			want := uint64(32) // after 30 entries and the one that records the break
			if name == "whole log of somewhere else" {
				want = 42
			}
			if e, err := l.Append(entry(0)); err != nil || e.Seq != want {
				t.Fatalf("appended %d, %v, want %d", e.Seq, err, want)
			}
			closes(t, l)
			l = open(t, audit.Options{Dir: dir})
			if l.Broken() != reason {
				t.Errorf("after a restart: %q, before %q", l.Broken(), reason)
			}
			if _, err := audit.Verify(dir, nil); !breaks(err) {
				t.Errorf("verification says %v after the next entry", err)
			}
			l.Acknowledge()
			if _, err := l.Append(entry(1)); err != nil || l.Broken() != "" {
				t.Errorf("after the acknowledgement: %q, %v", l.Broken(), err)
			}
			recorded := 0
			entries, err := l.Newest("", 0, 100)
			for _, e := range entries {
				if e.Action == pannier.ActionAuditBroken && e.Error == reason {
					recorded++
				}
			}
			if recorded != 1 || err != nil {
				t.Errorf("%d entries record the break, %v", recorded, err)
			}
			closes(t, l)
			if l = open(t, audit.Options{Dir: dir}); l.Broken() != "" {
				t.Errorf("after the acknowledgement and a restart: %q", l.Broken())
			}
		})
	}
}

func breaks(err error) bool {
	_, broken := errors.AsType[*audit.BreakError](err)
	return broken
}

// remove removes a file and returns its path.
func remove(path string) string {
	_ = os.Remove(path)
	return path
}

// replaceLog puts a log with a whole chain of its own in the place of another, without its head.
func replaceLog(t *testing.T, dir string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "audit")
	l := open(t, audit.Options{Dir: other, MaxBytes: 2 << 10})
	for n := range 40 {
		if _, err := l.Append(entry(n + 7)); err != nil {
			t.Fatal(err)
		}
	}
	closes(t, l)
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(other))); err != nil {
		t.Fatal(err)
	}
}

// TestAcknowledgedLogVerifies shows that a log whose break was recorded and acknowledged verifies again.
func TestAcknowledgedLogVerifies(t *testing.T) {
	dir, paths := many(t, 30)
	text := faults.Read(t, paths[len(paths)-1])
	faults.Write(t, paths[len(paths)-1], text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1])
	l := open(t, audit.Options{Dir: dir})
	l.Acknowledge()
	if e, err := l.Append(entry(0)); err != nil || e.Seq != 32 {
		t.Fatalf("%d, %v", e.Seq, err)
	}
	if report, err := audit.Verify(dir, nil); err != nil || report.Entries != 31 || report.Recorded != 1 || report.Newest.Seq != 32 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestCrashBeforeHead restores the head of an earlier entry, as a crash or a power cut between line and head leaves it.
func TestCrashBeforeHead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	o := audit.Options{Dir: dir, MaxBytes: 2 << 10, MaxFiles: 3}
	l := open(t, o)
	add(t, l, 1, 40)
	var heads [][]byte
	for seq := uint64(41); seq <= 70; seq++ { // over several rotations
		heads = append(heads, faults.Read(t, dir+".head"))
		add(t, l, seq, seq)
	}
	closes(t, l)
	for back := 1; back <= 8; back++ {
		if oldest := faults.Segments(t, dir)[0]; !bytes.Contains(heads[len(heads)-back], fmt.Appendf(nil, `"first":%d,`, faults.Number(t, oldest))) {
			break // the head is made durable before a file is removed
		}
		faults.Write(t, dir+".head", heads[len(heads)-back])
		report, err := audit.Verify(dir, nil)
		if err != nil || report.Newest.Seq != 70 {
			t.Errorf("%d entries ahead of the head: %+v, %v", back, report, err)
		}
		l := open(t, o)
		if l.Broken() != "" {
			t.Errorf("%d entries ahead of the head: %s", back, l.Broken())
		}
		closes(t, l)
	}
}

// TestNoHead takes over a log of a version that wrote none.
func TestNoHead(t *testing.T) {
	dir, _ := many(t, 12)
	remove(dir + ".head")
	if report, err := audit.Verify(dir, nil); err != nil || !report.Headless || report.Entries != 12 {
		t.Errorf("%+v, %v", report, err)
	}
	l := open(t, audit.Options{Dir: dir})
	if l.Broken() != "" {
		t.Error(l.Broken())
	}
	add(t, l, 13, 13)
	if report, err := audit.Verify(dir, nil); err != nil || report.Headless || report.Entries != 13 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestExpect(t *testing.T) {
	dir, paths := many(t, 30)
	all, err := audit.Verify(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	point, err := audit.ParsePoint(all.Newest.String())
	if err != nil || point != all.Newest {
		t.Fatalf("%v, %v", point, err)
	}
	later := audit.Point{Seq: 31, Digest: point.Digest}
	other := audit.Point{Seq: 30, Digest: pannier.DigestOf(nil)}
	if _, err := audit.Verify(dir, &point); err != nil {
		t.Error(err)
	}
	for _, p := range []audit.Point{later, other} {
		if _, err := audit.Verify(dir, &p); !breaks(err) {
			t.Errorf("%v: %v", p, err)
		}
	}
	var first pannier.AuditEntry
	if err := json.Unmarshal([]byte(strings.SplitN(string(faults.Read(t, paths[0])), "\n", 2)[0]), &first); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(paths[0]), os.Remove(dir+".head")); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Verify(dir, &audit.Point{Seq: first.Seq, Digest: point.Digest}); !errors.Is(err, audit.ErrNotKept) {
		t.Error(err)
	}
	for _, text := range []string{"", "1", "1:", ":sha256:00", "0:" + point.Digest.String(), "x:" + point.Digest.String(), point.String() + " ", "01:" + point.Digest.String(), "1:sha256:00"} {
		if _, err := audit.ParsePoint(text); err == nil {
			t.Errorf("%q is a point", text)
		}
	}
}

// TestReadersDoNotWait reads while a write does not come back from the disk.
func TestReadersDoNotWait(t *testing.T) {
	hang, hanging := make(chan struct{}), make(chan struct{})
	disk, syncs := &faults.Disk{}, 0
	disk.BeforeSync = func() {
		if syncs++; syncs == 2 {
			close(hanging)
			<-hang
		}
	}
	l, err := audit.OpenWith(audit.Options{Dir: t.TempDir()}, disk.Open)
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, 1, 1)
	done := make(chan error, 1)
	go func() {
		_, err := l.Append(entry(2))
		done <- err
	}()
	<-hanging
	has(t, l, 1, 1)
	if l.Broken() != "" {
		t.Error(l.Broken())
	}
	close(hang)
	if err := <-done; err != nil {
		t.Error(err)
	}
	has(t, l, 1, 2)
	closes(t, l)
}
