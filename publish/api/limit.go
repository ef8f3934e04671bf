package api

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Capacity is how many callers the socket takes at one time. Who comes when all connections are taken waits until one of
// them ends, so that callers take neither the memory nor the descriptors that looking at the disk needs. What lives long
// has bounds of its own, which together leave connections free, and of these the idle ones make room: probes and health get
// in clients that follow the events or keep connections.
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

// freshGrace is how long a new connection has for its first byte before it makes room for others.
const freshGrace = 100 * time.Millisecond

// limitedListener accepts so many connections at one time. When nearly all are taken it closes those that have sent nothing
// since they were accepted, the oldest first, and ends the longest idle one.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	close func() error
	// anonymous bounds the connections of one address that have not come with a valid token; 0 means unbounded.
	anonymous int

	mu    sync.Mutex
	fresh list.List // of *limitedConn that have sent nothing yet, the oldest first
	idle  list.List // of *limitedConn, the longest idle first
	// unauthenticated are the connections without a valid token by address, the oldest first. Each list has an element.
	unauthenticated map[netip.Prefix]*list.List
}

func limit(ln net.Listener, conns int) *limitedListener {
	l := &limitedListener{
		Listener: ln, slots: make(chan struct{}, conns), done: make(chan struct{}), unauthenticated: map[netip.Prefix]*list.List{},
	}
	l.close = sync.OnceValue(func() error {
		close(l.done)
		return ln.Close()
	})
	return l
}

// Bound has a server that is about to serve ln take so many connections at one time, and returns the listener to serve.
// Silent and idle connections make room for new ones. It must be called before the server serves, once its handler is set.
// The server speaks HTTP/1.1 only: over HTTP/2 one connection would be many.
func Bound(server *http.Server, ln net.Listener, conns int) net.Listener {
	limited := limit(ln, conns)
	server.Handler, server.ConnState = limited.closeWhenCrowded(server.Handler), limited.noteState
	server.Protocols = &http.Protocols{}
	server.Protocols.SetHTTP1(true)
	return limited
}

// Accept implements [net.Listener].
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
	c := &limitedConn{Conn: conn, listener: l, release: sync.OnceFunc(func() { <-l.slots })}
	if excess := l.admit(c, time.Now()); excess != nil {
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
func (l *limitedListener) admit(c *limitedConn, now time.Time) (excess *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.accepted = now
	c.enterLocked(&l.fresh)
	if l.anonymous == 0 {
		return nil
	}
	c.address = addressOf(c.RemoteAddr().String())
	same := l.unauthenticated[c.address]
	if same == nil {
		same = list.New()
		l.unauthenticated[c.address] = same
	}
	c.unauthenticated = same.PushBack(c)
	if same.Len() <= l.anonymous {
		return nil
	}
	excess = same.Front().Value.(*limitedConn)
	excess.markAuthenticatedLocked()
	return excess
}

// Close implements [net.Listener]. It may be called more than once.
func (l *limitedListener) Close() error { return l.close() }

// crowded reports whether fewer than one connection in sixteen is free, the one counted in that is waited for.
func (l *limitedListener) crowded() bool { return len(l.slots) >= cap(l.slots)-cap(l.slots)/16 }

// makeRoom closes silent connections for as long as it is crowded, and then ends the longest idle one. Every connection that
// comes or falls idle then ends one, so neither those that are silent nor those that are idle ever fill the listener.
func (l *limitedListener) makeRoom() {
	silent := l.takeSilent(time.Now())
	for _, c := range silent {
		_ = c.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if longest := l.idle.Front(); longest != nil && l.crowded() {
		longest.Value.(*limitedConn).endLocked()
	}
}

// takeSilent gives back the slots of silent connections while it is crowded. The caller closes them.
func (l *limitedListener) takeSilent(now time.Time) (silent []*limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.crowded() && l.fresh.Len() > 0 {
		oldest := l.fresh.Front().Value.(*limitedConn)
		if now.Sub(oldest.accepted) < freshGrace {
			break
		}
		oldest.leaveLocked()
		oldest.release()
		silent = append(silent, oldest)
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
	c.leaveLocked()
	if state == http.StateIdle {
		c.enterLocked(&l.idle)
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

// endConnection has the server close the connection after this answer.
func endConnection(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

// DropBody has the server close the connection of a request after the answer, without waiting for the rest of the body: a client
// that sends its body slowly would keep the connection until the read timeout. Without a body it does nothing.
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

	// Of the listener, under its lock: when the connection came, where it stands while it is silent or idle, among which
	// connections of its address while no valid token has come on it, and whether it is to end.
	accepted        time.Time
	list            *list.List
	waiting         *list.Element
	address         netip.Prefix
	unauthenticated *list.Element
	ended           bool
}

// Close implements [net.Conn].
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	c.leaveLocked()
	c.markAuthenticatedLocked()
	c.listener.mu.Unlock()
	defer c.release()
	return c.Conn.Close()
}

// markAuthenticated notes that a valid token has come on the connection.
func (c *limitedConn) markAuthenticated() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.markAuthenticatedLocked()
}

// markAuthenticatedLocked takes the connection from those of its address that have no valid token.
func (c *limitedConn) markAuthenticatedLocked() {
	if c.unauthenticated == nil {
		return
	}
	same := c.listener.unauthenticated[c.address]
	same.Remove(c.unauthenticated)
	c.unauthenticated = nil
	if same.Len() == 0 {
		delete(c.listener.unauthenticated, c.address)
	}
}

func (c *limitedConn) enterLocked(to *list.List) { c.list, c.waiting = to, to.PushBack(c) }

// past is a deadline that has been missed.
var past = time.Unix(1, 0)

// endLocked has the server stop waiting for a request. It does not close the connection, as the server itself would under
// way: where a request has come in meanwhile, it is answered.
func (c *limitedConn) endLocked() {
	c.leaveLocked()
	c.ended = true
	_ = c.Conn.SetReadDeadline(past) // on an error the idle timeout ends it
}

func (c *limitedConn) leaveLocked() {
	if c.waiting != nil {
		c.list.Remove(c.waiting)
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
