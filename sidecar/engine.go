package sidecar

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/loader"
	"pannier/loader/scan"
	"pannier/publish/card"
	"pannier/publish/prompt"
	"pannier/publish/turn"
	"pannier/registry"
	"pannier/registry/resolve"
	"pannier/service"
)

// engine is the part of the way from the disk to an answer that the sidecar and the commands that read a bare directory
// have in common: loader, config.yaml, registry, card.
type engine struct {
	settings     config.Settings
	rules        pannier.DiscoveryRules
	loader       *loader.Loader
	workspace    *config.WorkspaceReader
	environments *environments
	watchSets    watchSetMerger
	unread       *unreadable // nil where no card is pushed
	registry     *registry.Registry
	resolver     *resolve.Resolver // keeps one index of words for turns and searches
	cards        cardCache
	// onWorkspaceChange receives what changed in config.yaml and the files of the system prompt since the last scan;
	// optional.
	onWorkspaceChange func(pannier.WorkspaceChanged)
	// onEnvironmentChange receives a new environment that skills are judged by; optional.
	onEnvironmentChange func(pannier.Environment)
	// loaderSet is the loader's watch set of the last scan. deepDirs adds directories inside of skills; optional.
	loaderSet pannier.WatchSet
	deepDirs  func() []string
	// running is the workspace that the agent is taken to run with, as it was at the first scan with a config.yaml or
	// when the agent last reported its environment; latest is as it was at the last scan.
	running, latest atomic.Pointer[pannier.Workspace]
}

// newEngine returns an engine before its first scan. o is what the registry has to know beside its inputs.
func newEngine(s config.Settings, environ []string, o registry.Options) *engine {
	judgedBy := &environments{
		own: OwnEnvironment(environ, s.Environment.Own), file: config.NewEnvironmentReader(s.Environment.File),
	}
	o.Inputs.Environment, o.Inputs.Policies.Gateway = judgedBy.effective(), s.Policy.Skills
	o.Inputs.MinimumTrust = s.Trust.Minimum
	e := &engine{
		environments: judgedBy,
		settings:     s,
		rules:        s.DiscoveryRules,
		loader:       loader.New(loader.Options{Rules: s.DiscoveryRules, DeleteGrace: s.Watch.DeleteGrace, Scripts: offersScripts(s)}),
		workspace:    config.NewWorkspaceReader(s.Workspace, s.Watch.DeleteGrace),
		registry:     registry.New(o),
		cards:        cardCache{builder: card.NewBuilder(card.Options{URL: s.Agent.URL, MaxBytes: maxCardBytes})},
	}
	e.resolver = &resolve.Resolver{Rules: e.turnRules()}
	e.setContents(nil)
	return e
}

// maxReads is how often skills and config.yaml are read because the volume that they lie in was swapped between them.
const maxReads = 4

// reload takes in what a batch points to and returns the snapshot that follows, and what wants watching. It fails only
// when ctx is done. It is for one caller at a time.
func (e *engine) reload(ctx context.Context, b pannier.Batch) (*pannier.Snapshot, pannier.WatchSet, error) {
	// The card of what was not asked for may wait.
	paced := b.Trigger != pannier.TriggerStart && b.Trigger != pannier.TriggerManual && len(b.OwnChanges) == 0
	var catalog pannier.Catalog
	var workspace pannier.Workspace
	for try := 1; try == 1 || try <= maxReads && !e.loader.Steady(); try++ { // until both belong together
		var err error
		if catalog, err = e.loader.Load(ctx, b); err != nil {
			return nil, pannier.WatchSet{}, err
		}
		workspace = e.workspace.Read()
		b.Full = true
	}
	fileProblems, reported := e.environments.readFile()
	workspace.Problems = slices.Concat(
		workspace.Problems, config.Misplaced(e.rules), fileProblems, e.openToolsProblems(),
		e.unread.problems(catalog, workspace),
	)
	if running := e.running.Load(); running == nil || running.Fields == nil || reported {
		e.running.Store(&workspace)
	}
	items := configItems(e.settings.Workspace, catalog.Skills, workspace.Keys)
	s := e.registry.Update(func(in *registry.Inputs) {
		in.Catalog, in.Workspace, in.Config, in.Environment = catalog, workspace, items, e.environments.effective()
		in.Workspace.Runtime = e.running.Load().Runtime
		in.Paced = paced
	})
	// Changes are reported after the update, so that a subscriber finds them served.
	if before := e.latest.Swap(&workspace); before != nil && e.onWorkspaceChange != nil {
		if changes, any := config.Changes(*before, workspace); any {
			e.onWorkspaceChange(changes)
		}
	}
	e.reportEnvironmentChange()
	e.loaderSet = catalog.Watch
	return s, e.watchSet(), nil
}

// watchSet returns what wants watching after the last scan. It is for the caller of reload.
func (e *engine) watchSet() pannier.WatchSet {
	extra := slices.Concat(e.workspace.Watched(), e.environments.file.Watched())
	if e.deepDirs != nil {
		extra = append(extra, e.deepDirs()...)
	}
	return e.watchSets.merge(e.loaderSet, extra, e.workspace.Entries())
}

// scanAll scans everything, for callers without a watcher.
func (e *engine) scanAll(ctx context.Context) (*pannier.Snapshot, error) {
	s, _, err := e.reload(ctx, pannier.Batch{Full: true, Trigger: pannier.TriggerManual})
	return s, err
}

// scanAllWithContents scans everything and reads the files of the skills, which a sidecar does in the background.
// brief reads only those of skills that lack a description.
func (e *engine) scanAllWithContents(ctx context.Context, brief bool) (*pannier.Snapshot, error) {
	s, err := e.scanAll(ctx)
	if err != nil {
		return nil, err
	}
	found := contents.ReadAll(ctx, s.Entries, brief, e.loader.Contents)
	if err := ctx.Err(); err != nil || len(found) == 0 {
		return s, err
	}
	e.setContents(found)
	return e.registry.Rejudge(), nil
}

// setContents has skills judged by what was found in their files, and by no verdict. Where scans are enforced, they
// are pending.
func (e *engine) setContents(found map[string]pannier.Contents) {
	judge := contents.JudgeFound(found, e.settings.Scan == config.ScanEnforce)
	e.registry.Prepare(
		func(in *registry.Inputs) { in.Judges = []func() registry.Judge{func() registry.Judge { return judge }} },
	)
}

// setEnvironment takes in what the agent put, and returns the snapshot that shows it. An agent reports when it has
// started, so it runs with the config.yaml of now.
func (e *engine) setEnvironment(env pannier.Environment) *pannier.Snapshot {
	e.environments.set(env)
	s := e.registry.Update(func(in *registry.Inputs) {
		in.Environment = e.environments.effective()
		if latest := e.latest.Load(); latest != nil {
			e.running.Store(latest)
			in.Workspace.Runtime = latest.Runtime
		}
	})
	e.reportEnvironmentChange()
	return s
}

// reportEnvironmentChange reports the environment by which skills are judged if it differs from the last one reported.
func (e *engine) reportEnvironmentChange() {
	if env, changed := e.environments.markReported(); changed && e.onEnvironmentChange != nil {
		e.onEnvironmentChange(env)
	}
}

// serviceOptions returns what decides about contents of skills; the caller adds what only a sidecar has.
func (e *engine) serviceOptions() service.Options {
	o := service.Options{
		Snapshot: e.registry.Current, Commands: service.Commands{List: resolve.Commands, Find: resolve.Command}, Ranked: e.resolver.Find,
		Environment: e.environments.effective, Reading: service.Reading{
			Texts: e.loader, Inspect: e.loader.Inspect,
			OpenFile: func(ctx context.Context, s *pannier.Skill, path string) (service.File, error) {
				f, err := e.loader.Open(ctx, s, path)
				if err != nil {
					return nil, err
				}
				return f, nil
			},
			Directory: func(s *pannier.Skill) string { return filepath.Dir(prompt.Location(s, e.agentWorkspace())) },
		},
	}
	if !e.settings.TurnEvents.Text {
		o.Mask = scan.MaskSecrets
	}
	return o
}

// turnOptions returns what answers turns; the caller adds what only a sidecar has.
func (e *engine) turnOptions(decides *service.Service) turn.Options {
	return turn.Options{
		Service: decides, Resolve: e.resolver.Resolve, Resources: e.loader.Resources, AgentWorkspace: e.agentWorkspace(),
		Format: e.settings.Prompt.Format, MaxChars: e.settings.Prompt.MaxChars,
		Events: turn.Events{
			PerMinute: e.settings.TurnEvents.PerMinute, Text: e.settings.TurnEvents.Text, Mask: scan.MaskSecrets,
		},
	}
}

// card returns the agent card of the newest snapshot, which must be there.
func (e *engine) card() card.Card { return e.cards.get(e.registry.Current()) }

// maxCardBytes bounds a card; a larger one is trimmed.
const maxCardBytes = 256 << 10

// turnRules returns the part of policy that is about turns.
func (e *engine) turnRules() resolve.Rules {
	t := e.settings.Tools
	p := e.settings.Policy
	return resolve.Rules{Profile: p.Profile, Overrides: resolve.OverrideRules(p.Overrides), Tooling: resolve.ToolRules{
		Enabled: t.Enabled, Kinds: t.Kinds, Scripts: offersScripts(e.settings), Trust: toolTrust(t),
	}}
}

// offersScripts reports whether scripts are tools. Otherwise no file is read to find them.
func offersScripts(s config.Settings) bool {
	return slices.Contains(s.Tools.Kinds, pannier.RuntimeScript)
}

// toolTrust returns the trust that a skill needs for its tools of a kind.
func toolTrust(t config.Tools) func(pannier.RuntimeToolKind) pannier.Trust {
	if t.Trust == "" {
		return resolve.ToolTrust
	}
	return func(pannier.RuntimeToolKind) pannier.Trust { return t.Trust }
}

// openToolsProblems reports that skills may add to the tools of an agent, where policy allows it. A reader of the
// workspace has to see that later. It is part of the snapshot, so that turns which are resolved by other rules have
// another digest.
func (e *engine) openToolsProblems() []pannier.Problem {
	if e.settings.Policy.Profile != pannier.ProfileFullAuto {
		return nil
	}
	return []pannier.Problem{{
		Code: "policy.tools.open", Severity: pannier.SeverityInfo, Path: "pannier.yaml",
		Message: "the settings say policy.profile: full_auto, so the skills of a turn may add to the tools of the agent",
		Hint:    "leave it out where skills come from others; they can then only narrow them",
	}}
}

// agentWorkspace returns the workspace's path as the agent sees it.
func (e *engine) agentWorkspace() string {
	if e.settings.Agent.Workspace != "" {
		return e.settings.Agent.Workspace
	}
	return e.settings.Workspace
}

// cardCache makes the card of a snapshot once, however often it is asked for.
type cardCache struct {
	newest  atomic.Pointer[card.Card]
	mu      sync.Mutex // held while a card is made
	builder *card.Builder
}

// get returns the card of a snapshot, which must not be nil.
func (c *cardCache) get(s *pannier.Snapshot) card.Card {
	if made := c.newest.Load(); made != nil && made.SnapshotVersion == s.Version {
		return *made
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.builder.Build(s)
	c.newest.Store(&made)
	return made
}
