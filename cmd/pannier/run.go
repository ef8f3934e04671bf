package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"pannier"
	"pannier/admin"
	"pannier/admin/install"
	"pannier/admin/upload"
	"pannier/config"
	"pannier/publish/api"
	"pannier/registry"
	"pannier/watcher"
)

func (p *program) runCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the sidecar",
		Long: `Runs the sidecar until it is told to stop by SIGTERM or SIGINT. SIGHUP makes it look at everything again.

Without --platform-url an embedded development platform takes the agent card, on a free port of 127.0.0.1 that the log
names. --platform-url=off pushes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// From the first moment to the last, or else a SIGHUP then would end the process.
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			s, err := p.settings()
			if err != nil {
				return err
			}
			if err := checkWorkspace(s); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process at once
			return p.serve(ctx, s, hangups)
		},
	}
}

// checkWorkspace refuses a workspace that nobody chose and that is not there: that is a command line without
// --workspace. One that somebody chose may come later.
func checkWorkspace(s config.Settings) error {
	if _, err := os.Stat(s.Workspace); err != nil && !s.WorkspaceGiven {
		return &exitError{
			code: exitUnknown, message: "there is no workspace at " + s.Workspace,
			hint: "name the agent's configuration directory with --workspace",
		}
	}
	return nil
}

// sidecar is a running house: it watches, serves and pushes.
type sidecar struct {
	*house
	log       hclog.Logger
	memory    *memory
	census    *census
	prints    *fingerprints
	metrics   *scanMetrics
	watcher   *watcher.Watcher
	platforms *publishers
	events    *eventLog
	door      *admin.Door
	uploads   *upload.Store // nil where nothing can be installed
	installed *install.Store
	tcp       *apiListener              // nil where the API is not served over TCP
	manager   *manager                  // nil where systemd did not start this process
	looked    atomic.Pointer[time.Time] // when the last look ended, nil before the first
	catchUp   func()                    // collects the garbage of the first scan
}

// serve runs a sidecar until ctx is done. Each of its goroutines belongs to the group that it waits for. It looks at
// everything again whenever there is something in hangups.
func (p *program) serve(ctx context.Context, s config.Settings, hangups <-chan os.Signal) error {
	log := p.logger(s)
	reg := newMetricsRegistry()
	ln, err := api.Listen(ctx, s.Socket, s.SocketMode)
	if err != nil {
		return socketError(err, s)
	}
	defer ln.Close()
	probes, err := listen(ctx, s)
	if err != nil {
		return err
	}
	if probes != nil {
		defer probes.Close()
	}
	tcp, err := listenAPI(ctx, s, log)
	if err != nil {
		return err
	}
	if tcp != nil {
		defer tcp.Close()
	}
	mem, err := openMemory(s, reg, log)
	if err != nil {
		return err
	}
	defer mem.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	to := remote{outbox: mem.outbox()}
	if s.Platforms[0].URL == "" {
		own, err := embedPlatform(ctx, group, &s, log)
		if err != nil {
			return err
		}
		to.token = func() (string, error) { return own, nil }
		to.outbox = "" // that platform ends with this process, and the next one has another address
	}
	c, err := newSidecar(ctx, s, p.environ, mem, to, reg, log)
	if err != nil {
		stop()
		return errors.Join(err, group.Wait())
	}
	c.tcp = tcp
	handler := c.handler(reg)
	group.Go(func() error { return api.Serve(ctx, ln, handler, log.Named("api")) })
	if probes != nil {
		group.Go(func() error { return serveProbes(ctx, probes, handler.Probes(), s.WebConfig, log.Named("listen")) })
	}
	if tcp != nil {
		group.Go(func() error { return tcp.serve(ctx, handler) })
	}
	group.Go(func() error { return c.watcher.Run(ctx) })
	group.Go(func() error { c.follow(ctx); return nil })
	group.Go(func() error { c.census.run(ctx); return nil })
	group.Go(func() error { c.prints.run(ctx); return nil })
	group.Go(func() error { c.rescanOnHangup(ctx, hangups); return nil })
	group.Go(func() error { c.announce(ctx); return nil })
	group.Go(func() error { return c.expireUploads(ctx) })
	group.Go(func() error { c.tellManager(ctx); return nil })
	group.Go(func() error { return c.platforms.run(ctx) })
	log.Info("serving", "workspace", s.Workspace, "workspace_id", s.WorkspaceID, "socket", s.Socket, "version", version())
	err = group.Wait()
	log.Info("stopped", "cause", context.Cause(ctx))
	return err
}

func newSidecar(ctx context.Context, s config.Settings, environ []string, mem *memory, to remote, reg prometheus.Registerer, log hclog.Logger) (*sidecar, error) {
	o := mem.registryOptions()
	o.Registerer = reg
	c := &sidecar{house: newHouse(s, environ, o), log: log, memory: mem, metrics: newScanMetrics(reg), catchUp: putOffCollection()}
	c.census, c.manager = newCensus(c.loader), findManager(log)
	c.events = &eventLog{log: log.Named("event"), workspaceID: s.WorkspaceID, current: c.registry.Current, journal: mem.journal}
	c.changed = func(changes pannier.WorkspaceChanged) { c.events.emit(pannier.EventWorkspaceChanged, changes) }
	c.judgedAnew = func(env pannier.Environment) { c.events.emit(pannier.EventEnvironmentChanged, env.Changed()) }
	var err error
	c.watcher, err = watcher.New(watcher.Options{
		Rules: c.rules, Settle: s.Settle, Debounce: s.Debounce, MaxWait: s.MaxWait, Resync: s.Resync, Mode: watcher.Mode(s.Watch),
		Logger: log, Registerer: reg,
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	c.platforms, err = newPublishers(s, to, c.events.emit, reg, log)
	if err == nil {
		err = c.openDoor(ctx, reg, c.lookAt)
	}
	return c, err
}

// handler composes what the socket answers with.
func (c *sidecar) handler(reg *prometheus.Registry) *api.Handler {
	o := c.handlerOptions(c.log.Named("api"))
	o.Rescan, o.Health, o.Alive, o.Emit, o.Registerer = c.rescan, c.health, c.alive, c.events.emit, reg
	o.Events, o.Mutations, o.Peers = c.eventSource(), c.mutations(), c.platforms.peers
	o.Scans, o.RPC, o.Installs = c.scans(), c.rpc(), c.installs()
	reg.MustRegister(newHealthMetrics(c))
	o.Metrics = promhttp.HandlerFor(reg, promhttp.HandlerOpts{Registry: nil})
	return api.New(o)
}

// follow takes in one batch after the other until ctx is done.
func (c *sidecar) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case b := <-c.watcher.Batches():
			c.takeIn(ctx, b)
		}
	}
}

func (c *sidecar) takeIn(ctx context.Context, b pannier.Batch) {
	before, start := c.registry.Current(), time.Now()
	after, watch, err := c.look(ctx, b)
	if err != nil {
		return // ctx is done
	}
	now := time.Now()
	took := now.Sub(start)
	c.looked.Store(&now)
	c.watcher.Watch(watch)
	c.watcher.RevisitAt(c.revisit())
	changed := before == nil || before.Version != after.Version
	c.metrics.observe(b.Trigger, changed, took)
	c.log.Debug("looked", "seq", b.Seq, "trigger", b.Trigger, "full", b.Full, "dirs", len(b.Dirs), "changed", changed, "took", took)
	c.census.ask(changed)
	if changed || !b.Full || b.Trigger == pannier.TriggerManual {
		c.prints.ask()
	}
	c.catchUp()
}

// revisit returns when the next look is wanted although nothing has changed; zero is never.
func (c *sidecar) revisit() time.Time {
	at, due := c.loader.Revisit(), c.workspace.Due()
	if at.IsZero() || !due.IsZero() && due.Before(at) {
		return due
	}
	return at
}

// rescan looks at everything again; see [api.Options.Rescan].
func (c *sidecar) rescan(ctx context.Context, wait bool) (*pannier.Snapshot, error) {
	seq := c.watcher.Rescan()
	if !wait {
		return c.registry.Current(), nil
	}
	return c.registry.Wait(ctx, seq)
}

// rescanOnHangup looks at everything again at each SIGHUP.
func (c *sidecar) rescanOnHangup(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			c.log.Info("looking at everything again", "cause", "SIGHUP")
			c.reload(ctx)
		}
	}
}

// announce tells of every new snapshot, whoever made it, and then hands its card to the platforms; in this order, so that
// the events tell of a change before they tell that the platform has it.
func (c *sidecar) announce(ctx context.Context) {
	snapshots, cancel := c.registry.Subscribe()
	defer cancel()
	var before *pannier.Snapshot
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-snapshots:
			c.events.emit(pannier.EventCatalogUpdated, registry.Diff(before, s, c.rules))
			for _, warning := range registry.Warnings(before, s) {
				c.events.emit(pannier.EventSkillWarning, warning)
			}
			for _, change := range registry.Transitions(before, s) {
				c.events.emit(pannier.EventSkillStateChanged, change)
			}
			c.offer(s)
			before = s
		}
	}
}

// offer hands the card of a snapshot to the platforms. While the workspace itself is not there, nothing is known of its
// skills, and an empty card must not take the place of what the platform holds.
func (c *sidecar) offer(s *pannier.Snapshot) {
	if slices.ContainsFunc(s.Problems, func(p pannier.Problem) bool { return p.Code == config.CodeWorkspaceMissing }) {
		return
	}
	made, err := c.cards.of(s)
	if err != nil {
		c.log.Error("no card", "snapshot_version", s.Version, "error", err)
		return
	}
	c.platforms.offer(made)
}

func socketError(err error, s config.Settings) error {
	e := &exitError{code: exitUnknown, message: err.Error()}
	switch {
	case errors.Is(err, api.ErrInUse):
		e.hint = "another sidecar may run for a workspace already; give this one a socket of its own with --socket"
	case errors.Is(err, os.ErrPermission):
		e.hint = fmt.Sprintf("make %s writable for this user, or choose another path with --socket", s.Socket)
	}
	return e
}

func (p *program) logger(s config.Settings) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "pannier", Level: hclog.LevelFromString(s.LogLevel), Output: p.err, JSONFormat: s.LogFormat == "json",
	})
}

func newMetricsRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pannier_build_info", Help: "Always 1; the labels tell which build runs.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version(), goVersion()).Set(1)
	reg.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}
