package api_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pannier/publish/api"
)

func listen(t *testing.T, path string) *api.Listener {
	t.Helper()
	l, err := api.Listen(t.Context(), path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func dial(path string) error {
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	return err
}

// checkAnswers fails unless who dials the path reaches the listener.
func checkAnswers(t *testing.T, l net.Listener, path string) {
	t.Helper()
	if err := dial(path); err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// checkEmpty fails unless nothing is left beside the socket.
func checkEmpty(t *testing.T, path string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// leaveStale leaves a socket that nobody answers on.
func leaveStale(t *testing.T, path string) {
	t.Helper()
	os.Remove(path)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestListen(t *testing.T) {
	path := filepath.Join(shortDir(t), "a", "b", "s")
	l := listen(t, path)
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v %v", info, err)
	}
	checkAnswers(t, l, path)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	checkEmpty(t, path)
	listen(t, path)
}

func TestListenModes(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o660, 0o666, 0o777, 0, fs.ModeSetuid | 0o640} {
		path := socketPath(t)
		l, err := api.Listen(t.Context(), path, mode)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != fs.ModeSocket|mode.Perm() {
			t.Errorf("%o: %v %v", mode, info.Mode(), err)
		}
		l.Close()
	}
}

func TestListenOnStale(t *testing.T) {
	path := socketPath(t)
	leaveStale(t, path)
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(t, path)
	checkAnswers(t, l, path)
	l.Close()
	checkEmpty(t, path)
}

func TestListenOnLive(t *testing.T) {
	path := socketPath(t)
	first := listen(t, path)
	if _, err := api.Listen(t.Context(), path, 0o600); !errors.Is(err, api.ErrInUse) {
		t.Errorf("second: %v", err)
	}
	checkAnswers(t, first, path)

	foreign := socketPath(t)
	other, err := net.Listen("unix", foreign)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := api.Listen(t.Context(), foreign, 0o600); !errors.Is(err, api.ErrInUse) {
		t.Errorf("on the socket of a program without lock: %v", err)
	}
	if conn, err := other.Accept(); err == nil {
		conn.Close() // the look
	}
	checkAnswers(t, other, foreign)
	if _, err := os.Lstat(foreign + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("who did not get it left its lock: %v", err)
	}
}

// TestListenOnOther leaves what is not a socket as it is.
func TestListenOnOther(t *testing.T) {
	dir := shortDir(t)
	victim := filepath.Join(dir, "victim")
	leaveStale(t, victim)
	for name, lay := range map[string]func(path string) error{
		"file":      func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) },
		"directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"link":      func(path string) error { return os.Symlink(victim, path) },
		"dangling":  func(path string) error { return os.Symlink("nowhere", path) },
	} {
		path := filepath.Join(dir, name)
		if err := lay(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		_, err := api.Listen(t.Context(), path, 0o600)
		if err == nil || errors.Is(err, api.ErrInUse) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		after, err := os.Lstat(path)
		if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() || before.Size() != after.Size() {
			t.Errorf("%s: was %v, is %v (%v)", name, before, after, err)
		}
	}
	if _, err := os.Lstat(victim); err != nil {
		t.Errorf("what the link points to is gone: %v", err)
	}
}

// TestLockIsALink makes nothing where a link in the place of the lock points.
func TestLockIsALink(t *testing.T) {
	path := socketPath(t)
	target := path + ".target"
	if err := os.Symlink(target, path+".lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Listen(t.Context(), path, 0o600); err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target: %v", err)
	}
}

func TestListenPathLength(t *testing.T) {
	dir := shortDir(t) + "/"
	fits := dir + strings.Repeat("s", api.MaxSocketPath-len(dir))
	checkAnswers(t, listen(t, fits), fits)
	if _, err := api.Listen(t.Context(), fits+"s", 0o600); err == nil || !strings.Contains(err.Error(), "108 bytes") {
		t.Errorf("a byte more: %v", err)
	}
}

func TestListenWithoutDirectory(t *testing.T) {
	file := filepath.Join(shortDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Listen(t.Context(), filepath.Join(file, "s"), 0o600); err == nil {
		t.Error("a socket below a file")
	}
}

func TestCloseLeavesAnother(t *testing.T) {
	path := socketPath(t)
	l := listen(t, path)
	os.Remove(path)
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	checkAnswers(t, other, path)
}

// TestCloseTwice: by the second time the path belongs to the next process, even where its file got the same inode.
func TestCloseTwice(t *testing.T) {
	path := socketPath(t)
	for range 50 {
		first := listen(t, path)
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		next := listen(t, path)
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		checkAnswers(t, next, path)
		next.Close()
	}
}

func TestCloseEndsAccept(t *testing.T) {
	l := listen(t, socketPath(t))
	ended := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// TestListenersAtOnce lets many contend for a stale path, and for the path of one that closes.
func TestListenersAtOnce(t *testing.T) {
	path := socketPath(t)
	for range 100 {
		leaveStale(t, path)
		var wg sync.WaitGroup
		won := make(chan *api.Listener, 8)
		for range cap(won) {
			wg.Go(func() {
				l, err := api.Listen(context.Background(), path, 0o600)
				if err == nil {
					won <- l
				} else if !errors.Is(err, api.ErrInUse) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		close(won)
		if len(won) != 1 {
			t.Fatalf("%d listeners on one path", len(won))
		}
		l := <-won
		checkAnswers(t, l, path)
		l.Close()
		checkEmpty(t, path)
	}
}

// TestHandover lets listeners follow one another as fast as they can: each that gets the path answers on it.
func TestHandover(t *testing.T) {
	path := socketPath(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for held := 0; held < 25; {
				l, err := api.Listen(context.Background(), path, 0o600)
				if errors.Is(err, api.ErrInUse) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				held++
				if err := dial(path); err != nil {
					t.Errorf("who holds the path is not reached: %v", err)
				}
				l.Close()
			}
		})
	}
	wg.Wait()
	checkEmpty(t, path)
}
