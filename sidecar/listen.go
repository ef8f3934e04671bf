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
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/config"
	"pannier/publish/api"
)

// probeTimeout bounds one exchange on the TCP listener, and how long those under way may take at the end.
const probeTimeout = 3 * time.Second

// The bounds of the TCP listener, so that who reaches it takes neither the descriptors nor the memory of the sidecar.
const (
	maxProbeConns = 64
	maxScrapes    = 4 // requests for metrics at one time
	probeIdle     = 15 * time.Second
)

// listenTCP opens a listener for an address that a flag gives.
func listenTCP(ctx context.Context, address, flag, webConfig string) (net.Listener, error) {
	var err error
	if info, statErr := os.Stat(webConfig); statErr == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file") // not opened: a reader of a FIFO waits for its writer
	} else {
		err = web.Validate(webConfig)
	}
	if err != nil {
		return nil, &Error{
			Message: fmt.Sprintf("web_config %s: %v", webConfig, err),
			Hint:    "it is a file of Prometheus's exporter-toolkit, with tls_server_config and basic_auth_users",
		}
	}
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", address)
	if err == nil {
		return ln, nil
	}
	e := &Error{Message: err.Error(), Hint: "give " + flag + " an address of this machine, or only a port, such as :9090"}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Hint = "another process has that port; choose another one with " + flag
	case errors.Is(err, os.ErrPermission):
		e.Hint = "this port needs a privilege; choose one above 1023 with " + flag
	}
	return nil, e
}

// serveProbes answers on a TCP listener until ctx is done, gives requests under way a moment to end, and closes it.
func serveProbes(ctx context.Context, ln net.Listener, h http.Handler, webConfig string, log hclog.Logger) error {
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			api.DropBody(w, r) // no request here needs one
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: probeTimeout, ReadTimeout: probeTimeout, WriteTimeout: 10 * probeTimeout, IdleTimeout: probeIdle,
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
		defer cancel()
		if server.Shutdown(grace) != nil {
			server.Close()
		}
	})
	log.Info("serving metrics and probes", "address", ln.Addr().String(), "web_config", webConfig)
	ln = api.Bound(server, ln, maxProbeConns)
	err := web.Serve(ln, server, &web.FlagConfig{WebConfigFile: &webConfig}, slog.New(toolkitLog{log}))
	if stop() { // ctx is not what ended it
		server.Close()
		return fmt.Errorf("listen on %s: %w", ln.Addr(), err)
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// toolkitLog hands what exporter-toolkit logs to the sidecar's logger. Its announcements are details there; a web
// configuration that can no longer be read is an error there too.
type toolkitLog struct{ log hclog.Logger }

// Enabled implements [slog.Handler]: the logger decides.
func (toolkitLog) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (t toolkitLog) Handle(_ context.Context, r slog.Record) error {
	var fields []any
	r.Attrs(func(a slog.Attr) bool {
		fields = append(fields, a.Key, a.Value.Any())
		return true
	})
	level := hclog.Debug
	switch {
	case r.Level >= slog.LevelError:
		level = hclog.Error
	case r.Level >= slog.LevelWarn:
		level = hclog.Warn
	}
	t.log.Log(level, r.Message, fields...)
	return nil
}

// WithAttrs implements [slog.Handler].
func (t toolkitLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	var fields []any
	for _, a := range attrs {
		fields = append(fields, a.Key, a.Value.Any())
	}
	return toolkitLog{t.log.With(fields...)}
}

// WithGroup implements [slog.Handler].
func (t toolkitLog) WithGroup(name string) slog.Handler { return toolkitLog{t.log.Named(name)} }

// minDescriptors is how many files the process must be allowed to open: what an idle sidecar has open, and a few callers.
const minDescriptors = 64

func checkDescriptors() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil || files.Cur >= minDescriptors {
		return nil
	}
	return &Error{
		Message: fmt.Sprintf("the process may open %d files, and the sidecar needs at least %d", files.Cur, minDescriptors),
		Hint:    "raise the hard limit (ulimit -Hn, LimitNOFILE=, --ulimit nofile=)",
	}
}

// capacityConditions report that the socket takes fewer callers than it would, because the process may open few files only.
func capacityConditions(now api.Capacity) []pannier.Condition {
	full := api.FullCapacity()
	if now.Connections >= full.Connections {
		return nil
	}
	return []pannier.Condition{condition("few_descriptors", pannier.SeverityInfo, "RLIMIT_NOFILE",
		fmt.Sprintf("the process may open few files, so the socket takes %d callers at a time, of which %d can follow the events and %d use a WebSocket, in the place of %d, %d and %d", now.Connections, now.Streams, now.WebSockets, full.Connections, full.Streams, full.WebSockets),
		fmt.Sprintf("raise the hard limit (ulimit -Hn, LimitNOFILE=, --ulimit nofile=) to %d where so many callers come", 2*full.Connections))}
}

func socketError(err error, s config.Settings) error {
	e := &Error{Message: err.Error()}
	lock := s.Socket.Path + ".lock"
	failed, _ := errors.AsType[*fs.PathError](err)
	_, noLock := os.Lstat(lock)
	there, noFile := os.Lstat(s.Socket.Path)
	switch {
	case errors.Is(err, api.ErrInUse):
		e.Hint = "another sidecar may run for a workspace already; give this one a socket of its own with --socket"
	case errors.Is(err, os.ErrPermission) && failed != nil && failed.Path == lock && noLock == nil:
		e.Hint = fmt.Sprintf("a sidecar of another user made %s; where none runs any more, remove it, or choose another path with --socket", lock)
	case errors.Is(err, os.ErrPermission):
		e.Hint = fmt.Sprintf("make %s writable for this user, or choose another path with --socket", s.Socket.Path)
	case errors.Is(err, syscall.EROFS):
		e.Hint = "the file system can only be read; mount one there that can be written, such as an emptyDir, or choose another path with --socket"
	case errors.Is(err, syscall.ENOTDIR):
		e.Hint = "a part of the path is a file, not a directory; choose another path with --socket"
	case noFile == nil && there.Mode().Type() != fs.ModeSocket:
		e.Hint = fmt.Sprintf("remove %s if it is not needed, or choose another path with --socket", s.Socket.Path)
	}
	return e
}
