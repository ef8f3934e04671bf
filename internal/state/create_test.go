package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFreshStoreBeforeItsCreation uses a store whose database does not exist yet, as while a disk does not answer:
// reading finds nothing, and only a write creates it.
func TestFreshStoreBeforeItsCreation(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{engine: &disk{path: filepath.Join(dir, databaseName), lock: lock}}
	var got int
	if found, err := s.Get("b", "k", &got); found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
	if rows, err := s.All("b"); err != nil {
		t.Error(err)
	} else {
		for key := range rows {
			t.Errorf("found %s", key)
		}
	}
	if err := errors.Join(s.Delete("b", "k"), s.InPlace()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, databaseName)); err == nil {
		t.Error("reading created a database")
	}
	if err := s.Put("b", "k", 7); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Get("b", "k", &got); !found || err != nil || got != 7 {
		t.Errorf("found %t, %d, %v", found, got, err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := s.Put("b", "k", 8); !errors.Is(err, ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

// TestFreshStoreThatIsGone creates no database in a directory that took the place of its own.
func TestFreshStoreThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := lockFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{engine: &disk{path: filepath.Join(dir, databaseName), lock: lock}}
	if err := errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := s.Put("b", "k", 7); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, databaseName)); err == nil {
		t.Error("there is a database")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
