package sidecar

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin/changes"
	"pannier/config"
	"pannier/contents"
	"pannier/service"
)

// openChanges opens what makes the changes of clients. scanDirs returns a snapshot of a scan that began after the call, of the
// directories that pannier has changed.
func (c *core) openChanges(ctx context.Context, reg prometheus.Registerer, scanDirs func(context.Context, ...string) (*pannier.Snapshot, error)) (err error) {
	c.contents = contents.New(contents.Options{
		Rules: c.rules, Registry: c.registry, Verdicts: c.state.changes.Refusals.Verdicts, Enforce: c.settings.Scan == config.ScanEnforce,
		Read: c.loader.Contents, Restored: c.state.contents.Read(), Keep: c.state.contents.Put, Emit: c.events.Emit, Registerer: reg, Logger: c.log,
	})
	c.deepDirs = func() []string { return append(c.watches(), c.contents.WatchDirs()...) }
	c.changes, err = changes.Open(ctx, changes.Host{
		Settings: c.settings, Rules: c.rules, Private: c.private, State: c.state.changes, Registry: c.registry, Contents: c.contents,
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
	o.Versions, o.Diff, o.Blocks = c.changes.Installed.Versions, c.changes.Installed.Diff, c.blocksVersion
	o.Installer, o.Changes, o.Installed, o.Contents = c.changes, c.changes, c.stats.installed, c.contents
	return o
}

// blocksVersion reports whether the security scan of a version of a skill, which need not be the present one, blocks it.
func (c *core) blocksVersion(s *pannier.Skill, fingerprint pannier.Digest) bool {
	scanned := c.contents.Scanned(s.Path, fingerprint)
	return c.settings.Scan == config.ScanEnforce && scanned != nil && scanned.Decision == pannier.ScanBlock
}
