package fingerprint_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pannier"
	"pannier/loader/fingerprint"
)

// TestChangesWhileRead has each file changed at the moment in which it is open.
func TestChangesWhileRead(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(path string) error
		times  int
		ok     bool
	}{
		"grows once":        {func(path string) error { return os.WriteFile(path, []byte("longer"), 0o600) }, 1, true},
		"shrinks once":      {func(path string) error { return os.Truncate(path, 0) }, 1, true},
		"grows for ever":    {func(path string) error { return appendTo(path) }, 100, false},
		"is gone":           {os.Remove, 1, false},
		"becomes a FIFO":    {func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, 1, false},
		"becomes a link":    {func(path string) error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) }, 1, false},
		"mode changes once": {func(path string) error { return os.Chmod(path, 0o700) }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := open(t, "printf text > SKILL.md")
			left := tt.times
			o := fingerprint.Options{}.WhenOpened(func(path string) {
				if left--; left >= 0 {
					if err := tt.change(filepath.Join(dir, path)); err != nil {
						t.Error(err)
					}
				}
			})
			p, err := fingerprint.Of(t.Context(), root, "skill", o)
			if !tt.ok {
				if !errors.Is(err, pannier.ErrChanged) || !strings.Contains(err.Error(), `"SKILL.md"`) || !p.Digest.IsZero() {
					t.Errorf("%v, %s", err, p.Digest)
				}
				return
			}
			if after := of(t, root, fingerprint.Options{}); err != nil || p.Digest != after.Digest {
				t.Errorf("%v, %s; it is %s", err, p.Digest, after.Digest)
			}
		})
	}
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("more")
	return errors.Join(err, f.Close())
}

// TestTreeThatMoves has files, directories, links and FIFOs take one another's places while there are looks at them.
// Nothing may hang, and nothing outside of the skill may be read.
func TestTreeThatMoves(t *testing.T) {
	root, dir := open(t, "mkdir d; printf 1 > SKILL.md; printf 2 > x; printf 3 > d/y")
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if err := errors.Join(os.Mkdir(outside, 0o700), os.WriteFile(filepath.Join(outside, "y"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	x, d := filepath.Join(dir, "x"), filepath.Join(dir, "d")
	changes := []func(){
		func() { os.RemoveAll(x); syscall.Mkfifo(x, 0o600) },
		func() { os.RemoveAll(x); os.Symlink(x, x) },
		func() { os.RemoveAll(x); os.Mkdir(x, 0o700) },
		func() { os.RemoveAll(d); os.Symlink("../outside", d) },
		func() { os.RemoveAll(x); os.WriteFile(x, []byte("2"), 0o600) },
		func() { os.RemoveAll(d); os.Mkdir(d, 0o700); os.WriteFile(filepath.Join(d, "y"), []byte("3"), 0o600) },
	}
	end := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			default:
				changes[n%len(changes)]()
			}
		}
	})
	leaked := fingerprintWith(t, root, outside)
	var known *fingerprint.Known
	deadline := time.Now().Add(time.Second)
	for time.Now().Before(deadline) {
		p, err := fingerprint.Of(t.Context(), root, "skill", fingerprint.Options{Known: known})
		if p.Digest == leaked && err == nil {
			t.Fatal("what lies outside was read")
		}
		if err == nil == p.Digest.IsZero() {
			t.Fatalf("%v, %s", err, p.Digest)
		}
		known = p.Known
	}
	close(end)
	writer.Wait()
	for _, change := range changes[4:] {
		change()
	}
	if warm, cold := of(t, root, fingerprint.Options{Known: known}), of(t, root, fingerprint.Options{}); warm.Digest != cold.Digest {
		t.Errorf("%s from what is known, %s without", warm.Digest, cold.Digest)
	}
}

// fingerprintWith returns the fingerprint of the skill as it would be with the directory outside in the place of d.
func fingerprintWith(t *testing.T, root *os.Root, outside string) pannier.Digest {
	t.Helper()
	dir := filepath.Join(filepath.Dir(outside), "leaked")
	write(t, filepath.Dir(outside), "mkdir leaked; printf 1 > leaked/SKILL.md; printf 2 > leaked/x; cp -r outside leaked/d; chmod -x leaked/d/y")
	defer os.RemoveAll(dir)
	p, err := fingerprint.Of(t.Context(), root, "leaked", fingerprint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Digest
}

// TestManyAtATime shares what is known.
func TestManyAtATime(t *testing.T) {
	root, _ := open(t, "mkdir d; printf 1 > SKILL.md; printf 2 > d/x")
	o := fingerprint.Options{}.At(time.Now().Add(time.Hour))
	first := of(t, root, o)
	o.Known = first.Known
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			if p, err := fingerprint.Of(t.Context(), root, "skill", o); err != nil || p.Digest != first.Digest || p.Read != 0 {
				t.Errorf("%v, %+v", err, p)
			}
		})
	}
	readers.Wait()
}
