package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/exporter-toolkit/web"

	"pannier"
	"pannier/config"
	"pannier/internal/fsx"
	"pannier/publish/api"
)

type apiListener struct {
	net.Listener
	tokens    *tokenList
	webConfig string
	log       hclog.Logger
	plain     atomic.Bool // it is served without TLS
	browsers  api.Browsers
}

// listenAPI opens the listener, nil where the settings have none.
func listenAPI(ctx context.Context, s config.Settings, modules []Module, log hclog.Logger) (*apiListener, error) {
	if s.TCP.APIListen == "" {
		if len(s.TCP.AllowOrigins) > 0 {
			return nil, &Error{Message: "api_allow_origins needs api_listen: the socket is not reached by a browser", Hint: "give --api-listen too"}
		}
		return nil, nil
	}
	if s.TCP.APITokens == "" {
		return nil, &Error{
			Message: "api_listen needs api_tokens: without tokens every client would be refused",
			Hint:    "make a token with `pannier token NAME SCOPE --append FILE`, and name the file with --api-tokens",
		}
	}
	log = log.Named("tcp")
	tokens, err := openTokens(s.TCP.APITokens, log)
	if err != nil {
		return nil, err
	}
	ln, err := listenTCP(ctx, s.TCP.APIListen, "--api-listen", s.TCP.WebConfig)
	if err != nil {
		return nil, err
	}
	a := &apiListener{Listener: ln, tokens: tokens, webConfig: s.TCP.WebConfig, log: log, browsers: api.Browsers{Origins: s.TCP.AllowOrigins}}
	for _, m := range modules {
		if m.Page == nil {
			continue
		}
		page := m.Page(s)
		if page == nil {
			continue
		}
		err := a.checkPage(m.Name)
		if a.browsers.Page != nil {
			err = fmt.Errorf("module %s has a page, and another one has one already: one module has a page", m.Name)
		}
		if err != nil {
			ln.Close()
			return nil, err
		}
		a.browsers.Page = page
	}
	return a, nil
}

// checkPage refuses to serve the page of a module where the token that is typed into it could be read on the network.
func (a *apiListener) checkPage(module string) error {
	tls, err := config.HasTLS(a.webConfig)
	if err != nil {
		return &Error{Message: fmt.Sprintf("web_config %s: %v", a.webConfig, err), Hint: "it is a file of Prometheus's exporter-toolkit"}
	}
	if !tls && !a.isLoopback() {
		return &Error{
			Message: fmt.Sprintf("%s needs TLS on %s: tokens could be read on the network", module, a.Addr()),
			Hint:    "name a file with tls_server_config by --web-config, or listen on 127.0.0.1",
		}
	}
	return nil
}

// run has exporter-toolkit serve with the TLS of its file. The passwords in that file are those of the users of metrics,
// in the header that the token comes in; the toolkit asks for them in a handler that it puts before ours, and that is taken
// away again before the first connection. Its limit of requests goes with it.
func (a *apiListener) run(server *http.Server, ln net.Listener) error {
	handler, base := server.Handler, server.BaseContext
	server.BaseContext = func(serving net.Listener) context.Context {
		server.Handler = handler
		plain := serving == ln // with TLS it is a listener around ours
		a.plain.Store(plain)
		a.log.Info("serving the API", "address", a.Addr().String(), "tls", !plain)
		if a.exposed() {
			a.log.Warn("the API is served without TLS; tokens can be read on the network", "address", a.Addr().String())
		}
		return base(serving)
	}
	return web.Serve(ln, server, &web.FlagConfig{WebConfigFile: &a.webConfig}, slog.New(toolkitLog{a.log}))
}

// exposed reports whether tokens go over a network in the clear.
func (a *apiListener) exposed() bool {
	return a.plain.Load() && !a.isLoopback()
}

func (a *apiListener) isLoopback() bool {
	address, ok := a.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

func (a *apiListener) conditions() []pannier.Condition {
	if a == nil {
		return nil
	}
	conditions := a.tokens.conditions()
	if a.exposed() {
		conditions = append(conditions, condition("api_without_tls", pannier.SeverityWarning, a.Addr().String(),
			"the API is served without TLS beyond the loopback; tokens can be read on the network",
			"name a file with tls_server_config by --web-config, or listen on 127.0.0.1"))
	}
	return conditions
}

const maxTokenFile = 1 << 20

// tokensTimeout is how long a request waits for the file of tokens. While its disk does not answer, the tokens that were read last
// hold.
const tokensTimeout = 250 * time.Millisecond

// tokenList is the file with the tokens that callers may come in with over TCP. It is read again when it has changed; while it
// cannot be read, what it was last holds. It is for any number of callers, who take no lock that is held over I/O.
type tokenList struct {
	path string
	log  hclog.Logger

	mu      sync.Mutex    // held for a moment
	next    chan struct{} // closed when the next read of the file has ended; nil if none is wanted
	reading bool

	newest atomic.Pointer[knownTokens] // written by one read at a time
}

// knownTokens is what a read of the file found. It is never changed.
type knownTokens struct {
	stamp  fsx.Stamp
	read   time.Time // when it was, zero before
	mode   fs.FileMode
	tokens []api.Token
	failed error // of the last attempt
}

// openTokens reads the file for the first time. A file that cannot be read is an error here, because no earlier content holds.
func openTokens(path string, log hclog.Logger) (*tokenList, error) {
	f := &tokenList{path: path, log: log}
	f.newest.Store(&knownTokens{})
	f.read()
	failed := f.newest.Load().failed
	if failed == nil {
		return f, nil
	}
	hint := "it has to be readable for this user; `pannier token NAME SCOPE` makes its lines"
	if refusal, ok := errors.AsType[*pannier.Refusal](failed); ok {
		hint = refusal.Hint
	}
	return nil, &Error{Message: fmt.Sprintf("api_tokens %s: %v", path, failed), Hint: hint}
}

// current returns the tokens that hold now. The caller must not change them.
func (l *tokenList) current() []api.Token { return l.refresh().tokens }

// refresh returns what a read that began after the call found, or what is known where that takes longer than tokensTimeout.
func (l *tokenList) refresh() *knownTokens {
	l.mu.Lock()
	if l.next == nil {
		l.next = make(chan struct{})
	}
	ended := l.next
	if !l.reading {
		l.reading = true
		go l.refreshLoop()
	}
	l.mu.Unlock()
	within(tokensTimeout, ended)
	return l.newest.Load()
}

// refreshLoop reads the file for as long as a read is wanted.
func (l *tokenList) refreshLoop() {
	for {
		l.mu.Lock()
		ended := l.next
		l.next = nil
		l.reading = ended != nil
		l.mu.Unlock()
		if ended == nil {
			return
		}
		l.read()
		close(ended)
	}
}

// read reads the file where it has changed. It is for one caller at a time.
func (l *tokenList) read() {
	now := *l.newest.Load()
	info, err := os.Stat(l.path)
	if err == nil && fsx.StampOf(info) == now.stamp && !now.stamp.WithinRacyWindow(now.read) {
		return
	}
	var tokens []api.Token
	if err == nil {
		now.stamp, now.read = fsx.StampOf(info), time.Now()
		err = errors.New("not a regular file")
		if info.Mode().IsRegular() {
			now.mode = info.Mode()
			var text []byte
			if text, err = fsx.ReadAtMost(l.path, maxTokenFile); err == nil {
				tokens, err = api.ParseTokens(text)
			}
		}
	}
	if err == nil {
		now.tokens = tokens
	} else if !now.read.IsZero() && (now.failed == nil || now.failed.Error() != err.Error()) {
		l.log.Error("the tokens cannot be read; the earlier ones stay valid", "file", l.path, "error", err)
	}
	now.failed = err
	l.newest.Store(&now)
}

func (l *tokenList) conditions() []pannier.Condition {
	now := l.refresh()
	var conditions []pannier.Condition
	add := func(code, message, hint string) {
		conditions = append(conditions, condition(code, pannier.SeverityWarning, l.path, message, hint))
	}
	switch {
	case now.failed != nil:
		add("api_tokens_unreadable", "the tokens stay what they were: "+now.failed.Error(), "fix the file; it is read again when it changes")
	case len(now.tokens) == 0:
		add("api_tokens_none", "the file has no token, so every client over TCP is refused", "make one with `pannier token NAME SCOPE --append "+l.path+"`")
	}
	if now.mode&0o027 != 0 {
		add("api_tokens_exposed", fmt.Sprintf("others than its owner and its group can read the file, or others than its owner can write to it: its mode is %04o", now.mode.Perm()), "chmod 600 it, or 640")
	}
	return conditions
}
