package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier/publish/api"
)

// The bounds of the server of a gateway.
const (
	maxConns      = 128
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	// endTimeout is how long requests under way may take at the end.
	endTimeout = time.Second
)

// Serve answers requests of a listener until ctx is done. Then it ends all sessions, and closes the listener.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener, log hclog.Logger) error {
	server := &http.Server{
		Handler: g, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
	}
	ln = api.Bound(server, ln, maxConns)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		g.Close()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if server.Shutdown(grace) != nil {
			server.Close()
		}
	})
	err := server.Serve(ln)
	if stop() { // ctx is not what ended it
		g.Close()
		server.Close()
		return err
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
