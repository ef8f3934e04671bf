package sidecar

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin"
	"pannier/admin/refusals"
	"pannier/config"
	"pannier/contents"
	"pannier/registry"
)

// openAdmin opens the service for changes from outside. scanDirs returns a snapshot of a scan that began after the call, of the
// directories that pannier has changed.
func (c *core) openAdmin(ctx context.Context, reg prometheus.Registerer, scanDirs func(context.Context, ...string) (*pannier.Snapshot, error)) error {
	dir := c.state
	verdicts := dir.policy.Verdicts
	c.contents = contents.New(contents.Options{
		Rules: c.rules, Registry: c.registry, Verdicts: verdicts, Enforce: c.settings.Scan == config.ScanEnforce,
		Read: c.loader.Contents, Restored: dir.contents.Read(), Keep: dir.contents.Put, Emit: c.events.Emit, Registerer: reg, Logger: c.log,
	})
	installs, err := c.openInstalls(ctx, reg, scanDirs)
	if err != nil {
		return err
	}
	c.admin = admin.New(admin.Options{
		Audit: dir.audit, Policy: dir.policy.Policies, Install: installs, Values: dir.store, Emit: c.events.Emit, Logger: c.log,
		Scans: admin.ScanOptions{
			IsRule: contents.IsRule, Ruleset: c.contents.Ruleset(), Verdicts: verdicts, Fingerprint: c.contents.Compute, Scan: c.contents.Scan,
			ApplyVerdict: c.contents.Apply,
		},
		Activity: func(ctx context.Context, p pannier.Promotion) []pannier.ActivityResult {
			return c.platforms.promote(ctx, p)
		},
		PolicyPath:  c.policyPath,
		Acknowledge: c.acknowledge,
		SetPolicies: c.setPolicies, SetEnvironment: c.setEnvironment,
	})
	c.deepDirs = func() []string { return append(c.watches(), c.contents.WatchDirs()...) }
	set := c.admin.Policies()
	c.registry.Prepare(func(in *registry.Inputs) {
		in.Policies.Workspace = set
		in.Judges = []func() registry.Judge{dir.policy.Judge, c.contents.Judge}
	})
	put, found, err := c.admin.Environment()
	if err != nil {
		c.log.Warn("the environment that the agent put cannot be read; the agent has to put it again", "error", err)
	}
	if found {
		c.environments.set(put)
	}
	return nil
}

// policyPath returns the directory that a policy of a key is about; see [admin.Options.PolicyPath].
func (c *core) policyPath(key pannier.PolicyKey) string {
	if s := c.registry.Current(); s != nil {
		if e, ok := s.Holder(key); ok {
			return e.Path
		}
	}
	root := string(key.SourceKind) // settings without a root of the kind
	if i := slices.IndexFunc(c.rules.Roots, func(r pannier.Root) bool { return r.Kind == key.SourceKind }); i >= 0 {
		root = c.rules.Roots[i].Name
	}
	return path.Join(root, key.Slug)
}

// acknowledge ends a condition that lasts until an operator acknowledges it.
func (c *core) acknowledge(condition string) (*pannier.Snapshot, error) {
	known, err := c.state.policy.Acknowledge(condition)
	switch {
	case err != nil:
		return nil, err
	case known:
		return c.showRefusals(), nil
	}
	return c.registry.Current(), nil
}

// showRefusals hands policy and blocks to the registry once they are known.
func (c *core) showRefusals() *pannier.Snapshot {
	set := c.state.policy.Policies.All()
	return c.registry.Update(func(in *registry.Inputs) { in.Policies.Workspace = set })
}

// recoverRefusals scans skills until nothing is lost any more.
func (c *core) recoverRefusals(ctx context.Context) error {
	return c.state.policy.Recover(ctx, refusals.Recovery{
		Registry: c.registry,
		Scan: func(ctx context.Context, s *pannier.Skill) error {
			report, _, err := c.admin.Scan(ctx, pannier.Actor{Kind: pannier.ActorSidecar}, s, pannier.ScanRequest{})
			if err == nil && report.Unkept != "" && report.Truncated {
				err = errors.New(report.Unkept)
			}
			return err
		},
		Recovered: func() { c.showRefusals() },
	})
}
