package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pannier"
)

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.31.0.1": false, "192.168.1.1": false, "100.64.0.1": false, "169.254.169.254": false, "100.100.100.200": false,
		"168.63.129.16": false, "192.0.0.192": false, "224.0.0.1": false, "255.255.255.255": false, "0.0.0.0": false, "198.18.0.1": false, "240.1.1.1": false,
		"::": false, "::1": false, "::7f00:1": false, "::ffff:10.0.0.1": false, "::ffff:0:127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::808:808": false, "64:ff9b:1::1": false,
		"2002:7f00:1::": false, "2001::1": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "fec0::1": false, "ff02::1": false,
	} {
		if got := IsPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// start serves a proxy and returns its address.
func start(t *testing.T, p *Proxy) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { p.Serve(l); close(ended) }()
	t.Cleanup(func() {
		l.Close()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the proxy did not end")
		}
	})
	return l.Addr().String()
}

// through returns a client of a proxy.
func through(address string) *http.Client {
	proxy := &url.URL{Scheme: "http", Host: address}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}, Timeout: time.Minute}
}

// server serves an answer on loopback, and returns its host with the port.
func server(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// connect asks for a tunnel and returns the status line and the connection.
func connect(t *testing.T, proxy, request string) (string, net.Conn) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
	if err != nil {
		t.Errorf("%.60q: %v", request, err)
	}
	return strings.TrimSpace(line), conn
}

// TestReach reaches a listed host by plain http and through a tunnel, and records how often.
func TestReach(t *testing.T) {
	host := server(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Method, " ", r.Host, r.URL.Path, r.Header.Get("Proxy-Authorization"))
	})
	p := NewProxy(Rules{Hosts: []string{host}, Private: []string{"127.0.0.1"}})
	at := start(t, p)
	for range 2 {
		r, err := through(at).Get("http://" + host + "/path?secret=1")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if string(body) != "GET "+host+"/path" || r.StatusCode != http.StatusOK {
			t.Errorf("%d %q", r.StatusCode, body)
		}
	}
	status, tunnel := connect(t, at, "CONNECT "+host+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	if status != "HTTP/1.1 200 Connection established" {
		t.Error(status)
	}
	fmt.Fprintf(tunnel, "GET /tunnel HTTP/1.0\r\nHost: x\r\n\r\n")
	if rest, err := io.ReadAll(tunnel); err != nil || !strings.HasSuffix(string(rest), "GET x/tunnel") {
		t.Errorf("%q, %v", rest, err)
	}
	want := pannier.ToolHost{Host: host, Requests: 3}
	if asked := p.Asked(); len(asked) != 1 || asked[0] != want {
		t.Errorf("%+v", asked)
	}
}

// TestRefused asks for what the rules do not allow.
func TestRefused(t *testing.T) {
	host := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	_, port, _ := net.SplitHostPort(host)
	rules := Rules{Hosts: []string{
		"api.example", "localhost", "127.0.0.1:" + port, "[::1]:" + port, "0.0.0.0:" + port, "169.254.169.254", "10.0.0.1", "localhost:" + port, "[::ffff:127.0.0.1]:" + port,
	}}
	for _, tt := range []struct{ request, code, reason, told string }{
		{"CONNECT other.example:443", "403", pannier.HostRefusedNotListed, "tools.network does not list other.example:443"},
		{"CONNECT api.example:22", "403", pannier.HostRefusedNotListed, "tools.network does not list api.example:22"},
		{"CONNECT api.example.other:443", "403", pannier.HostRefusedNotListed, ""},
		{"CONNECT localhost:" + port, "403", pannier.HostRefusedPrivate, "the address of localhost is not public"},
		{"CONNECT LOCALHOST.:" + port, "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT 127.0.0.1:" + port, "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT [::1]:" + port, "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT [::ffff:127.0.0.1]:" + port, "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT 0.0.0.0:" + port, "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT 169.254.169.254:80", "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT 10.0.0.1:443", "403", pannier.HostRefusedPrivate, ""},
		{"CONNECT 2130706433:" + port, "403", pannier.HostRefusedNotListed, ""},
		{"CONNECT 127.1:" + port, "403", pannier.HostRefusedNotListed, ""},
		{"GET http://localhost:" + port + "/", "403", pannier.HostRefusedPrivate, ""},
		{"GET http://api.example:8080/", "403", pannier.HostRefusedNotListed, ""},
		{"GET http://api.example@127.0.0.1/", "403", pannier.HostRefusedNotListed, ""},
		{"GET https://api.example/", "400", "", ""},
		{"GET ftp://api.example/", "400", "", ""},
		{"GET /", "400", "", "this is the proxy of the sandbox"},
	} {
		p := NewProxy(rules)
		got, _ := connect(t, start(t, p), tt.request+" HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+tt.code+" ") || !strings.Contains(got, tt.told) {
			t.Errorf("%s: %s", tt.request, got)
		}
		asked := p.Asked()
		if tt.reason == "" && len(asked) > 0 || tt.reason != "" && (len(asked) != 1 || asked[0].Refused != tt.reason) {
			t.Errorf("%s: %+v", tt.request, asked)
		}
	}
	off := NewProxy(Rules{Private: []string{"localhost"}})
	if got, _ := connect(t, start(t, off), "CONNECT localhost:443 HTTP/1.1\r\nHost: x\r\n\r\n"); got != "HTTP/1.1 403 network is off: tools.network" {
		t.Error(got)
	}
}

// TestRedirect has a listed host that redirects to others. The proxy follows none, and refuses them when the client does.
func TestRedirect(t *testing.T) {
	victim := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the victim was asked") })
	host := server(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+victim+"/", http.StatusFound)
	})
	p := NewProxy(Rules{Hosts: []string{host}, Private: []string{host}})
	r, err := through(start(t, p)).Get("http://" + host)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if asked := p.Asked(); r.StatusCode != http.StatusForbidden || len(asked) != 2 || asked[1].Refused != pannier.HostRefusedNotListed {
		t.Errorf("%s, %+v", r.Status, asked)
	}
}

// TestRebinding has a listed name that leads to loopback.
func TestRebinding(t *testing.T) {
	victim := server(t, func(http.ResponseWriter, *http.Request) { t.Error("the victim was asked") })
	_, port, _ := net.SplitHostPort(victim)
	p := NewProxy(Rules{Hosts: []string{"rebind.example:" + port}})
	p.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, _ := net.SplitHostPort(address)
		d := net.Dialer{ControlContext: RefusePrivate}
		return d.DialContext(ctx, network, "127.0.0.1:"+port)
	}
	if got, _ := connect(t, start(t, p), "CONNECT rebind.example:"+port+" HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 the address of rebind.example is not public") {
		t.Error(got)
	}
}

// TestEndless sends headers, requests and connections without end.
func TestEndless(t *testing.T) {
	host := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		w.WriteHeader(http.StatusOK)
	})
	p := NewProxy(Rules{Hosts: []string{host}, Private: []string{host}})
	at := start(t, p)
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET http://%s/ HTTP/1.1\r\nHost: x\r\n", host)
	line := []byte("X-More: " + strings.Repeat("x", 1000) + "\r\n")
	for sent := 0; err == nil; sent += len(line) {
		if _, err = conn.Write(line); sent > 64<<20 {
			t.Fatal("64 MiB of headers are taken")
		}
	}
	if r, err := through(at).Get("http://" + host); err != nil || r.StatusCode != http.StatusBadGateway {
		t.Errorf("an answer with a long header: %+v, %v", r, err)
	}
	for i := range 2 * pannier.MaxToolHosts {
		_, conn := connect(t, at, fmt.Sprintf("CONNECT host%d.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", i))
		conn.Close()
	}
	if n := len(p.Asked()); n != pannier.MaxToolHosts {
		t.Errorf("%d hosts are recorded", n)
	}
}

// TestSlowClients hold all connections, one of them a tunnel, and send nothing. The end of the listener ends them.
func TestSlowClients(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	host := silent.Addr().String()
	p := NewProxy(Rules{Hosts: []string{host}, Private: []string{host}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { p.Serve(l); close(ended) }()
	status, tunnel := connect(t, l.Addr().String(), "CONNECT "+host+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(status, "HTTP/1.1 200") {
		t.Fatal(status)
	}
	var conns []net.Conn
	for range maxConns - 1 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "GET ")
		conns = append(conns, conn)
	}
	further, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer further.Close()
	_ = further.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := further.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection beyond the bound: %v", err)
	}
	l.Close()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("slow clients hold the proxy")
	}
	for _, conn := range append(conns, tunnel) {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a connection goes on: %v", err)
		}
	}
}

// pipes is a listener of connections within the process, whose deadlines are those of the bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSilence ends a connection that does not send a whole header, and a tunnel without a byte for a minute.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProxy(Rules{Hosts: []string{"api.example"}})
		far, served := net.Pipe()
		p.dial = func(context.Context, string, string) (net.Conn, error) { return far, nil }
		listener := make(pipes)
		var ended sync.WaitGroup
		ended.Go(func() { p.Serve(listener) })
		ended.Go(func() { _, _ = io.Copy(io.Discard, served) })
		open := func(text string) net.Conn {
			near, conn := net.Pipe()
			listener <- conn
			if _, err := io.WriteString(near, text); err != nil {
				t.Fatal(err)
			}
			return near
		}
		begun := time.Now()
		slow := open("GET http://api.example/ HTTP/1.1\r\nX: ")
		if _, err := io.ReadAll(slow); err != nil || time.Since(begun) != headerWait {
			t.Errorf("a slow header ends after %v: %v", time.Since(begun), err)
		}
		tunnel := open("CONNECT api.example:443 HTTP/1.1\r\nHost: api.example\r\n\r\n")
		answers := bufio.NewReader(tunnel)
		if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			t.Fatalf("%q, %v", line, err)
		}
		for range 3 { // each byte begins the minute again
			time.Sleep(idleWait - time.Second)
			if _, err := tunnel.Write([]byte("x")); err != nil {
				t.Fatalf("a tunnel that is used ended: %v", err)
			}
		}
		begun = time.Now()
		if _, err := io.Copy(io.Discard, answers); err != nil || time.Since(begun) != idleWait {
			t.Errorf("a silent tunnel ends after %v: %v", time.Since(begun), err)
		}
		close(listener)
		ended.Wait()
	})
}
