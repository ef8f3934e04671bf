package api

import (
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// Capacity is how many callers the socket takes at one time. Who comes when all connections are taken waits until one of
// them ends, so that callers take neither the memory nor the descriptors that looking at the disk needs. What lives long
// has bounds of its own, which together leave connections free: probes and health get in whoever follows the events.
type Capacity struct {
	Connections int
	// Streams are those of events, WebSockets those of JSON-RPC; both count among the connections.
	Streams, WebSockets int
}

// Of nine connections six may be streams and two WebSockets.
const (
	shares         = 9
	streamShares   = 6
	webSocketShare = 2
	maxConns       = 256 * shares
)

// FullCapacity is what a process has that may open as many files as it wants.
func FullCapacity() Capacity { return capacityOf(2 * maxConns) }

// CapacityNow is what this process has by the number of files that it may open.
func CapacityNow() Capacity {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return FullCapacity()
	}
	return capacityOf(files.Cur)
}

// capacityOf leaves half of the descriptors of a process to others.
func capacityOf(files uint64) Capacity {
	conns := int(max(1, min(maxConns, files/2)))
	return Capacity{Connections: conns, Streams: max(1, conns*streamShares/shares), WebSockets: max(1, conns*webSocketShare/shares)}
}

// limitedListener accepts so many connections at one time.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error
}

func limit(ln net.Listener) *limitedListener {
	l := &limitedListener{Listener: ln, slots: make(chan struct{}, CapacityNow().Connections), done: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.done)
		return ln.Close()
	})
	return l
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
