package sidecar

import (
	"context"
	"path"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin"
	"pannier/publish/api"
	"pannier/registry"
)

// openAdmin opens the service for changes from outside. look returns a snapshot of a scan that began after the call, of the
// directories that pannier has changed.
func (c *core) openAdmin(ctx context.Context, reg prometheus.Registerer, look func(context.Context, ...string) (*pannier.Snapshot, error)) error {
	m := c.state
	scans := c.openScans(reg)
	installs, err := c.openInstalls(ctx, reg, look)
	if err != nil {
		return err
	}
	c.admin = admin.New(admin.Options{
		Audit: m.audit, Policy: m.refusals.policies, Scans: scans, Install: installs, Values: m.store, Emit: c.events.emit, Logger: c.log,
		Activity: func(ctx context.Context, p pannier.Promotion) []pannier.ActivityResult {
			return c.platforms.promote(ctx, p, c.settings.PromotionHeartbeat)
		},
		PolicyPath:  c.policyPath,
		Acknowledge: c.acknowledge,
		SetPolicies: c.setPolicies, SetEnvironment: c.setEnvironment,
	})
	c.scanning = newBackgroundScans(c.fingerprints, c.admin.ScanInBackground, reg, c.log)
	c.deepDirs = c.fingerprints.deepDirs
	set := c.admin.Policies()
	blocked, scanned := c.fingerprints.blockedBy()
	contents := c.fingerprints.restore(c.state.contents.read())
	c.registry.Prepare(func(in *registry.Inputs) {
		in.Policies.Workspace, in.Scans, in.Scanned, in.Contents, in.Lost = set, blocked, scanned, contents, m.refusals.input(nil)
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

// mutations are what the socket lets peers change.
func (c *core) mutations() api.Mutations {
	m := api.Mutations{
		PutEnvironment: c.admin.PutEnvironment, SetPolicy: c.admin.SetPolicy, Scan: c.admin.Scan, Acknowledge: c.admin.Acknowledge,
		Audit: c.state.audit.Newest, WriteUIDs: c.settings.WriteUIDs,
	}
	if c.uploads != nil {
		m.Uploads = c.uploads
	}
	return m
}
