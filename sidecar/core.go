package sidecar

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/internal/journal"
	"pannier/internal/memory"
	"pannier/publish/answer"
	"pannier/publish/api"
	"pannier/publish/card"
	"pannier/publish/rpc"
	"pannier/publish/turn"
	"pannier/registry"
	"pannier/registry/resolve"
	"pannier/service"
	"pannier/watcher"
)

// core is a running engine: it watches, serves and pushes.
type core struct {
	*engine
	build       Build
	private     bool // see [Options.Private]
	log         hclog.Logger
	state       *stateDir
	contents    *contents.Tracker
	scanMetrics *scanMetrics
	stats       *stats
	watcher     *watcher.Watcher
	platforms   *publishers
	events      *journal.Queue
	changes     ChangeMaker
	listeners   *listeners

	systemd          *systemdNotifier // nil where systemd did not start this process
	takeovers        registry.Takeovers
	memory           memory.Releaser
	parts            []openPart // of modules
	scans            scanProgress
	lastSkillsHealth atomic.Pointer[skillsHealth]
}

// scanProgress is how far scans have come.
type scanProgress struct {
	reported  atomic.Pointer[pannier.Snapshot] // the newest that was reported, nil before the first
	announced pannier.Digest                   // of the newest skill_catalog_updated; belongs to report
	last      atomic.Pointer[time.Time]        // when the last scan ended, nil before the first
	batch     atomic.Uint64                    // the Seq of the batch that was taken in last
	done      chan struct{}                    // has a value after a batch was taken in
}

// run runs the parts that the way from the disk to the platforms is made of.
func (c *core) run(ctx context.Context, all *tasks, hangups <-chan os.Signal) {
	endless := func(name string, part func(context.Context)) {
		all.run(ctx, name, func(ctx context.Context) error { part(ctx); return nil })
	}
	all.run(ctx, "watcher", c.watcher.Run)
	endless("batches", c.processBatches)
	all.run(ctx, "recovery", c.changes.Recover)
	endless("contents", c.contents.Run)
	if c.settings.Scan != config.ScanOff {
		endless("security scans", c.contents.RunScans)
	}
	endless("hangups", func(ctx context.Context) { c.rescanOnHangup(ctx, hangups) })
	endless("touches", c.fingerprintTouched)
	endless("announcements", c.announce)
	all.run(ctx, "uploads", c.changes.ExpireUploads)
	endless("systemd", func(ctx context.Context) {
		c.awaitWatched(ctx)
		snapshots, cancel := c.registry.Subscribe()
		defer cancel()
		c.systemd.follow(ctx, snapshots, c.livenessError)
	})
	endless("platforms", c.platforms.run)
	for _, p := range c.parts {
		if p.Run != nil {
			all.run(service.WithModule(ctx, p.name), p.name, p.Run)
		}
	}
}

func (s *Sidecar) newCore(ctx context.Context, state *stateDir, to remote) (*core, error) {
	o := state.registryOptions()
	o.Registerer = s.reg
	c := &core{
		engine: newEngine(s.Settings, s.Environ, o), build: s.Build, private: s.Private, log: s.log, state: state,
		scanMetrics: newScanMetrics(s.reg), stats: newStats(), listeners: s.listeners,
	}
	c.scans.done = make(chan struct{}, 1)
	memory.Limit()
	c.loader.Restore(state.parsed.read(), state.parsed.key)
	if !c.private { // systemd started the host
		c.systemd = newSystemdNotifier(s.log)
	}
	c.events = state.newEvents(s.Settings.WorkspaceID, c.registry.Current)
	c.onWorkspaceChange = func(changes pannier.WorkspaceChanged) { c.events.Emit(pannier.EventWorkspaceChanged, changes) }
	c.onEnvironmentChange = func(env pannier.Environment) { c.events.Emit(pannier.EventEnvironmentChanged, env.Changed()) }
	var err error
	watch := s.Settings.Watch
	c.watcher, err = watcher.New(watcher.Options{
		Rules: c.rules, Settle: watch.Settle, MaxWait: watch.MaxWait, Resync: watch.Resync, Mode: watcher.Mode(watch.Mode),
		Logger: s.log, Registerer: s.reg,
	})
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	to.tried = c.stats.pushed
	to.settling = func(offered pannier.Digest) bool {
		return !c.watcher.Quiet(c.scans.batch.Load()) || c.cards.get(c.registry.Current()).Digest != offered
	}
	to.newest = func() (none card.Card) {
		// Events of a change come before the event that a platform has its card.
		if told := c.scans.reported.Load(); told != nil && c.isPushable(told) {
			return c.cards.get(told)
		}
		return none
	}
	c.platforms, err = newPublishers(s.Settings, to, c.events.Emit, s.reg, s.log)
	if err != nil {
		return nil, err
	}
	if len(c.platforms.all) > 0 {
		c.unread = &unreadable{roots: c.rules.Roots, read: map[string]bool{}}
	}
	if err := c.openChanges(ctx, s.reg, c.scanDirs); err != nil {
		return nil, err
	}
	return c, nil
}

// handler composes what the socket answers with.
func (c *core) handler(reg prometheus.Registerer, metrics http.Handler, opts Options) (*api.Handler, error) {
	so := c.serviceOptions()
	so.Emit, so.Audit = c.events.Emit, c.state.changes.Audit
	so.Rescan = func(ctx context.Context, wait bool) (*pannier.Snapshot, error) {
		seq := c.requestRescan()
		if !wait {
			return c.registry.Current(), nil
		}
		return c.registry.Wait(ctx, seq)
	}
	so.Logger, so.Registerer = c.log.Named("api"), reg
	so.Rights = service.Rights{WriteUIDs: c.settings.Socket.WriteUIDs, CallUIDs: c.settings.Tools.CallUIDs}
	so.Uploads = c.changes.Uploads
	decides := service.New(so)
	turns := c.turnOptions(decides)
	turns.Resources, turns.Peers, turns.Events.Emit, turns.Registerer = c.resources, c.platforms.peers, c.events.Offer, reg
	o := api.Options{
		Service: decides, Turns: turn.New(turns), Shared: &answer.Shared{}, MaxArchiveBytes: c.settings.Install.MaxCompressedBytes,
		Reports: api.Reports{
			Health: c.health, Stats: c.stats.read, Alive: c.livenessError, Watched: c.isReady, Card: c.card, CardStatus: c.platforms.cards, Peers: c.platforms.peers,
		},
		Events: &api.EventSource{
			Follow: func(after uint64) api.EventReader { return c.state.journal.Follow(after) }, Last: c.events.Last, WorkspaceID: c.settings.WorkspaceID,
			Whole: func(s *pannier.Snapshot) pannier.CatalogUpdated { return registry.Diff(nil, s, c.rules) },
		},
		Metrics: metrics, Registerer: reg, Logger: so.Logger,
	}
	rules := c.turnRules()
	host := Host{
		Settings: c.settings, Environ: opts.Environ, Build: c.build, Registerer: reg, Snapshot: c.registry.Current, Service: decides,
		RuntimeTools: rules.Tools, Overridden: rules.Overridden, Contents: c.contentsForModules(), AgentWorkspace: c.agentWorkspace(),
		Subscribe: c.registry.Subscribe, Manifest: c.loader.RecentManifest, Emit: c.events.Emit, Offer: c.events.Offer,
		WatchesChanged: c.contents.RequestWatch,
	}
	err := c.openModules(opts.Modules, host)
	if err != nil {
		return nil, err
	}
	for _, p := range c.parts {
		o.Routes = append(o.Routes, p.Routes...)
	}
	o.RPC = rpc.NewSkills(rpc.Skills{
		Service: o.Service, Turns: o.Turns, Shared: o.Shared, WorkspaceID: c.settings.WorkspaceID,
		Workspace: c.settings.Workspace, MinimumTrust: c.settings.Trust.Minimum, ToolTrust: toolTrust(c.settings.Tools),
		Rejection: resolve.Rejection, Updated: c.modified, Subscribe: c.registry.Subscribe,
		MaxConns: api.CapacityNow().WebSockets, Logger: o.Logger, Registerer: o.Registerer,
	})
	h := api.New(o)
	c.memory.OnQuiet = o.Shared.DropLarge
	return h, nil
}

// resources reads the links and examples of a skill, unless it is known to have none.
func (c *core) resources(ctx context.Context, s *pannier.Skill) (pannier.Resources, error) {
	if known := c.contents.Known(s); !known.Fingerprint.IsZero() && !known.Parts.Resources {
		return pannier.Resources{}, nil
	}
	return c.loader.Resources(ctx, s)
}

// processBatches takes in one batch after the other until ctx is done. The first scan runs while directories are
// armed. What changes between the two is found by the start batch, which follows the arming.
func (c *core) processBatches(ctx context.Context) {
	c.processBatch(ctx, pannier.Batch{Full: true, Trigger: pannier.TriggerStart, Since: time.Now()})
	for {
		select {
		case <-ctx.Done():
			c.state.parsed.keep(c.loader, true)
			return
		case b := <-c.watcher.Batches():
			c.processBatch(ctx, b)
		case <-c.contents.WatchChanged():
			c.watcher.Watch(c.watchSet())
		}
	}
}

// slowScan is how long a scan may take before the log has a warning: most often a file system hardly answers.
const slowScan = 5 * time.Second

func (c *core) processBatch(ctx context.Context, b pannier.Batch) {
	before, start := c.registry.Current(), time.Now()
	after, watch, err := c.reload(ctx, b)
	if err != nil {
		return // ctx is done
	}
	now := time.Now()
	took := now.Sub(start)
	c.scans.last.Store(&now)
	c.watcher.Watch(watch)
	wake, due := c.loader.Revisit(), c.workspace.Due() // when a scan is wanted although nothing has changed; zero is never
	if wake.IsZero() || !due.IsZero() && due.Before(wake) {
		wake = due
	}
	c.watcher.RevisitAt(wake)
	c.scans.batch.Store(b.Seq)
	select {
	case c.scans.done <- struct{}{}:
	default: // it has a value already
	}
	changed := before == nil || before.Version != after.Version
	c.scanMetrics.observe(b.Trigger, changed, took, after.Problems)
	c.stats.reloaded(took)
	level := hclog.Debug
	if took > slowScan {
		level = hclog.Warn
	}
	c.log.Log(
		level, "scanned", "seq", b.Seq, "trigger", b.Trigger, "full", b.Full, "dirs", len(b.Dirs), "changed", changed,
		"took", took,
	)
	if changed || len(b.Dirs) > 0 {
		c.filesChanged()
	}
	c.contents.Observe(b, changed)
	if b.Seq > 0 { // not while the start goes on
		c.state.parsed.keep(c.loader, false)
	}
	if b.Full && !changed {
		c.memory.RecordRest()
	}
}

// watched reports whether all of the workspace is watched, as far as it can be.
func (c *core) watched() bool { return isDone(c.watcher.Armed()) }

func isDone(closed <-chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// isReady reports whether all of the workspace is watched and the journal has the first catalog, so that no event
// about a turn of a client that waits for this comes before it.
func (c *core) isReady() bool { return c.watched() && c.scans.reported.Load() != nil }

// awaitWatched waits until all of the workspace is watched, or ctx is done.
func (c *core) awaitWatched(ctx context.Context) {
	select {
	case <-c.watcher.Armed():
	case <-ctx.Done():
	}
}

// touchedEvery is the least time between two requests of [core.fingerprintTouched]. Under enforce a changed script is
// to block its skill within a second.
const touchedEvery = 500 * time.Millisecond

// fingerprintTouched has fingerprints computed where files of skills changed that no scan of the catalog shows.
func (c *core) fingerprintTouched(ctx context.Context) {
	c.awaitWatched(ctx)
	c.contents.HintAll() // files may have changed after their fingerprint and before their directory was armed
	c.contents.Request()
	var pause <-chan time.Time // not nil after a request, until the next one may follow
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return
		case dirs := <-c.watcher.Touched():
			if dirs == nil {
				c.contents.HintAll()
			} else {
				c.contents.Hint(dirs)
			}
			c.filesChanged()
			waiting = true
		case <-pause:
			pause = nil
		}
		if waiting && pause == nil {
			c.contents.Request()
			pause, waiting = time.After(touchedEvery), false
		}
	}
}

// report emits what is new in a snapshot.
func (c *core) report(before, s *pannier.Snapshot) {
	update, transitions := registry.Diff(before, s, c.rules), registry.Transitions(before, s)
	c.logReport(before, s, update.Changed, transitions)
	if !isPassing(update, s, c.scans.announced) {
		c.scans.announced = update.Digest
		c.events.Emit(pannier.EventCatalogUpdated, update)
	}
	logSkills(c.log, before, s) // before the events: see terminalLog.reported
	for _, warning := range registry.Warnings(before, s) {
		c.events.Emit(pannier.EventSkillWarning, warning)
	}
	c.takeovers.Observe(before, s)
	for _, change := range transitions {
		c.events.Emit(pannier.EventSkillStateChanged, change)
	}
}

// isPassing reports whether an update shows nothing that is new to those who know the announced catalog: a removed
// skill that is kept for delete_grace, or its return. The snapshot at the end of the grace is announced.
func isPassing(update pannier.CatalogUpdated, s *pannier.Snapshot, announced pannier.Digest) bool {
	if announced.IsZero() || len(update.Added)+len(update.Changed)+len(update.Removed) > 0 {
		return false
	}
	return update.Digest == announced || len(s.Held().Deleting) > 0
}

// offer hands the card of a snapshot to the platforms, if it may be pushed.
func (c *core) offer(s *pannier.Snapshot) {
	if c.isPushable(s) {
		c.platforms.offer(c.cards.get(s))
	}
}

// isPushable reports whether the card of a snapshot may be pushed. While not all is known of the workspace that a card
// describes, it must not take the place of what the platform holds; nor must one without the skills that are not read
// yet, where scans are enforced, or one of a first scan that goes on while directories are armed.
func (c *core) isPushable(s *pannier.Snapshot) bool {
	unknown := slices.ContainsFunc(s.Problems, func(p pannier.Problem) bool {
		return p.Code == config.CodeWorkspaceMissing || p.Code == codeCardWithheld || p.Code == codeStateLost
	})
	return !unknown && isDone(c.contents.FirstRead()) && c.watched()
}

// requestRescan asks for a scan of everything, and has the card offered again to platforms that have refused it.
func (c *core) requestRescan() (seq uint64) {
	for _, pub := range c.platforms.all {
		pub.Retry()
	}
	return c.watcher.Rescan()
}

// rescanOnHangup scans everything again at each SIGHUP, and notifies systemd when that begins and ends.
func (c *core) rescanOnHangup(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		c.log.Info("scanning everything again", "cause", "SIGHUP")
		if c.registry.Current() == nil || !c.watched() { // before the sidecar is ready there is nothing to load again
			c.requestRescan()
			continue
		}
		done := c.systemd.reloading()
		if _, err := c.registry.Wait(ctx, c.requestRescan()); err == nil {
			done()
		}
	}
}

// modified returns when the SKILL.md of a skill was last written, or the directory of one that has none. The zero
// time is not known.
func (c *core) modified(s *pannier.Skill) time.Time {
	path := filepath.FromSlash(s.FilePath())
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.settings.Workspace, path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
