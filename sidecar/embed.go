package sidecar

import (
	"context"
	"net"
	"sync"

	"github.com/hashicorp/go-hclog"

	"pannier/config"
	"pannier/publish/molecule/dev"
)

// EmbeddedPlatform is what health, events and the log call the embedded development platform.
const EmbeddedPlatform = "embedded development platform"

// embeddedURL is the base URL of requests to the embedded platform. Nothing resolves it: connections stay in the process.
const embeddedURL = "http://localhost"

// embedPlatform starts a development platform in this process, seeds the workspace in it, and returns how to reach it. No
// other process can reach it, and the token never leaves this one. The platform keeps nothing over a restart, so there is
// no outbox.
func embedPlatform(ctx context.Context, all *tasks, s config.Settings, log hclog.Logger) (remote, error) {
	devPlatform := dev.New(dev.Options{Logger: log, RateLimit: dev.RateLimit})
	workspace := s.Platforms[0].WorkspaceID
	token, err := devPlatform.Seed(workspace, "")
	if err != nil {
		devPlatform.Close()
		return remote{}, &Error{Message: "embedded platform: " + err.Error(), Hint: "give a UUID with --workspace-id, a platform with --platform-url, or push nothing with --platform-url=off"}
	}
	ln := newPipeListener()
	all.run(ctx, "development platform", func(ctx context.Context) error {
		return devPlatform.Serve(ctx, devPlatform.Server(), ln)
	})
	log.Info(EmbeddedPlatform+", reachable in this process only", "workspace_id", workspace)
	return remote{token: func() (string, error) { return token, nil }, dial: ln.dial}, nil
}

// pipeListener is a listener for this process alone: its connections are pairs of [net.Pipe].
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func newPipeListener() *pipeListener {
	l := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.done) })
	return l
}

// dial opens a connection to the listener, whatever the address.
func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. It may be called more than once.
func (l *pipeListener) Close() error {
	l.close()
	return nil
}

// Addr implements [net.Listener].
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
