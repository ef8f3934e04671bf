package sidecar

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/internal/state"
	"pannier/registry"
	"pannier/service"
)

// ChangesModule is the module of what clients change in a workspace: policy and blocks, the audit log, installed skills and
// uploads. It opens what the next process finds of them. A sidecar cannot be without it, because skills are judged by
// policy and blocks; it is opened with the state, before the core.
type ChangesModule func(StateHost) (ChangesStore, error)

// StateHost has what changes need of the state.
type StateHost struct {
	// Dir is the directory of the state, empty where it is kept in memory.
	Dir string
	// ReadFrom is the directory of another sidecar, whose policy and blocks are read and never written; empty for none.
	ReadFrom string
	Store    *state.Guarded
	Logger   hclog.Logger
	// Inaccessible says why the directory cannot be used, Unread why the database cannot; both are nil where they can.
	Inaccessible, Unread error
}

// ChangesStore is what the next process finds of changes: policy, verdicts and the audit log.
type ChangesStore struct {
	Audit    service.AuditLog
	Verdicts *contents.Verdicts
	// Conditions returns what health says of it.
	Conditions func() []pannier.Condition
	// RetryWrites is called again and again, beside the core. It writes what the start could not write. writable says
	// that a write to the directory has just succeeded.
	RetryWrites func(writable bool)
	Close       func() error
	// Open opens what makes changes, and hands policy and judges to the registry.
	Open func(context.Context, ChangesHost) (ChangeMaker, error)
}

// ChangesHost has what changes need of the core.
type ChangesHost struct {
	Settings config.Settings
	Rules    pannier.DiscoveryRules
	// Private says that another sidecar has the state of the workspace, and repairs what is installed.
	Private bool

	Registry *registry.Registry
	Contents *contents.Tracker
	// SetEnvironment takes in what the agent reported, and returns the snapshot that shows it.
	SetEnvironment func(pannier.Environment) *pannier.Snapshot
	// Rescan scans the changed directories and returns a snapshot of a scan that began after the call.
	Rescan func(ctx context.Context, dirs ...string) (*pannier.Snapshot, error)
	// Activity reports a promotion to the platforms.
	Activity func(context.Context, pannier.Promotion) []pannier.ActivityResult

	Emit       func(pannier.EventType, any)
	Registerer prometheus.Registerer
	Logger     hclog.Logger
}

// ChangeMaker makes the changes of clients.
type ChangeMaker struct {
	Installer service.Installer
	Changes   service.Changes
	Uploads   service.Uploads // nil where nothing can be installed
	// Versions returns the versions of a skill, Diff what changed from the one before.
	Versions func(context.Context, *pannier.Skill) (pannier.VersionList, error)
	Diff     func(context.Context, *pannier.Skill) (pannier.VersionDiff, error)
	// Environment returns the environment that the agent reported last, and false if it has reported none.
	Environment func() (env pannier.Environment, found bool, err error)
	Conditions  func() []pannier.Condition
	// Recover runs until no policy and no block is lost any more, ExpireUploads until ctx is done.
	Recover, ExpireUploads func(context.Context) error
}

// openChanges opens what makes the changes of clients. scanDirs returns a snapshot of a scan that began after the call,
// of the directories that pannier has changed.
func (c *core) openChanges(ctx context.Context, reg prometheus.Registerer, scanDirs func(context.Context, ...string) (*pannier.Snapshot, error)) (err error) {
	c.contents = contents.New(contents.Options{
		Rules: c.rules, Registry: c.registry, Verdicts: c.state.changes.Verdicts, Enforce: c.settings.Scan == config.ScanEnforce,
		Read: c.loader.Contents, Restored: c.state.contents.Read(), Keep: c.state.contents.Put, Emit: c.events.Emit, Registerer: reg, Logger: c.log,
	})
	c.deepDirs = func() []string { return append(c.watches(), c.contents.WatchDirs()...) }
	c.changes, err = c.state.changes.Open(ctx, ChangesHost{
		Settings: c.settings, Rules: c.rules, Private: c.private, Registry: c.registry, Contents: c.contents,
		SetEnvironment: c.setEnvironment, Rescan: scanDirs, Activity: c.platforms.promote, Emit: c.events.Emit, Registerer: reg, Logger: c.log,
	})
	if err != nil {
		return err
	}
	put, found, err := c.changes.Environment()
	if err != nil {
		c.log.Warn("the environment that the agent put cannot be read; the agent has to put it again", "error", err)
	}
	if found {
		c.environments.set(put)
	}
	return nil
}

func (c *core) scanDirs(ctx context.Context, dirs ...string) (*pannier.Snapshot, error) {
	snapshot, err := c.registry.Wait(ctx, c.watcher.ScanDirs(dirs...))
	if err != nil {
		return nil, err
	}
	return c.contents.AwaitRead(ctx, snapshot, dirs), nil
}

// serviceOptions returns what decides for a workspace whose state is at hand; the caller adds how it is scanned again.
func (c *core) serviceOptions() service.Options {
	o := c.engine.serviceOptions()
	o.Versions, o.Diff = c.changes.Versions, c.changes.Diff
	o.Blocks = func(s *pannier.Skill, fingerprint pannier.Digest) bool { // of a version that need not be the present one
		scanned := c.contents.Scanned(s.Path, fingerprint)
		return c.settings.Scan == config.ScanEnforce && scanned != nil && scanned.Decision == pannier.ScanBlock
	}
	o.Installer, o.Changes, o.Installed, o.Contents = c.changes.Installer, c.changes.Changes, c.stats.installed, c.contents
	return o
}
