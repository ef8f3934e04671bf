package api

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Capacity is how many callers the socket takes at one time. Who comes when all connections are taken waits until one
// of them ends, so that callers take neither the memory nor the descriptors that looking at the disk needs. What
// lives long has bounds of its own, which together leave connections free, and of these the idle ones make room:
// probes and health get in clients that follow the events or keep connections.
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
	return Capacity{
		Connections: conns, Streams: max(1, conns*streamShares/shares),
		WebSockets: max(1, conns*webSocketShare/shares),
	}
}

// freshGrace is how long a new connection has for its first byte before it makes room for others.
const freshGrace = 100 * time.Millisecond

// limitedListener accepts so many connections at one time. When nearly all are taken it closes those that have sent
// nothing since they were accepted, the oldest first, and ends the longest idle one.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error
	// anonymous bounds the connections of one address that have not come with a valid token; 0 means unbounded.
	anonymous int

	mu    sync.Mutex
	conns map[*limitedConn]struct{}
}

func limit(ln net.Listener, conns int) *limitedListener {
	l := &limitedListener{
		Listener: ln, slots: make(chan struct{}, conns), done: make(chan struct{}),
		conns: map[*limitedConn]struct{}{},
	}
	l.close = sync.OnceValue(func() error {
		close(l.done)
		return ln.Close()
	})
	return l
}

// Bound has a server that is about to serve ln take so many connections at one time, and returns the listener to
// serve. Silent and idle connections make room for new ones. It must be called before the server serves, once its
// handler is set. The server speaks HTTP/1.1 only: over HTTP/2 one connection would be many.
func Bound(server *http.Server, ln net.Listener, conns int) net.Listener {
	limited := limit(ln, conns)
	server.Handler, server.ConnState = limited.closeWhenCrowded(server.Handler), limited.noteState
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	return limited
}

func (l *limitedListener) Accept() (net.Conn, error) {
	if !l.acquire() {
		return nil, net.ErrClosed
	}
	l.makeRoom()
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	c := &limitedConn{Conn: conn, listener: l, since: time.Now(), release: sync.OnceFunc(func() { <-l.slots })}
	if l.anonymous > 0 {
		c.address = addressOf(conn.RemoteAddr().String())
	}
	if excess := l.admit(c); excess != nil {
		_ = excess.Close()
	}
	return c, nil
}

// acquire waits for a slot, and fails once the listener is closed.
func (l *limitedListener) acquire() bool {
	for {
		select {
		case l.slots <- struct{}{}:
			return true
		case <-l.done:
			return false
		case <-time.After(freshGrace):
			l.makeRoom()
		}
	}
}

// admit takes a new connection up, and returns the one that its address has too many of.
func (l *limitedListener) admit(c *limitedConn) (excess *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	if l.anonymous == 0 {
		return nil
	}
	same := l.oldestLocked(func(other *limitedConn) bool { return !other.authenticated && other.address == c.address })
	if len(same) > l.anonymous {
		return same[0]
	}
	return nil
}

// oldestLocked returns the connections that fit, those that have been in their state for longest first.
func (l *limitedListener) oldestLocked(fits func(*limitedConn) bool) (found []*limitedConn) {
	for c := range l.conns {
		if fits(c) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *limitedConn) int { return a.since.Compare(b.since) })
	return found
}

// Close implements [net.Listener]. It may be called more than once.
func (l *limitedListener) Close() error { return l.close() }

// crowded reports whether fewer than one connection in sixteen is free, the one counted in that is waited for.
func (l *limitedListener) crowded() bool { return len(l.slots) >= cap(l.slots)-cap(l.slots)/16 }

// makeRoom closes silent connections for as long as it is crowded, and then ends the longest idle one. Every
// connection that comes or falls idle then ends one, so neither those that are silent nor those that are idle ever
// fill the listener.
func (l *limitedListener) makeRoom() {
	if !l.crowded() {
		return
	}
	for _, c := range l.takeSilent(time.Now()) {
		_ = c.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if idle := l.oldestLocked(func(c *limitedConn) bool { return c.state == connIdle }); len(idle) > 0 && l.crowded() {
		idle[0].endLocked()
	}
}

// takeSilent gives back the slots of silent connections while it is crowded. The caller closes them.
func (l *limitedListener) takeSilent(now time.Time) (silent []*limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.oldestLocked(func(c *limitedConn) bool { return c.state == connFresh && now.Sub(c.since) >= freshGrace }) {
		if !l.crowded() {
			break
		}
		c.state = connBusy
		c.release()
		silent = append(silent, c)
	}
	return silent
}

// noteState records the state of a connection, for [http.Server].
func (l *limitedListener) noteState(conn net.Conn, state http.ConnState) {
	c := limitedOf(conn)
	if c == nil || state == http.StateNew {
		return
	}
	l.mu.Lock()
	c.state = connBusy
	if state == http.StateIdle {
		c.state, c.since = connIdle, time.Now()
	}
	l.mu.Unlock()
	if state == http.StateIdle {
		l.makeRoom()
	}
}

// closeWhenCrowded has the answers of h end their connection while the listener is crowded.
func (l *limitedListener) closeWhenCrowded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.crowded() {
			endConnection(w)
		}
		h.ServeHTTP(w, r)
	})
}

func endConnection(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

// DropBody has the server close the connection of a request after the answer, without waiting for the rest of the
// body: a client that sends its body slowly would keep the connection until the read timeout. Without a body it does
// nothing.
func DropBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		endConnection(w)
		_ = http.NewResponseController(w).SetReadDeadline(past) // without it the read timeout ends the wait
	}
}

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
	address  netip.Prefix // set if the listener bounds those of an address

	// The lock of the listener guards these: the state, when it began (a new connection that sends is busy since it
	// came), whether a valid token has come, and whether the connection is to end.
	state                connState
	since                time.Time
	authenticated, ended bool
}

type connState int

const (
	connFresh connState = iota // nothing has come yet
	connBusy
	connIdle
)

func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	defer c.release()
	return c.Conn.Close()
}

// markAuthenticated notes that a valid token has come on the connection.
func (c *limitedConn) markAuthenticated() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.authenticated = true
}

// past is a deadline that has been missed.
var past = time.Unix(1, 0)

// endLocked has the server stop waiting for a request. It does not close the connection, as the server itself would
// under way: where a request has come in meanwhile, it is answered.
func (c *limitedConn) endLocked() {
	c.state, c.ended = connBusy, true
	_ = c.Conn.SetReadDeadline(past) // on an error the idle timeout ends it
}

// SetReadDeadline implements [net.Conn]. The server sets one when it begins to wait for a request, be it that the
// connection is to end already, and takes it away when one has come in.
func (c *limitedConn) SetReadDeadline(t time.Time) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if t.IsZero() {
		c.state, c.ended = connBusy, false
	} else if c.ended {
		t = past
	}
	return c.Conn.SetReadDeadline(t)
}
