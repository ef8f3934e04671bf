package main

import (
	"context"
	"net"
	"os"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier/config"
	"pannier/publish/api"
)

// listeners are what others reach a sidecar by. All but the socket may be nil.
type listeners struct {
	socket *api.Listener
	probes net.Listener
	tcp    *apiListener
}

// openListeners opens the socket first: two sidecars must not share one.
func openListeners(ctx context.Context, s config.Settings, log hclog.Logger) (*listeners, error) {
	on := &listeners{}
	var err error
	if on.socket, err = api.Listen(ctx, s.Socket, s.SocketMode); err != nil {
		return nil, socketError(err, s)
	}
	if on.probes, err = listen(ctx, s); err == nil {
		on.tcp, err = listenAPI(ctx, s, log)
	}
	if err != nil {
		on.close()
		return nil, err
	}
	return on, nil
}

func (on *listeners) close() {
	on.socket.Close()
	if on.probes != nil {
		on.probes.Close()
	}
	if on.tcp != nil {
		on.tcp.Close()
	}
}

// life is a sidecar from its sockets to its end.
type life struct {
	*program
	settings config.Settings
	hangups  <-chan os.Signal
	on       *listeners
	reg      *prometheus.Registry
	log      hclog.Logger

	parts  *parts
	front  *front
	memory atomic.Pointer[memory] // nil until it is open
}

// live runs the parts of a sidecar, and ends them once ctx is done. Whoever asks is answered from the beginning; all that
// touches a disk is a part of its own, so that one that does not answer holds up neither that nor the end.
func (l *life) live(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.parts, l.front = newParts(ctx), newFront(l.settings, l.reg, l.on.socket.Lost)
	l.parts.do("socket", func(ctx context.Context) error { return api.Serve(ctx, l.on.socket, l.front, l.log.Named("api")) })
	l.parts.do("socket file", func(ctx context.Context) error { l.on.socket.Watch(ctx, l.log.Named("api")); return nil })
	if l.on.probes != nil {
		l.parts.do("listen", func(ctx context.Context) error {
			return serveProbes(ctx, l.on.probes, l.front.probes(), l.settings.WebConfig, l.log.Named("listen"))
		})
	}
	l.parts.do("start", l.begin)
	left, err := l.parts.wait(endPatience)
	if len(left) > 0 {
		l.log.Warn("not everything has ended, perhaps because a disk does not answer; ending without it", "left", left, "after", endPatience)
	}
	l.closeMemory(len(left) == 0)
	l.log.Info("stopped", "cause", context.Cause(l.parts.ctx))
	return err
}

// closeMemory closes the state that there is, and does not wait for a disk that does not answer.
func (l *life) closeMemory(clean bool) {
	mem := l.memory.Load()
	if mem == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		mem.close(clean)
	}()
	if !within(closePatience, closed) {
		l.log.Warn("state not closed", "error", "the disk does not answer")
	}
}

// begin puts the sidecar together and runs its parts.
func (l *life) begin(ctx context.Context) error {
	mem, err := openMemory(l.settings, l.reg, l.log)
	if err != nil {
		return err
	}
	l.memory.Store(mem)
	l.parts.do("state", mem.watch)
	to := remote{outbox: mem.outbox(), stale: !mem.clean}
	if l.settings.Platforms[0].URL == "" {
		if to, err = embedPlatform(l.parts, l.settings, l.log); err != nil {
			return err
		}
	}
	c, err := newSidecar(ctx, l.settings, l.environ, mem, to, l.reg, l.log)
	if err != nil {
		return err
	}
	c.socket, c.probes, c.tcp = l.on.socket, l.on.probes, l.on.tcp
	handler := c.handler(l.reg, l.front.metrics)
	l.front.open(c, handler)
	if c.tcp != nil {
		l.parts.do("tcp", func(ctx context.Context) error { return c.tcp.serve(ctx, handler) })
	}
	s := l.settings
	l.log.Info("serving", "workspace", s.Workspace, "workspace_id", s.WorkspaceID, "socket", s.Socket, "version", version())
	c.run(l.parts, l.hangups)
	return nil
}
