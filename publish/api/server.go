package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The bounds of one exchange. A caller that is slower costs itself its answer.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
)

// shutdownGrace is how long requests under way may take once the process is told to stop.
const shutdownGrace = 3 * time.Second

// Serve answers requests until ctx is done, gives those under way a moment to end, and closes the listener. It returns
// nil where nothing but ctx ended it.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log hclog.Logger) error {
	server := &http.Server{
		Handler:           h,
		ConnContext:       withPeer,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		err := server.Shutdown(grace)
		if err != nil {
			err = server.Close()
		}
		stopped <- err
	})
	err := server.Serve(ln)
	if stop() { // ctx is not what ended it
		ln.Close()
		return err
	}
	if closeErr := <-stopped; closeErr != nil {
		return closeErr
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
