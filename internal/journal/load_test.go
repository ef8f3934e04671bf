package journal_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pannier"
	"pannier/internal/journal"
)

func TestKill(t *testing.T) {
	dir, last := t.TempDir(), uint64(0)
	for range 4 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), dirVariable+"="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said, begin := last, last
		for lines := bufio.NewScanner(out); lines.Scan(); {
			seq, err := strconv.ParseUint(lines.Text(), 10, 64)
			if err != nil || seq != said+1 {
				t.Fatalf("the process appended %q after %d", lines.Text(), said)
			}
			if said = seq; said == begin+500 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		j := open(t, journal.Options{Dir: dir, MaxBytes: 1 << 20})
		if last = j.Last(); last < said || said < begin+500 {
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
	path = segments(t, dir)[0]
	text = read(t, path)
	return dir, path, text, bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
}

func TestTornTail(t *testing.T) {
	dir, path, text, two := three(t)
	for end := two; end < len(text); end++ {
		for _, garbage := range []string{"", "\x00\x00\x00", "{}\n", "\n", "\xff\n\xff"} {
			if garbage == "\n" && end == len(text)-1 {
				continue // that makes it whole again
			}
			write(t, path, append(bytes.Clone(text[:end]), garbage...))
			j := open(t, journal.Options{Dir: dir})
			inRange(t, j, 1, 2)
			if got := read(t, path); !bytes.Equal(got, text[:two]) {
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
			for _, old := range segments(t, dir) {
				_ = os.Remove(old)
			}
			write(t, path, bytes.Join([][]byte{text[:one], []byte(test.middle), text[two:]}, nil))
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
	return dir, segments(t, dir)
}

func firstOf(t *testing.T, path string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".jsonl"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
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
			first := firstOf(t, paths[2])
			j := open(t, journal.Options{Dir: dir, MaxBytes: 16 << 10})
			inRange(t, j, first, 60)
			add(t, j, 61)
			closes(t, j)
			if got := segments(t, dir); got[0] != paths[2] {
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
			reads(t, r, 1, firstOf(t, paths[1])-1)
			tooOld(t, r, firstOf(t, paths[2]))
			inRange(t, j, firstOf(t, paths[2]), 60)
			add(t, j, 70)
			inRange(t, j, firstOf(t, paths[2]), 70)
			for _, path := range segments(t, dir) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := j.Follow(firstOf(t, paths[2])).Next(t.Context()); err == nil {
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
		write(t, filepath.Join(dir, name), []byte("mine"))
		defer func() {
			if string(read(t, filepath.Join(dir, name))) != "mine" {
				t.Errorf("%s was changed", name)
			}
		}()
	}
	j := open(t, journal.Options{Dir: dir})
	inRange(t, j, 1, 5)
	add(t, j, 6)
	if n := len(segments(t, dir)); n != len(paths)+4 {
		t.Errorf("%d files", n)
	}
}

// A segment's name counts even where nothing is in it.
func TestNameHoldsNumbers(t *testing.T) {
	dir, _ := many(t, 5)
	write(t, filepath.Join(dir, "00000000000000000010.jsonl"), nil)
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
		write(t, filepath.Join(dir, "00000000000000000001.jsonl"), one)
		write(t, filepath.Join(dir, "00000000000000000003.jsonl"), two)
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
