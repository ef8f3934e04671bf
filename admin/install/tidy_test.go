package install_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pannier"
)

// TestRefusedLeavesNoRoot removes a root that was made for a change that is refused, and keeps one that somebody made.
func TestRefusedLeavesNoRoot(t *testing.T) {
	dir := workspace(t, "")
	s := open(t, optionsFor(dir))
	_, err := put(t.Context(), s, skillOf("it", "1"), pannier.InstallRequest{SourceKind: pannier.SourceManaged}, true)
	refused(t, err, "install.not_found")
	if _, err := os.Lstat(filepath.Join(dir, "managed")); !os.IsNotExist(err) {
		t.Errorf("the root that was made for the change: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "managed"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = put(t.Context(), s, skillOf("it", "1"), pannier.InstallRequest{SourceKind: pannier.SourceManaged}, true)
	refused(t, err, "install.not_found")
	if left, err := os.ReadDir(filepath.Join(dir, "managed")); err != nil || len(left) > 0 {
		t.Errorf("the root that was there: %v, %v", left, err)
	}
}

// TestTidyBesideChanges refuses changes of a root while two other stores, as of two processes, install into it.
func TestTidyBesideChanges(t *testing.T) {
	dir := workspace(t, "")
	for round := range 20 {
		slugs := []string{"a", "b"}
		var all sync.WaitGroup
		for i := range 4 {
			s := open(t, optionsFor(dir))
			all.Go(func() {
				if i >= len(slugs) {
					for range 5 {
						if _, err := put(t.Context(), s, skillOf("none", "1"), pannier.InstallRequest{}, true); err == nil {
							t.Error("an unknown skill was updated")
						}
					}
					return
				}
				if _, err := put(t.Context(), s, skillOf(slugs[i], "1"), pannier.InstallRequest{}, false); err != nil {
					t.Errorf("round %d: install %s: %v", round, slugs[i], err)
				}
			})
		}
		all.Wait()
		s := open(t, optionsFor(dir))
		if entries, err := s.Installed(""); err != nil || len(entries) != len(slugs) {
			t.Fatalf("round %d: installed %+v, %v", round, entries, err)
		}
		clean(t, dir)
		for _, slug := range slugs {
			if err := os.RemoveAll(filepath.Join(dir, "skills", slug)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, "skills/.pannier")); err != nil {
			t.Fatal(err)
		}
	}
}
