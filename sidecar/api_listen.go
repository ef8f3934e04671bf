package sidecar

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/exporter-toolkit/web"

	"pannier"
	"pannier/config"
	"pannier/publish/api"
)

// apiListener serves the whole API over TCP to clients with a token.
type apiListener struct {
	net.Listener
	tokens    *tokenList
	webConfig string
	log       hclog.Logger
	plain     atomic.Bool // it is served without TLS
}

// listenAPI opens the listener, nil where the settings have none.
func listenAPI(ctx context.Context, s config.Settings, log hclog.Logger) (*apiListener, error) {
	if s.APIListen == "" {
		return nil, nil
	}
	if s.APITokens == "" {
		return nil, &Error{
			Message: "api_listen needs api_tokens: without tokens every client would be refused",
			Hint:    "make a token with `pannier token NAME SCOPE --append FILE`, and name the file with --api-tokens",
		}
	}
	log = log.Named("tcp")
	tokens, err := openTokens(s.APITokens, log)
	if err != nil {
		return nil, err
	}
	ln, err := listenTCP(ctx, s.APIListen, "--api-listen", s.WebConfig)
	if err != nil {
		return nil, err
	}
	return &apiListener{Listener: ln, tokens: tokens, webConfig: s.WebConfig, log: log}, nil
}

// serve answers until ctx is done.
func (a *apiListener) serve(ctx context.Context, h *api.Handler) error {
	return api.ServeTCP(ctx, a, h.WithTokens(a.tokens.current), a.log, a.run)
}

// run has exporter-toolkit serve with the TLS of its file. The passwords in that file are those of people who look at metrics,
// in the header that the token comes in; the toolkit asks for them in a handler that it puts before ours, and that is taken
// away again before the first connection. Its limit of requests goes with it.
func (a *apiListener) run(server *http.Server, ln net.Listener) error {
	handler, base := server.Handler, server.BaseContext
	server.BaseContext = func(serving net.Listener) context.Context {
		server.Handler = handler
		a.begin(serving == ln) // with TLS it is a listener around ours
		return base(serving)
	}
	return web.Serve(ln, server, &web.FlagConfig{WebConfigFile: &a.webConfig}, slog.New(toolkitLog{a.log}))
}

func (a *apiListener) begin(plain bool) {
	a.plain.Store(plain)
	a.log.Info("serving the API", "address", a.Addr(), "tls", !plain)
	if a.exposed() {
		a.log.Warn("the API is served without TLS; tokens can be read on the network", "address", a.Addr())
	}
}

// exposed reports whether tokens go over a network in the clear.
func (a *apiListener) exposed() bool {
	address, ok := a.Addr().(*net.TCPAddr)
	return a.plain.Load() && !(ok && address.IP.IsLoopback())
}

// conditions tells what is wrong with the listener and its tokens. There may be no listener.
func (a *apiListener) conditions() []pannier.Condition {
	if a == nil {
		return nil
	}
	conditions := a.tokens.conditions()
	if a.exposed() {
		conditions = append(conditions, pannier.Condition{
			Code: "api_without_tls", Severity: pannier.SeverityWarning, Subject: a.Addr().String(),
			Message: "the API is served without TLS beyond the loopback; tokens can be read on the network",
			Hint:    "name a file with tls_server_config by --web-config, or listen on 127.0.0.1",
		})
	}
	return conditions
}
