package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestScratchThatIsTooDeep holds too much: no path leads to all of it.
func TestScratchThatIsTooDeep(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { root.Close() }()
	name := strings.Repeat("d", 200)
	for i := range 30 {
		if i == 10 && exceeds(dir, 1<<20) {
			t.Error("a tree that can be listed holds too much")
		}
		next, err := (*os.Root)(nil), root.Mkdir(name, 0o700)
		if err == nil {
			next, err = root.OpenRoot(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		root.Close()
		root = next
	}
	if !exceeds(dir, 1<<20) {
		t.Error("what lies too deep is not noticed")
	}
}
