package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pannier"
	"pannier/internal/journal"
	"pannier/internal/testbench/faults"
)

func TestKill(t *testing.T) {
	dir, last := t.TempDir(), uint64(0)
	for range 4 {
		said := faults.Kill(t, dirVariable+"="+dir, last, 500)
		j := open(t, journal.Options{Dir: dir, MaxBytes: 1 << 20})
		if last = j.Last(); last < said {
			t.Fatalf("%d events were appended, %d are there", said, last)
		}
		inRange(t, j, j.First(), last)
		closes(t, j)
	}
}

// three returns a directory with one segment of three events, and the length of its first two lines.
func three(t *testing.T) (dir, path string, text []byte, two int) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, journal.Options{Dir: dir})
	add(t, j, 3)
	closes(t, j)
	path = faults.Segments(t, dir)[0]
	text = faults.Read(t, path)
	return dir, path, text, bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
}

func TestTornTail(t *testing.T) {
	dir, path, text, two := three(t)
	for end := two; end < len(text); end++ {
		for _, garbage := range []string{"", "\x00\x00\x00", "{}\n", "\n", "\xff\n\xff"} {
			if garbage == "\n" && end == len(text)-1 {
				continue // that makes it whole again
			}
			faults.Write(t, path, append(bytes.Clone(text[:end]), garbage...))
			j := open(t, journal.Options{Dir: dir})
			inRange(t, j, 1, 2)
			if got := faults.Read(t, path); !bytes.Equal(got, text[:two]) {
				t.Fatalf("cut at %d, with %q: left %q", end, garbage, got[min(two, len(got)):])
			}
			add(t, j, 4)
			closes(t, j)
			j = open(t, journal.Options{Dir: dir})
			inRange(t, j, 1, 4)
			closes(t, j)
		}
	}
}

func TestCorruptMiddle(t *testing.T) {
	dir, path, text, two := three(t)
	one := bytes.IndexByte(text, '\n') + 1
	zeros := strings.Repeat("\x00", two-one)
	for name, test := range map[string]struct {
		middle      string
		first, last uint64
	}{
		"garbage": {"garbage\n", 3, 3}, "nothing": {"", 3, 3}, "first again": {string(text[:one]), 3, 3},
		"two lines": {"garbage\n\n", 3, 3}, "large": {strings.Repeat("x", journal.MaxLine+10) + "\n", 3, 3},
		"another number": {`{"seq":7000}x` + "\n", 3, 3}, "zeros": {zeros + "\n", 3, 3},
		"zeros without an end": {zeros, 1, 1}, // so the last line is a part of them
	} {
		t.Run(name, func(t *testing.T) {
			for _, old := range faults.Segments(t, dir) {
				_ = os.Remove(old)
			}
			faults.Write(t, path, bytes.Join([][]byte{text[:one], []byte(test.middle), text[two:]}, nil))
			j := open(t, journal.Options{Dir: dir})
			inRange(t, j, test.first, test.last)
			add(t, j, 5)
			closes(t, j)
			inRange(t, open(t, journal.Options{Dir: dir}), test.first, 5)
		})
	}
}

// many returns a directory with several segments up to last.
func many(t *testing.T, last uint64) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10})
	add(t, j, last)
	closes(t, j)
	return dir, faults.Segments(t, dir)
}

func TestDamagedSegments(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove, "emptied": func(path string) error { return os.Truncate(path, 0) },
		"shortened": func(path string) error { return os.Truncate(path, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, paths := many(t, 60)
			if err := damage(paths[1]); err != nil {
				t.Fatal(err)
			}
			first := faults.Number(t, paths[2])
			j := open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10})
			inRange(t, j, first, 60)
			add(t, j, 61)
			closes(t, j)
			if got := faults.Segments(t, dir); got[0] != paths[2] {
				t.Errorf("what is before the gap is still there: %q", got)
			}
			inRange(t, open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10}), first, 61)
		})
	}
}

// Damage that a reader finds costs the events up to there, and no reader skips them.
func TestDamageWhileOpen(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove, "shortened": func(path string) error { return os.Truncate(path, 100) },
		"overwritten": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x\n"), 2000), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, paths := many(t, 60)
			j := open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10})
			r := j.Follow(0)
			if err := damage(paths[1]); err != nil {
				t.Fatal(err)
			}
			reads(t, r, 1, faults.Number(t, paths[1])-1)
			tooOld(t, r, faults.Number(t, paths[2]))
			inRange(t, j, faults.Number(t, paths[2]), 60)
			add(t, j, 70)
			inRange(t, j, faults.Number(t, paths[2]), 70)
			for _, path := range faults.Segments(t, dir) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := j.Follow(faults.Number(t, paths[2])).Next(t.Context()); err == nil {
				t.Fatal("an event of a segment that was removed")
			}
			tooOld(t, j.Follow(0), j.First())
			add(t, j, 100)
			inRange(t, j, j.First(), 100)
			closes(t, j)
			j = open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10})
			inRange(t, j, 71, 100)
		})
	}
}

func TestOtherFiles(t *testing.T) {
	dir, paths := many(t, 5)
	for _, name := range []string{"notes.txt", "1.jsonl", "99999999999999999999.jsonl", "00000000000000000000.jsonl", "0000000000000000000x.jsonl"} {
		faults.Write(t, filepath.Join(dir, name), []byte("mine"))
		defer func() {
			if string(faults.Read(t, filepath.Join(dir, name))) != "mine" {
				t.Errorf("%s was changed", name)
			}
		}()
	}
	j := open(t, journal.Options{Dir: dir})
	inRange(t, j, 1, 5)
	add(t, j, 6)
	if n := len(faults.Segments(t, dir)); n != len(paths)+4 {
		t.Errorf("%d files", n)
	}
}

// A segment's name counts even where nothing is in it.
func TestNameHoldsNumbers(t *testing.T) {
	dir, _ := many(t, 5)
	faults.Write(t, filepath.Join(dir, "00000000000000000010.jsonl"), nil)
	for range 2 {
		j := open(t, journal.Options{Dir: dir})
		inRange(t, j, 0, 9)
		tooOld(t, j.Follow(3), 0)
		closes(t, j)
	}
	j := open(t, journal.Options{Dir: dir})
	r := j.Follow(9)
	add(t, j, 12)
	reads(t, r, 10, 12)
	closes(t, j)
	inRange(t, open(t, journal.Options{Dir: dir}), 10, 12)
}

// Whatever lies in the directory, what is kept is one range, and the next number is above it.
func FuzzSegments(f *testing.F) {
	line := func(seq int) string { return `{"seq":` + strconv.Itoa(seq) + `,"data":{}}` + "\n" }
	f.Add([]byte(line(1)+line(2)), []byte(line(3)+line(4)))
	f.Add([]byte(line(1)+"x\n"+line(3)), []byte(line(3)+line(4)+`{"seq":5`))
	f.Add([]byte(line(2)+line(1)+line(9)), []byte(""))
	f.Add([]byte(""), []byte(line(9)+line(7)+"\n\n"))
	f.Add([]byte(`{"SEQ":1,"data":null,"data":3}`+"\n"), []byte(`{"seq":9223372036854775807}`+"\n"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		dir := t.TempDir()
		faults.Write(t, filepath.Join(dir, "00000000000000000001.jsonl"), one)
		faults.Write(t, filepath.Join(dir, "00000000000000000003.jsonl"), two)
		var last uint64
		for range 3 {
			j := open(t, journal.Options{Dir: dir})
			if j.Last() < max(last, 2) {
				t.Fatalf("numbers went back from %d to %d", last, j.Last())
			}
			last = j.Last()
			if first := j.First(); first > 0 {
				r := j.Follow(first - 1)
				for seq := first; seq <= last && seq-first < 1000; seq++ {
					if e, err := r.Next(t.Context()); err != nil || e.Seq != seq {
						t.Fatalf("got %d, %v, want %d", e.Seq, err, seq)
					}
				}
			}
			if last < 1<<62 {
				e, err := j.Append(pannier.Event{})
				if err != nil || e.Seq != last+1 {
					t.Fatalf("appended %d, %v, after %d", e.Seq, err, last)
				}
				last = e.Seq
			}
			closes(t, j)
		}
	})
}

// TestEarlierFormat reads the journal of an earlier version and continues it.
func TestEarlierFormat(t *testing.T) {
	dir := filepath.Join(faults.Copy(t, "testdata/state"), "journal")
	for last := uint64(19); last < 22; last++ {
		j := open(t, journal.Options{Dir: dir})
		if j.First() != 1 || j.Last() != last {
			t.Fatalf("the journal has %d to %d", j.First(), j.Last())
		}
		r := j.Follow(0)
		for seq := uint64(1); seq <= last; seq++ {
			if e, err := r.Next(t.Context()); err != nil || e.Seq != seq || seq == 1 && e.Type != pannier.EventCatalogUpdated {
				t.Fatalf("event %d: %+v, %v", seq, e, err)
			}
		}
		add(t, j, last+1)
		closes(t, j)
	}
}
