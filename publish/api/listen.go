package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another process answers on the socket.
var ErrInUse = errors.New("another process is listening there")

// MaxSocketPath is the longest path of a unix socket in bytes (unix(7)).
const MaxSocketPath = 107

// Listener is a unix socket that removes its own file, and no other, when it is closed.
type Listener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
}

// Listen makes a unix socket with that mode, and the directory that it lies in. A file that a process left behind when it
// was killed is removed; one that somebody answers on is [ErrInUse]; anything else in its place is an error. At no moment
// does the socket have more permissions than mode.
func Listen(ctx context.Context, path string, mode fs.FileMode) (*Listener, error) {
	if len(path) > MaxSocketPath {
		return nil, fmt.Errorf("listen on %s: the path has %d bytes, a socket's has at most %d", path, len(path), MaxSocketPath)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the socket's directory: %w", err)
	}
	if err := clearStale(ctx, path); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	config := net.ListenConfig{Control: chmodBeforeBind(mode)}
	ln, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &Listener{UnixListener: ln.(*net.UnixListener), path: path}
	l.SetUnlinkOnClose(false)
	if err := l.own(mode); err != nil {
		l.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
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

// Close stops listening and removes the file, unless another process has put its own in its place.
func (l *Listener) Close() error {
	if now, err := os.Lstat(l.path); err == nil && l.made != nil && os.SameFile(now, l.made) {
		os.Remove(l.path)
	}
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
