package api

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// maxConns bounds the connections at one time. Who comes later waits until one of them ends, so that callers take neither
// the memory nor the descriptors that looking at the disk needs.
const maxConns = 512

// limitedListener accepts so many connections at one time.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error
}

func limit(ln net.Listener) *limitedListener {
	l := &limitedListener{Listener: ln, slots: make(chan struct{}, connLimit()), done: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.done)
		return ln.Close()
	})
	return l
}

// connLimit leaves half of the descriptors of the process to others.
func connLimit() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return maxConns
	}
	return int(max(1, min(maxConns, files.Cur/2)))
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements [net.Listener]. It may be called more than once.
func (l *limitedListener) Close() error { return l.close() }

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	release func()
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
