package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pannier"
)

// The bounds of a proxy.
const (
	maxConns     = 64 // of the program, at a time
	maxHeader    = 32 << 10
	maxHostBytes = 253
	headerWait   = 10 * time.Second // for the header of a request, and for a connection to its host
	idleWait     = time.Minute      // without a byte in either direction
)

// Rules say which hosts a program may reach.
type Rules struct {
	// Hosts are "host", which is its ports 80 and 443, or "host:port". Private are those, in the same form, whose address need not be
	// public; "host" is each of its ports.
	Hosts, Private []string
}

// Proxy is an HTTP proxy for the program of one call: CONNECT, and plain http. It resolves names itself, asks no other proxy, and
// refuses addresses that are not public when it connects.
type Proxy struct {
	rules     Rules
	dial      func(ctx context.Context, network, address string) (net.Conn, error) // but for tests that of net.Dialer
	transport *http.Transport

	mu      sync.Mutex
	asked   []pannier.ToolHost
	closed  bool
	running sync.WaitGroup
}

// NewProxy returns a proxy for one call.
func NewProxy(rules Rules) *Proxy {
	p := &Proxy{rules: rules}
	p.transport = &http.Transport{
		Proxy: nil, DialContext: p.connect, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		ResponseHeaderTimeout: idleWait, ExpectContinueTimeout: time.Second,
	}
	return p
}

// Start serves the connections of a socket that listens until the returned function is called, which returns when all have ended. It
// closes the socket.
func (p *Proxy) Start(socket *os.File) (stop func()) {
	l, err := net.FileListener(socket)
	socket.Close()
	if err != nil {
		return func() {} // the program gets no answer
	}
	ended := make(chan struct{})
	go func() { defer close(ended); p.Serve(l) }()
	return func() {
		l.Close()
		<-ended
	}
}

// Serve serves the connections of a listener until it is closed. Then it closes them, and returns when all have ended. It is called
// once.
func (p *Proxy) Serve(l net.Listener) {
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{
		ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.enter() {
				defer p.running.Done()
				p.serve(ctx, w, r)
			}
		}),
	}
	_ = server.Serve(&limited{Listener: l}) // an error is the end of the listener
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	cancel()
	server.Close()
	p.running.Wait()
}

// limited closes connections beyond [maxConns] at once. The one of x/net waits for another to end, also when the listener is closed.
type limited struct {
	net.Listener
	open atomic.Int64
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= maxConns {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		conn.Close()
	}
}

type counted struct {
	net.Conn
	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}

// enter counts a request that Serve waits for, unless it has ended.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.running.Add(1)
	}
	return !p.closed
}

// Asked returns the hosts that the program has asked for, in that sequence, [pannier.MaxToolHosts] at most.
func (p *Proxy) Asked() []pannier.ToolHost {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// serve answers one request of the program.
func (p *Proxy) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect && (r.URL.Scheme != "http" || r.URL.Host == "") {
		refuse(w, http.StatusBadRequest, "this is the proxy of the sandbox: send CONNECT, or a request for an http address")
		return
	}
	usual := "80"
	if r.Method == http.MethodConnect {
		usual = "443"
	}
	host, port := split(r.URL.Host, usual)
	at := net.JoinHostPort(host, port)
	if reason, told := p.refusal(host, port); reason != "" {
		p.record(at, reason)
		refuse(w, http.StatusForbidden, told)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(ctx, w, at)
		return
	}
	forward := &httputil.ReverseProxy{
		Transport: p.transport, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Host, pr.Out.Host = at, pr.In.URL.Host // the host that was checked, not the one of the header
			pr.Out.Header.Del("Proxy-Authorization")
			pr.Out.Header.Del("Upgrade")
		},
		ModifyResponse: func(*http.Response) error { p.record(at, ""); return nil },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			code, reason, told := failure(host, err)
			p.record(at, reason)
			refuse(w, code, told)
		},
	}
	forward.ServeHTTP(w, r)
}

// refusal says why a host may not be asked for: as a word for the record, and as a sentence for the program. Both are empty where it
// may.
func (p *Proxy) refusal(host, port string) (reason, told string) {
	if len(p.rules.Hosts) == 0 {
		return pannier.HostRefusedOff, "network is off: tools.network"
	}
	usual := port == "80" || port == "443"
	listed := slices.ContainsFunc(p.rules.Hosts, func(entry string) bool {
		named := strings.EqualFold(entry, host) || strings.EqualFold(entry, "["+host+"]")
		return named && usual || strings.EqualFold(entry, net.JoinHostPort(host, port))
	})
	if listed {
		return "", ""
	}
	return pannier.HostRefusedNotListed, fmt.Sprintf("tools.network does not list %s", shown(net.JoinHostPort(host, port)))
}

// failure says why a host that may be asked for was not reached.
func failure(host string, err error) (code int, reason, told string) {
	if _, private := errors.AsType[*RefusedError](err); private {
		return http.StatusForbidden, pannier.HostRefusedPrivate, fmt.Sprintf("the address of %s is not public, and tools.http_allow does not list it", shown(host))
	}
	if _, unknown := errors.AsType[*net.DNSError](err); unknown {
		return http.StatusBadGateway, pannier.HostUnreachable, shown(host) + " was not found"
	}
	return http.StatusBadGateway, pannier.HostUnreachable, shown(host) + " does not answer"
}

// connect connects to an address whose host may be asked for.
func (p *Proxy) connect(ctx context.Context, network, address string) (net.Conn, error) {
	if p.dial != nil {
		return p.dial(ctx, network, address)
	}
	d := net.Dialer{Timeout: headerWait}
	host, port := split(address, "")
	if !slices.ContainsFunc(p.rules.Private, func(entry string) bool { return IsHost(entry, host, port) }) {
		d.ControlContext = RefusePrivate
	}
	return d.DialContext(ctx, network, address)
}

// tunnel joins the program with a host until one of them ends, or both are silent.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, at string) {
	host, _ := split(at, "")
	far, err := p.connect(ctx, "tcp", at)
	if err != nil {
		code, reason, told := failure(host, err)
		p.record(at, reason)
		refuse(w, code, told)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the program has gone
	}
	defer near.Close()
	p.record(at, "")
	defer context.AfterFunc(ctx, func() { near.Close(); far.Close() })()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	alive := func() {
		until := time.Now().Add(idleWait)
		_ = near.SetDeadline(until)
		_ = far.SetDeadline(until)
	}
	var sent sync.WaitGroup
	sent.Go(func() {
		relay(far, buffered.Reader, alive)
		if half, ok := far.(*net.TCPConn); ok {
			_ = half.CloseWrite()
		}
	})
	relay(near, far, alive)
	near.Close()
	sent.Wait()
}

// relay copies until either end fails, and calls alive for each piece.
func relay(to io.Writer, from io.Reader, alive func()) {
	buffer := make([]byte, 16<<10)
	for alive(); ; alive() {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// record counts a request for a host.
func (p *Proxy) record(at, refused string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at = shown(at)
	i := slices.IndexFunc(p.asked, func(h pannier.ToolHost) bool { return h.Host == at && h.Refused == refused })
	if i < 0 && len(p.asked) < pannier.MaxToolHosts {
		i, p.asked = len(p.asked), append(p.asked, pannier.ToolHost{Host: at, Refused: refused})
	}
	if i >= 0 {
		p.asked[i].Requests++
	}
}

// shown returns a host as one line of ASCII. A program can ask for any text.
func shown(host string) string {
	clean := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, host)
	return clean[:min(len(clean), maxHostBytes)]
}

// refuse answers with a sentence, in the status line as well: for CONNECT, clients show nothing else. The connection ends with it.
func refuse(w http.ResponseWriter, code int, told string) {
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	_ = near.SetDeadline(time.Now().Add(headerWait))
	body := told + "\n"
	fmt.Fprintf(near, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", code, told, len(body), body)
	// What the program still sends is read, because closing before that would take the answer away from it.
	_ = near.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, buffered, maxHeader)
}
