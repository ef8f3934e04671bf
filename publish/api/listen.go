package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another process answers on the socket, or is about to.
var ErrInUse = errors.New("another process is listening there")

// MaxSocketPath is the longest path of a unix socket in bytes (unix(7)).
const MaxSocketPath = 107

// Listener is a unix socket that removes its own file, and no other, when it is closed. [Listener.Watch] listens anew
// where the file is removed or replaced.
type Listener struct {
	path  string
	mode  fs.FileMode
	close func() error
	now   atomic.Pointer[boundSocket]
	lost  atomic.Pointer[string] // why there is no socket at the path; nil while there is one

	// mu is held while the file is made or removed, and guards the fields that follow.
	mu     sync.Mutex
	claim  *claim
	closed bool
}

type boundSocket struct {
	*net.UnixListener
	made fs.FileInfo
}

// Listen makes a unix socket with that mode, and the directory that it lies in. The file of a killed
// process is removed; a socket that answers is [ErrInUse]; any other file is an error. At no moment
// does the socket have more permissions than mode.
//
// Of several processes that listen on one path, one gets it: it holds the lock on the file path + ".lock", which is
// there as long as the socket.
func Listen(ctx context.Context, path string, mode fs.FileMode) (*Listener, error) {
	if len(path) > MaxSocketPath {
		return nil, fmt.Errorf(
			"listen on %s: the path has %d bytes, a socket's has at most %d", path, len(path), MaxSocketPath,
		)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the socket's directory: %w", err)
	}
	claim, err := acquire(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	socket, err := listen(ctx, path, mode)
	if err != nil {
		claim.release()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l := &Listener{path: path, mode: mode, claim: claim}
	l.close = sync.OnceValue(l.closeOnce)
	l.now.Store(socket)
	return l, nil
}

// listen is for the holder of the claim.
func listen(ctx context.Context, path string, mode fs.FileMode) (*boundSocket, error) {
	if err := clearStale(ctx, path); err != nil {
		return nil, err
	}
	// The socket has its mode before it has a name: the kernel takes over the mode of the descriptor, less the umask, so
	// the file never has the 0755 that it would have otherwise.
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var err error
		controlErr := conn.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), uint32(mode.Perm())) })
		return cmp.Or(controlErr, err)
	}}
	ln, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	socket := &boundSocket{UnixListener: ln.(*net.UnixListener)}
	if err = os.Chmod(path, mode.Perm()); err == nil {
		socket.made, err = os.Lstat(path)
	}
	if err != nil {
		socket.Close() // which removes the file too
		return nil, err
	}
	socket.SetUnlinkOnClose(false)
	return socket, nil
}

// isAt reports whether the file of the socket is the one with that path. As long as the socket is open, no other file
// can have its inode.
func (s *boundSocket) isAt(path string) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, s.made)
}

// Accept implements [net.Listener]. It goes on over a socket that is made anew.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		now := l.now.Load()
		conn, err := now.Accept()
		if err == nil || now == l.now.Load() {
			return conn, err
		}
	}
}

// Addr implements [net.Listener].
func (l *Listener) Addr() net.Addr { return l.now.Load().Addr() }

// Close stops listening and removes the file, unless another process has put its own in its place. Every further call
// does nothing, because the file that is there by then may be another's.
func (l *Listener) Close() error { return l.close() }

func (l *Listener) closeOnce() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	now := l.now.Load()
	if now.isAt(l.path) {
		os.Remove(l.path)
	}
	defer l.claim.release()
	return now.Close()
}

func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("the file is not a socket; remove it or choose another path")
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
