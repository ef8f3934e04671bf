package loader_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/loader"
)

// mapped maps a file for writing. The first write through it moves the times of the file, further ones do not until the kernel has
// written it back.
func mapped(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestWriteThatMovesNoStat writes through mappings: it is found by the look that reads everything, and by none before.
func TestWriteThatMovesNoStat(t *testing.T) {
	root := tree(t)
	writeSkill(t, root, "a", good("number 0"))
	write(t, filepath.Join(root, "a/_meta.json"), `{"version":"0"}`)
	text, meta := mapped(t, filepath.Join(root, "a/SKILL.md")), mapped(t, filepath.Join(root, "a/_meta.json"))
	now := time.Now().Add(time.Hour) // so that the stat of a file that was just written counts
	l := loader.New(loader.Options{Rules: rulesFor(root)})
	l.SetClock(func() time.Time { return now })
	number := func(n, m byte) {
		text[bytes.IndexByte(text, 'b')+4] = n // number ?
		meta[bytes.IndexByte(meta, ':')+2] = m
	}
	served := func() string {
		s := only(t, load(t, l, pannier.Batch{Full: true}))
		return s.Description + " " + s.Version
	}
	number('1', '1')
	if got := served(); got != "number 1 1" {
		t.Fatalf("served %q", got)
	}
	before := statsIn(t, root)
	number('2', '2')
	if statsIn(t, root) != before {
		t.Skip("the kernel has written the file back meanwhile")
	}
	now = now.Add(4 * time.Minute)
	if got := served(); got != "number 1 1" {
		t.Errorf("served %q, although nothing tells of it", got)
	}
	for _, n := range []string{"3 3", "3 4", "5 4", "6 6"} { // each of the two alone, too
		number(n[0], n[2])
		now = now.Add(5 * time.Minute)
		if got, want := served(), "number "+n; got != want {
			t.Errorf("served %q, want %q", got, want)
		}
	}
}

// statsIn returns the times of the files of skill a.
func statsIn(t *testing.T, root string) (times [2]time.Time) {
	t.Helper()
	for i, name := range []string{"SKILL.md", "_meta.json"} {
		info, err := os.Stat(filepath.Join(root, "a", name))
		if err != nil {
			t.Fatal(err)
		}
		times[i] = info.ModTime()
	}
	return times
}
