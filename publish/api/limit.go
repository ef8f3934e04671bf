package api

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Capacity is how many callers the socket takes at one time. Who comes when all connections are taken waits until one of
// them ends, so that callers take neither the memory nor the descriptors that looking at the disk needs. What lives long
// has bounds of its own, which together leave connections free, and of these the idle ones make room: probes and health get
// in whoever follows the events, or keeps connections.
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

// limitedListener accepts so many connections at one time. When nearly all are taken it ends those on which nothing is
// asked, the longest idle first, so that whoever keeps connections does not keep others out.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error

	mu   sync.Mutex
	idle list.List // of *limitedConn, the longest idle first
}

func limit(ln net.Listener, conns int) *limitedListener {
	l := &limitedListener{Listener: ln, slots: make(chan struct{}, conns), done: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.done)
		return ln.Close()
	})
	return l
}

// Bound has a server that is about to serve ln take so many connections at one time, idle ones making room for new ones, and
// returns the listener to serve. It must be called before the server serves, once its handler is set. The server speaks
// HTTP/1.1 only: over HTTP/2 one connection would be many.
func Bound(server *http.Server, ln net.Listener, conns int) net.Listener {
	limited := limit(ln, conns)
	server.Handler, server.ConnState = limited.telling(server.Handler), limited.noteState
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	return limited
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	l.makeRoom()
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, listener: l, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements [net.Listener]. It may be called more than once.
func (l *limitedListener) Close() error { return l.close() }

// crowded reports whether fewer than one connection in sixteen is free, the one counted in that is waited for.
func (l *limitedListener) crowded() bool { return len(l.slots) >= cap(l.slots)-cap(l.slots)/16 }

// makeRoom ends the longest idle connection where it is crowded. Every connection that comes or falls idle then ends one,
// so those that are idle never fill the listener.
func (l *limitedListener) makeRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if longest := l.idle.Front(); longest != nil && l.crowded() {
		longest.Value.(*limitedConn).endLocked()
	}
}

// noteState is told the states of connections by the server.
func (l *limitedListener) noteState(conn net.Conn, state http.ConnState) {
	c := limitedOf(conn)
	if c == nil {
		return
	}
	l.mu.Lock()
	if state == http.StateIdle {
		c.waiting = l.idle.PushBack(c)
	} else {
		c.leaveLocked()
	}
	l.mu.Unlock()
	if state == http.StateIdle {
		l.makeRoom()
	}
}

// telling has the answers of h say that their connection ends, where it is crowded: whoever reads it sends no further
// request on it.
func (l *limitedListener) telling(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.crowded() {
			endConnection(w)
		}
		h.ServeHTTP(w, r)
	})
}

// endConnection has the server close the connection behind this answer.
func endConnection(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

// limitedOf returns the connection that a listener has accepted, below TLS where there is some; nil of any other.
func limitedOf(conn net.Conn) *limitedConn {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn()
	}
	c, _ := conn.(*limitedConn)
	return c
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	release  func()

	// Of the listener, under its lock: where the connection stands while it is idle, and whether it is to end.
	waiting *list.Element
	ended   bool
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// past is a deadline that has been missed.
var past = time.Unix(1, 0)

// endLocked has the server stop waiting for a request. It does not close the connection, as the server itself would under
// way: where a request has come in meanwhile, it is answered.
func (c *limitedConn) endLocked() {
	c.leaveLocked()
	c.ended = true
	_ = c.Conn.SetReadDeadline(past) // who can not be told goes by the idle timeout
}

func (c *limitedConn) leaveLocked() {
	if c.waiting != nil {
		c.listener.idle.Remove(c.waiting)
		c.waiting = nil
	}
}

// SetReadDeadline implements [net.Conn]. The server sets one when it begins to wait for a request, be it that the
// connection is to end already, and takes it away when one has come in.
func (c *limitedConn) SetReadDeadline(t time.Time) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if t.IsZero() {
		c.leaveLocked()
		c.ended = false
	} else if c.ended {
		t = past
	}
	return c.Conn.SetReadDeadline(t)
}
