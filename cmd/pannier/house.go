package main

import (
	"context"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/config"
	"pannier/loader"
	"pannier/publish/api"
	"pannier/publish/card"
	"pannier/registry"
	"pannier/registry/resolve"
)

// house is the part of the way from the disk to an answer that the sidecar and the commands that read a bare directory
// have in common: loader, config.yaml, registry, card.
type house struct {
	settings  config.Settings
	rules     pannier.DiscoveryRules
	loader    *loader.Loader
	workspace *config.WorkspaceReader
	registry  *registry.Registry
	cards     cards
}

// newHouse returns a house that has not looked yet. o is what the registry has to know beside its inputs.
func newHouse(s config.Settings, environ []string, o registry.Options) *house {
	o.Inputs = registry.Inputs{Environment: ownEnvironment(environ, s.EnvironmentOwn), Runtime: s.Runtime}
	return &house{
		settings:  s,
		rules:     s.Rules(),
		loader:    loader.New(loader.Options{Rules: s.Rules()}),
		workspace: config.NewWorkspaceReader(s.Workspace),
		registry:  registry.New(o),
		cards:     cards{options: card.Options{URL: s.AgentURL, MaxBytes: s.CardMaxBytes}},
	}
}

// look takes in what a batch points to and returns the snapshot that follows, and what wants watching. It fails only
// when ctx is done. It is for one caller at a time.
func (h *house) look(ctx context.Context, b pannier.Batch) (*pannier.Snapshot, pannier.WatchSet, error) {
	catalog, err := h.loader.Load(ctx, b)
	if err != nil {
		return nil, pannier.WatchSet{}, err
	}
	workspace := h.workspace.Read()
	s := h.registry.Update(func(in *registry.Inputs) { in.Catalog, in.Workspace = catalog, workspace })
	return s, catalog.Watch, nil
}

// handlerOptions returns what the API composes of the house; the caller adds what only a sidecar has.
func (h *house) handlerOptions(log hclog.Logger) api.Options {
	return api.Options{
		Snapshot: h.registry.Current, Texts: h.loader, Resolve: resolve.Resolve,
		Card:           func() (card.Card, error) { return h.cards.of(h.registry.Current()) },
		AgentWorkspace: h.agentWorkspace(), MaxChars: h.settings.PromptMaxChars, Logger: log,
	}
}

// agentWorkspace returns the workspace's path as the agent sees it.
func (h *house) agentWorkspace() string {
	if h.settings.AgentWorkspace != "" {
		return h.settings.AgentWorkspace
	}
	return h.settings.Workspace
}

// cards makes the card of a snapshot once, however often it is asked for.
type cards struct {
	options card.Options
	newest  atomic.Pointer[card.Card]
}

// of returns the card of a snapshot, which must not be nil.
func (c *cards) of(s *pannier.Snapshot) (card.Card, error) {
	if made := c.newest.Load(); made != nil && made.SnapshotVersion == s.Version {
		return *made, nil
	}
	made, err := card.Build(s, c.options)
	if err != nil {
		return card.Card{}, err
	}
	c.newest.Store(&made)
	return made, nil
}
