package api

import (
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/semaphore"
)

// The bounds of one exchange. A caller that is slower costs itself its answer.
const (
	headerTimeout = 5 * time.Second
	// tcpHeaderTimeout is for callers over TCP, who may be strangers. It bounds a TLS handshake too.
	tcpHeaderTimeout = 2 * time.Second
	readTimeout      = 30 * time.Second
	writeTimeout     = 60 * time.Second
	idleTimeout      = 2 * time.Minute
	maxHeader        = 32 << 10
)

// shutdownGrace is how long requests under way may take once the process stops.
const shutdownGrace = 3 * time.Second

// Serve answers requests until ctx is done, gives those under way a moment to end, and closes the listener. What has
// not ended by then loses its connection, and its context is done. Serve returns nil where nothing but ctx ended it.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log hclog.Logger) error {
	return serve(ctx, limit(ln, CapacityNow().Connections), h, log, (*http.Server).Serve)
}

// ServeTCP is [Serve] for a listener of TCP and a handler of [Handler.WithTokens]. run has the server serve the
// listener that it is given, which may put TLS around it, and returns when the server does.
//
// It speaks HTTP/1.1 only: over HTTP/2 one connection would be many, and the bound of connections would be none.
// There are half as many as on the socket, so that descriptors are left when both are full. Of one address at most 64
// connections may have brought no valid token yet; the oldest of them is closed for one more.
func ServeTCP(
	ctx context.Context, ln net.Listener, h http.Handler, log hclog.Logger,
	run func(*http.Server, net.Listener) error,
) error {
	limited := limit(ln, max(1, CapacityNow().Connections/2))
	limited.anonymous = anonymousConns
	return serve(ctx, limited, h, log, func(server *http.Server, ln net.Listener) error {
		server.ReadHeaderTimeout = tcpHeaderTimeout
		server.Protocols = &http.Protocols{}
		server.Protocols.SetHTTP1(true)
		return run(server, ln)
	})
}

type connKey struct{}

func serve(
	ctx context.Context, ln *limitedListener, h http.Handler, log hclog.Logger,
	run func(*http.Server, net.Listener) error,
) error {
	away := upgraded{semaphore.NewWeighted(math.MaxInt64)}
	base := context.WithValue(context.WithValue(context.WithoutCancel(ctx), servingKey{}, ctx), upgradedKey{}, away)
	requests, cut := context.WithCancel(base)
	defer func() {
		cut()
		away.wait(base)
	}()
	server := &http.Server{
		Handler:     ln.closeWhenCrowded(h),
		BaseContext: func(net.Listener) context.Context { return requests },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(withCaller(ctx, conn), connKey{}, limitedOf(conn))
		},
		ConnState:         ln.noteState,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		// It logs panics and errors of accept.
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(requests, shutdownGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			cut()
			server.Close()
		}
		away.wait(grace)
	})
	err := run(server, ln)
	if stop() { // ctx is not what ended it
		server.Close()
		return err
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
