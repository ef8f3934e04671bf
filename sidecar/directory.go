package sidecar

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/publish/api"
	"pannier/publish/rpc"
	"pannier/publish/turn"
	"pannier/registry"
	"pannier/service"
)

// Directory is a workspace that is read without a running sidecar, through the same code.
type Directory struct {
	// Handler answers what a sidecar's socket answers, but for health and events.
	Handler *api.Handler
	// Service decides for the handler.
	Service *service.Service
	// Snapshot is that of the scan that opened the directory.
	Snapshot *pannier.Snapshot
	Rules    pannier.DiscoveryRules
	// Resources reads the links and examples of a skill.
	Resources func(context.Context, *pannier.Skill) (pannier.Resources, error)
	// Tools returns the runtime tools of all usable skills, and those that are excluded.
	Tools func(*pannier.Snapshot) ([]pannier.RuntimeTool, []pannier.ExcludedTool)
	// Fingerprint computes the fingerprint of a skill as it is on disk.
	Fingerprint func(context.Context, *pannier.Skill) (pannier.Digest, error)
}

// DirectoryOptions say how a directory is read.
type DirectoryOptions struct {
	Settings config.Settings
	Environ  []string // the environment of the process, as [os.Environ] returns it
	// Policies are the policies that clients have set.
	Policies map[pannier.PolicyKey]pannier.PolicyEntry
	// Emit receives the events of requests to the handler, of every turn with its text; optional.
	Emit func(pannier.EventType, any)
	// Brief reads the files only of skills that lack a description. The digests, and what depends on tools, are then
	// not those of a sidecar.
	Brief bool
}

// ReadDirectory scans the workspace once, and again at each rescan that the handler is asked for.
func ReadDirectory(ctx context.Context, o DirectoryOptions) (*Directory, error) {
	ro := registry.Options{FirstVersion: uint64(time.Now().UnixMilli())}
	ro.Inputs.Policies.Workspace = o.Policies
	h := newEngine(o.Settings, o.Environ, ro)
	s, err := h.scanAllWithContents(ctx, o.Brief)
	if err != nil {
		return nil, err
	}
	so := h.serviceOptions()
	so.Rescan = func(ctx context.Context, _ bool) (*pannier.Snapshot, error) {
		return h.scanAllWithContents(ctx, o.Brief)
	}
	if so.Emit = o.Emit; o.Emit != nil {
		so.Mask = nil
	}
	decides := service.New(so)
	turns := h.turnOptions(decides)
	if o.Emit != nil {
		turns.Events = turn.Events{PerMinute: config.TurnEventsAll, Text: true}
	}
	rules := h.turnRules()
	return &Directory{
		Handler: newBareHandler(api.Options{
			Service: decides, Turns: turn.New(turns), Reports: api.Reports{Card: h.card},
		}),
		Service: decides, Snapshot: s, Rules: h.rules, Resources: h.loader.Resources, Tools: rules.Tools,
		Fingerprint: func(ctx context.Context, s *pannier.Skill) (pannier.Digest, error) {
			return contents.FingerprintOf(ctx, h.rules, s)
		},
	}, nil
}

// newBareHandler returns what answers where no core runs: for a directory, which has no health, and during a start.
func newBareHandler(o api.Options) *api.Handler {
	if o.Health == nil {
		o.Health = func() pannier.Health { return pannier.Health{} }
	}
	o.RPC = rpc.NewSkills(rpc.Skills{
		Service: o.Service, Turns: o.Turns, Logger: o.Service.Logger, MaxConns: api.CapacityNow().WebSockets,
	})
	return api.New(o)
}

// ChangeDirectory opens a workspace for changes while no sidecar runs for it. It holds the state of the workspace
// until end is called, as a sidecar does, so that changes are audited and no sidecar starts meanwhile.
func ChangeDirectory(
	ctx context.Context, s config.Settings, environ []string, open ChangesModule, log hclog.Logger,
) (h *api.Handler, end func(), err error) {
	reg := prometheus.NewRegistry()
	state, err := openStateDir(s, false, open, reg, log)
	if err != nil {
		return nil, nil, err
	}
	c := &core{
		engine: newEngine(s, environ, state.registryOptions()), log: log, state: state, platforms: &publishers{},
		stats: newStats(),
	}
	c.events = state.newEvents(s.WorkspaceID, c.registry.Current)
	look := func(ctx context.Context, _ ...string) (*pannier.Snapshot, error) { return c.scanAll(ctx) }
	err = c.openChanges(ctx, reg, look)
	if err == nil {
		_, err = look(ctx)
	}
	if err != nil {
		state.close(true)
		return nil, nil, err
	}
	so := c.serviceOptions()
	so.Rescan = func(ctx context.Context, _ bool) (*pannier.Snapshot, error) { return look(ctx) }
	decides := service.New(so)
	return newBareHandler(api.Options{
		Service: decides, Turns: turn.New(c.turnOptions(decides)), Reports: api.Reports{Card: c.card}, MaxArchiveBytes: s.Install.MaxCompressedBytes,
	}), func() { state.close(true) }, nil
}
