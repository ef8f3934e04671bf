package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"pannier/config"
	"pannier/publish/api"
)

type listeners struct {
	private *pipeListener // nil where the socket is served
	socket  *api.Listener // nil where this process alone is served
	probes  net.Listener
	tcp     *apiListener
}

// openListeners opens the socket first: two sidecars must not share one.
func openListeners(ctx context.Context, o Options, log hclog.Logger) (*listeners, error) {
	if o.Private {
		return &listeners{private: newPipeListener()}, nil
	}
	on, s := &listeners{}, o.Settings
	var err error
	if on.socket, err = api.Listen(ctx, s.Socket.Path, s.Socket.Mode); err != nil {
		return nil, socketError(err, s)
	}
	switch { // the web configuration is checked, so that a sidecar that could not serve it does not start
	case s.TCP.Listen != "":
		on.probes, err = listenTCP(ctx, s.TCP.Listen, "--listen", s.TCP.WebConfig)
	case s.TCP.WebConfig != "" && s.TCP.APIListen == "":
		err = &Error{
			Message: fmt.Sprintf("web_config %s is for a TCP listener, and there is none", s.TCP.WebConfig),
			Hint:    "give --listen or --api-listen too, or leave --web-config out",
		}
	}
	if err == nil {
		on.tcp, err = listenAPI(ctx, s, o.Modules, log)
	}
	if err != nil {
		on.close()
		return nil, err
	}
	return on, nil
}

// lost returns why clients find no socket of this process, nil where they do.
func (on *listeners) lost() error {
	if on.private != nil {
		return nil
	}
	return on.socket.Lost()
}

func (on *listeners) close() {
	if on.private != nil {
		on.private.Close()
		return
	}
	on.socket.Close()
	if on.probes != nil {
		on.probes.Close()
	}
	if on.tcp != nil {
		on.tcp.Close()
	}
}

// Build names the build that runs.
type Build struct {
	Version string
	Commit  string // empty where the build does not know it
}

// Options are what a sidecar is made of. All but the ones marked optional are needed.
type Options struct {
	Settings config.Settings
	Environ  []string // the environment of the process, as [os.Environ] returns it
	Build    Build
	// LogTo receives the log. It may block: lines wait within a bound, and are dropped and counted beyond it.
	LogTo io.Writer
	// NewLogger returns a logger that writes to a writer. It is called more than once.
	NewLogger func(io.Writer) hclog.Logger
	// Private makes a sidecar for this process alone, which reaches it by [Sidecar.Dial]. It has no other listener and no platform,
	// installs nothing, writes to no disk, and serves MCP whatever the settings say. Of the state directory it reads what was disabled
	// or blocked.
	Private bool
	// Changes is the module of what clients change.
	Changes ChangesModule
	// Modules are the features around the core; optional.
	Modules []Module
	// Hangups has a value for each rescan that the operator asks for; optional.
	Hangups <-chan os.Signal
}

// Sidecar watches a workspace, serves its skills and publishes its card. It is made by [New] and used once, by [Sidecar.Run].
type Sidecar struct {
	Options
	log       *sidecarLog
	reg       *prometheus.Registry
	listeners *listeners

	tasks   *tasks
	startup *startupHandler
	state   atomic.Pointer[stateDir] // nil until it is open
}

// New opens the log and the listeners of a sidecar. Errors that an operator can act on are of type [*Error]. New reads no
// disk of the workspace: one that does not answer delays neither the socket nor the end.
func New(o Options) (*Sidecar, error) {
	if o.Private {
		o.Settings = privateSettings(o.Settings)
	}
	if err := errors.Join(checkWorkspace(o.Settings), checkDescriptors()); err != nil {
		return nil, err
	}
	for _, m := range o.Modules {
		if m.Settings != nil {
			if err := m.Settings(o.Settings); err != nil {
				return nil, err
			}
		}
	}
	reg := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pannier_build_info", Help: "Always 1; the labels tell which build runs.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(o.Build.Version, runtime.Version()).Set(1)
	reg.MustRegister(
		build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	s := &Sidecar{Options: o, log: openLog(o.LogTo, reg, o.NewLogger), reg: reg}
	var err error
	// Not cancelable: a cancelled listen would be reported as a failure; Run handles its context.
	if s.listeners, err = openListeners(context.Background(), o, s.log); err != nil {
		return nil, s.log.end(err)
	}
	return s, nil
}

// privateSettings returns settings without all that reaches beyond the process.
func privateSettings(s config.Settings) config.Settings {
	s.Socket.Path, s.TCP.Listen, s.TCP.WebConfig, s.TCP.APIListen, s.TCP.APITokens = "", "", "", "", ""
	s.TCP.Console, s.TCP.AllowOrigins = false, nil
	s.Platforms = []config.Platform{{URL: config.PlatformOff}}
	s.Install.Enabled = false
	if s.MCP.Offers == config.MCPOff {
		s.MCP.Offers = config.MCPTools
	}
	return s
}

// Dial opens a connection to a sidecar that serves this process alone; see [Options.Private]. It ignores the address.
func (s *Sidecar) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return s.listeners.private.dial(ctx, network, address)
}

// Run serves until ctx is done or a part fails, then shuts down and closes what [New] opened. It returns within about seven
// seconds of the end of ctx, also where a disk does not answer.
func (s *Sidecar) Run(ctx context.Context) error {
	err := s.run(ctx)
	s.listeners.close()
	return s.log.end(err)
}

// statTimeout bounds the wait for the disk of a workspace before the socket is open.
const statTimeout = 200 * time.Millisecond

// checkWorkspace refuses a workspace that is a file, and a default workspace that does not exist, which is a command line without
// --workspace. A workspace that was named may be created later, and its disk may not answer yet.
func checkWorkspace(s config.Settings) error {
	var info os.FileInfo
	var err error
	answered := make(chan struct{})
	go func() { // abandoned with a disk that does not answer
		defer close(answered)
		info, err = os.Stat(s.Workspace)
	}()
	if !within(statTimeout, answered) {
		return nil
	}
	switch {
	case err == nil && !info.IsDir():
		return &Error{Message: "the workspace " + s.Workspace + " is not a directory", Hint: "name the agent's configuration directory with --workspace"}
	case err != nil && !s.Given.Workspace:
		return &Error{Message: "no workspace at " + s.Workspace, Hint: "name the agent's configuration directory with --workspace"}
	}
	return nil
}

// run runs the parts of a sidecar, and ends them once ctx is done. Requests are answered from the beginning; all that
// touches a disk is a part of its own, so that one that does not answer holds up neither that nor the end.
func (s *Sidecar) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.tasks, ctx = newTasks(ctx)
	s.startup = newStartupHandler(s.Settings, s.Build, s.reg, s.listeners.lost)
	s.tasks.run(ctx, "socket", func(ctx context.Context) error {
		if private := s.listeners.private; private != nil {
			return api.Serve(ctx, private, api.AsOwn(s.startup), s.log.Named("api"))
		}
		return api.Serve(ctx, s.listeners.socket, s.startup, s.log.Named("api"))
	})
	if s.listeners.socket != nil {
		s.tasks.run(ctx, "socket file", func(ctx context.Context) error { s.listeners.socket.Watch(ctx, s.log.Named("api")); return nil })
	}
	if s.listeners.probes != nil {
		s.tasks.run(ctx, "listen", func(ctx context.Context) error {
			return serveProbes(ctx, s.listeners.probes, s.startup.probes(), s.Settings.TCP.WebConfig, s.log.Named("listen"))
		})
	}
	s.tasks.run(ctx, "start", s.start)
	left, err := s.tasks.wait(ctx, shutdownTimeout)
	if len(left) > 0 {
		s.log.Warn("not everything has ended, perhaps because a disk does not answer; ending without it", "left", left, "after", shutdownTimeout)
	}
	if state := s.state.Load(); state != nil {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			state.close(len(left) == 0)
		}()
		if !within(closeTimeout, closed) {
			s.log.Warn("state not closed", "error", "the disk does not answer")
		}
	}
	s.log.Info("stopped", "cause", context.Cause(ctx))
	return err
}

func (s *Sidecar) start(ctx context.Context) error {
	state, err := openStateDir(s.Settings, s.Private, s.Changes, s.reg, s.log)
	if err != nil {
		return err
	}
	s.state.Store(state)
	s.tasks.run(ctx, "state", state.watchPlace)
	to := remote{stale: !state.clean}
	if state.dir != "" {
		to.outbox = filepath.Join(state.dir, "outbox")
	}
	if s.Settings.Platforms[0].URL == "" {
		if to, err = embedPlatform(ctx, s.tasks, s.Settings, s.log); err != nil {
			return err
		}
	}
	c, err := s.newCore(ctx, state, to)
	if err != nil {
		return err
	}
	handler, err := c.handler(s.reg, s.startup.metrics, s.Options)
	if err != nil {
		return err
	}
	s.startup.core.Store(c)
	s.startup.handler.Store(handler)
	close(s.startup.begun)
	if tcp := s.listeners.tcp; tcp != nil {
		s.tasks.run(ctx, "tcp", func(ctx context.Context) error {
			return api.ServeTCP(ctx, tcp, handler.OverTCP(tcp.tokens.current, tcp.browsers), tcp.log, tcp.run)
		})
	}
	s.log.Info(LogServing, "workspace", s.Settings.Workspace, "workspace_id", s.Settings.WorkspaceID, "socket", s.Settings.Socket.Path, "version", s.Build.Version)
	c.run(ctx, s.tasks, s.Hangups)
	return nil
}

// Error is an error that an operator can act on.
type Error struct {
	Message string // empty where nothing is to be printed
	Hint    string // what to do, beginning with a verb
}

// Error implements error.
func (e *Error) Error() string { return e.Message }
