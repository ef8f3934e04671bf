// Package gateway serves the console to one user on a loopback port, and forwards the API to a sidecar.
//
// The user proves to be the one who started it by a code of one use, and gets a token for it that the page keeps. Nothing is
// kept in a cookie, because ports do not separate cookies. Requests whose Host is not a loopback name, or whose Origin is not
// the page's own, are refused: they come from other pages.
package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/console"
	"pannier/internal/onetime"
	"pannier/publish/api"
	"pannier/publish/client"
)

// The bounds of a gateway.
const (
	// CodeTTL is how long a code holds, TicketTTL how long a ticket for a WebSocket does.
	CodeTTL   = time.Minute
	TicketTTL = 30 * time.Second
	// maxSessions bounds the sessions at one time. The one that was used longest ago ends for one more.
	maxSessions = 32
	// maxSmallBody bounds the body of a login, in bytes, and bodyTimeout how long it may take. maxLogins bounds those that wait
	// for theirs at one time: they need no token, and must leave connections to the others.
	maxSmallBody = 4096
	bodyTimeout  = 2 * time.Second
	maxLogins    = 16
)

// Options are what a gateway is made of. All but the ones marked optional are needed.
type Options struct {
	// Sidecar is where the API is forwarded to.
	Sidecar client.Endpoint
	// ReadOnly forwards what the scope read allows, and nothing else.
	ReadOnly bool
	// Flags are those of a command line that asks the same sidecar, quoted for a shell. They hold no secret; optional.
	Flags  string
	Logger hclog.Logger
}

// Gateway is a handler for the requests of browsers. It is made by [New].
type Gateway struct {
	page     http.Handler
	proxy    *httputil.ReverseProxy
	upstream *upstream
	flags    string
	codes    *onetime.Store[struct{}]
	tickets  *onetime.Store[*session]
	logins   chan struct{} // has an element for each login that waits for its body

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*session
}

// session is one login of the page.
type session struct {
	owner  string    // of its tickets
	used   time.Time // guarded by the lock of the gateway
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns a gateway, after the sidecar has said who the user is to it and which workspace it serves. From then on no other
// workspace is forwarded to.
func New(ctx context.Context, o Options) (*Gateway, pannier.Session, error) {
	up := &upstream{Endpoint: o.Sidecar}
	if o.ReadOnly {
		up.scope = "read"
	}
	conn, who, err := up.connect(ctx)
	if err != nil {
		return nil, who, err
	}
	conn.Close()
	up.who, up.known = who, true
	if o.ReadOnly && who.Write {
		return nil, who, errOld
	}
	g := &Gateway{
		page: console.Handler(console.Options{Mode: console.ModeCommand}), upstream: up, flags: o.Flags,
		codes: onetime.New[struct{}](CodeTTL), tickets: onetime.New[*session](TicketTTL), logins: make(chan struct{}, maxLogins),
		sessions: map[[sha256.Size]byte]*session{},
	}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: g.rewrite, FlushInterval: -1, ModifyResponse: func(res *http.Response) error { secure(res.Header); return nil },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: maxIdle,
			IdleConnTimeout:     time.Minute, // shorter than a sidecar keeps an idle connection
			DisableCompression:  true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, _, err := up.connect(ctx) // each connection is checked before its first request
				return conn, err
			},
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if _, known := errors.AsType[*problem](err); !known {
				err = &problem{http.StatusBadGateway, "no_sidecar", "the sidecar does not answer", "check that it runs; the page goes on when it does"}
			}
			refuse(w, r, err)
		},
		ErrorLog: o.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	return g, who, nil
}

// Code returns a new code for a session.
func (g *Gateway) Code() string { return g.codes.Issue("", struct{}{}) }

// Close ends all sessions with their streams and WebSockets, and the connections to the sidecar.
func (g *Gateway) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, s := range g.sessions {
		s.cancel()
		delete(g.sessions, key)
	}
	g.proxy.Transport.(*http.Transport).CloseIdleConnections()
}

// ServeHTTP implements [http.Handler].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	switch err := admit(r); {
	case err != nil:
		api.DropBody(w, r)
		refuse(w, r, err)
	case r.URL.Path == console.Path+"session":
		g.login(w, r)
	case r.URL.Path == "/" || console.IsPath(r.URL.Path):
		api.DropBody(w, r)
		g.page.ServeHTTP(w, r)
	case !isForwarded(r.URL.EscapedPath()):
		api.DropBody(w, r)
		refuse(w, r, &problem{http.StatusNotFound, "no_such_route", "there is nothing at " + r.URL.Path, "the page is at " + console.Path + ", the API below /v1/"})
	default:
		g.forward(w, r)
	}
}

// isForwarded reports whether a path is one of the API. One that leads up could leave it.
func isForwarded(escaped string) bool {
	for part := range strings.SplitSeq(escaped, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return strings.HasPrefix(escaped, "/v1/") || escaped == "/openapi.json"
}

// secure sets the headers of every answer.
func secure(header http.Header) {
	console.Protect(header)
	if header.Get("Cache-Control") == "" {
		header.Set("Cache-Control", "no-store")
	}
}

// admit refuses requests that other pages may have caused. The port of Host is not compared: only a browser is attacked by
// another name, it cannot choose another port than that of the connection, and a forwarded port may have another number.
func admit(r *http.Request) error {
	if !api.IsLoopbackHost(r.Host) {
		return &problem{http.StatusForbidden, "host_refused", "requests for another host than this machine are refused", "open the page by the link that `pannier console` prints"}
	}
	for _, origin := range r.Header["Origin"] {
		if origin != "http://"+r.Host {
			return errOtherPage
		}
	}
	if len(r.Header["Origin"]) > 1 {
		return errOtherPage
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "cross-site" || site == "same-site" {
		// A link or a file may lead to the page. What another page does with it, its headers forbid.
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" || r.Method != http.MethodGet || !console.IsPath(r.URL.Path) && r.URL.Path != "/" {
			return errOtherPage
		}
	}
	return nil
}

var errOtherPage = &problem{http.StatusForbidden, "browser_refused", "requests of another page are refused", "open the page by the link that `pannier console` prints"}

// login exchanges a code for the token of a session.
func (g *Gateway) login(w http.ResponseWriter, r *http.Request) {
	code, err := g.readCode(w, r)
	if err != nil {
		api.DropBody(w, r)
		refuse(w, r, err)
		return
	}
	if _, ok := g.codes.Use(code); !ok {
		refuse(w, r, &problem{http.StatusUnauthorized, "code_unknown", "the link was used already, or is older than a minute", "press Enter where `pannier console` runs for a new link, or start it again"})
		return
	}
	answer(w, struct {
		Token string `json:"token"`
		Flags string `json:"flags,omitempty"`
	}{g.begin(), g.flags})
}

// readCode returns the code of a login.
func (g *Gateway) readCode(w http.ResponseWriter, r *http.Request) (string, error) {
	if r.Method != http.MethodPost || r.URL.RawQuery != "" {
		w.Header().Set("Allow", "POST")
		return "", &problem{http.StatusMethodNotAllowed, "method_not_allowed", "a session is made by POST, without a query", "send the code in the body"}
	}
	if r.Header.Get("Content-Type") != "application/json" {
		return "", &problem{http.StatusUnsupportedMediaType, "unsupported_media_type", "the body is not application/json", "send `{\"code\": …}`"}
	}
	select {
	case g.logins <- struct{}{}:
		defer func() { <-g.logins }()
	default:
		return "", &problem{http.StatusServiceUnavailable, "too_many_logins", "too many logins wait for their body", "try again in some seconds"}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // a connection has one
	var body struct {
		Code string `json:"code"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSmallBody))
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil {
		return "", &problem{http.StatusBadRequest, "invalid_body", "the body is not an object with a code", "send `{\"code\": …}`"}
	}
	return body.Code, nil
}

// begin makes a session, and returns its token.
func (g *Gateway) begin() string {
	text := onetime.Text()
	s := &session{owner: onetime.Text(), used: time.Now()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.sessions) >= maxSessions {
		var oldest [sha256.Size]byte
		for key, other := range g.sessions {
			if was := g.sessions[oldest]; was == nil || other.used.Before(was.used) {
				oldest = key
			}
		}
		g.sessions[oldest].cancel()
		delete(g.sessions, oldest)
	}
	g.sessions[sha256.Sum256([]byte(text))] = s
	return text
}

// authorize returns the session of a request: by its token, or for a WebSocket by a ticket.
func (g *Gateway) authorize(r *http.Request) (*session, error) {
	if ticket := r.URL.Query().Get("ticket"); ticket != "" && r.Method == http.MethodGet && r.URL.Path == "/v1/rpc" {
		s, ok := g.tickets.Use(ticket)
		if !ok || s.ctx.Err() != nil || len(r.Header["Authorization"]) > 0 {
			return nil, &problem{http.StatusUnauthorized, "ticket_unknown", "the ticket was used already, or is too old", "ask for a new one by POST /v1/tickets"}
		}
		return s, nil
	}
	values := r.Header["Authorization"]
	if len(values) != 1 || !strings.HasPrefix(values[0], "Bearer ") {
		return nil, &problem{http.StatusUnauthorized, "token_missing", "there is no token", "open the page by the link that `pannier console` prints"}
	}
	key := sha256.Sum256([]byte(strings.TrimPrefix(values[0], "Bearer ")))
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.sessions[key]
	if !ok {
		return nil, &problem{http.StatusUnauthorized, "token_unknown", "the session has ended", "run `pannier console` again, and open its link"}
	}
	s.used = time.Now()
	return s, nil
}

// forward answers a request for the API.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request) {
	s, err := g.authorize(r)
	if err != nil {
		api.DropBody(w, r)
		refuse(w, r, err)
		return
	}
	if r.URL.Path == "/v1/tickets" && r.Method == http.MethodPost {
		answer(w, struct {
			Ticket  string `json:"ticket"`
			Expires int64  `json:"expires_in_ms"`
		}{g.tickets.Issue(s.owner, s), TicketTTL.Milliseconds()})
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	r = r.WithContext(ctx)
	r.Body = sentBody{r.Body}
	g.proxy.ServeHTTP(w, r)
}

// sentBody is the body of a forwarded request. A failure to read it is the fault of the browser, not of the sidecar.
type sentBody struct{ io.ReadCloser }

// Read implements [io.Reader].
func (b sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, http.ErrBodyReadAfterClose) {
		err = &problem{http.StatusBadRequest, "invalid_body", "invalid body: " + strings.TrimPrefix(err.Error(), "http: "), "send the whole body, in valid chunks or with its length"}
	}
	return n, err
}

// dropped are the headers of a request that concern the browser and the gateway, not the sidecar.
var dropped = []string{"Authorization", "Cookie", "Origin", "Referer", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", api.ScopeHeader}

func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	for _, name := range dropped {
		r.Out.Header.Del(name)
	}
	for name := range r.Out.Header {
		if strings.HasPrefix(name, "Sec-Fetch-") || strings.HasPrefix(name, "Sec-Ch-") {
			r.Out.Header.Del(name)
		}
	}
	query := r.Out.URL.Query()
	if query.Has("ticket") {
		query.Del("ticket")
		r.Out.URL.RawQuery = query.Encode()
	}
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", g.upstream.Host, g.upstream.Host
	g.upstream.authorize(r.Out.Header)
}

func answer(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // they are texts and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n')) // a client that has gone needs nothing
}

// problem is an answer that is an error (RFC 9457).
type problem struct {
	status             int
	code, detail, hint string
}

// Error implements error.
func (p *problem) Error() string { return p.detail }

// Hint returns what to do about an error of [New], empty where that is not known.
func Hint(err error) string {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.hint
	}
	return ""
}

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = &problem{http.StatusInternalServerError, "internal", "the request failed", ""}
	}
	text, err := json.Marshal(pannier.ErrorDocument{Type: "about:blank", Title: http.StatusText(p.status), Status: p.status, Code: p.code, Detail: p.detail, Hint: p.hint})
	if err != nil {
		panic(err) // they are texts and numbers
	}
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="pannier console"`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(text, '\n')) // a client that has gone needs nothing
	}
}
