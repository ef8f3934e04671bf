package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another process answers on the socket, or is about to.
var ErrInUse = errors.New("another process is listening there")

// MaxSocketPath is the longest path of a unix socket in bytes (unix(7)).
const MaxSocketPath = 107

// Listener is a unix socket that removes its own file, and no other, when it is closed.
type Listener struct {
	*net.UnixListener
	path  string
	made  fs.FileInfo
	claim *claim
	close func() error
}

// Listen makes a unix socket with that mode, and the directory that it lies in. A file that a process left behind when it
// was killed is removed; one that somebody answers on is [ErrInUse]; anything else in its place is an error. At no moment
// does the socket have more permissions than mode.
//
// Of several processes that listen on one path, one gets it: it holds the lock on the file path + ".lock", which is
// there as long as the socket.
func Listen(ctx context.Context, path string, mode fs.FileMode) (*Listener, error) {
	if len(path) > MaxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, a socket's has at most %d", path, len(path), MaxSocketPath)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the socket's directory: %w", err)
	}
	claim, err := stake(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l, err := listen(ctx, path, mode)
	if err != nil {
		claim.release()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.claim = claim
	return l, nil
}

// listen is for the holder of the claim.
func listen(ctx context.Context, path string, mode fs.FileMode) (*Listener, error) {
	if err := clearStale(ctx, path); err != nil {
		return nil, err
	}
	config := net.ListenConfig{Control: chmodBeforeBind(mode)}
	ln, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	l := &Listener{UnixListener: ln.(*net.UnixListener), path: path}
	l.close = sync.OnceValue(l.closeOnce)
	if err := l.own(mode); err != nil {
		l.UnixListener.Close() // which removes the file too
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

// chmodBeforeBind gives the socket its mode before it has a name: the kernel takes over the mode of the descriptor, less
// the umask, so that nobody meets the file with the 0755 that it would have otherwise.
func chmodBeforeBind(mode fs.FileMode) func(string, string, syscall.RawConn) error {
	return func(_, _ string, conn syscall.RawConn) error {
		var err error
		if controlErr := conn.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), uint32(mode.Perm())) }); controlErr != nil {
			return controlErr
		}
		return err
	}
}

// own gives the file back what the umask took and remembers which one it is.
func (l *Listener) own(mode fs.FileMode) error {
	if err := os.Chmod(l.path, mode.Perm()); err != nil {
		return err
	}
	made, err := os.Lstat(l.path)
	l.made = made
	return err
}

// Close stops listening and removes the file, unless another process has put its own in its place. Every further call
// does nothing, because the file that is there by then may be another's.
func (l *Listener) Close() error { return l.close() }

// closeOnce removes the file while the socket is open: as long as it is, no other file can have its inode.
func (l *Listener) closeOnce() error {
	if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.made) {
		os.Remove(l.path)
	}
	defer l.claim.release()
	return l.UnixListener.Close()
}

// clearStale removes a socket that nobody answers on.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is a file that is no socket; remove it or choose another path")
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		conn.Close()
		return ErrInUse
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return err
}
