package sidecar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
	"pannier/config"
	"pannier/contents"
	"pannier/internal/policyfile"
	"pannier/publish/api"
	"pannier/registry"
)

// openAdmin opens the service for changes from outside. scanDirs returns a snapshot of a scan that began after the call, of the
// directories that pannier has changed.
func (c *core) openAdmin(ctx context.Context, reg prometheus.Registerer, scanDirs func(context.Context, ...string) (*pannier.Snapshot, error)) error {
	dir := c.state
	verdicts := dir.policy.verdicts
	c.contents = contents.New(contents.Options{
		Rules: c.rules, Registry: c.registry, Verdicts: verdicts, Enforce: c.settings.Scan == config.ScanEnforce, Installers: c.settings.ScanInstallers,
		Read: c.loader.Contents, Restored: dir.contents.read(), Keep: dir.contents.writer.Put, Emit: c.events.Emit, Registerer: reg, Logger: c.log,
	})
	installs, err := c.openInstalls(ctx, reg, scanDirs)
	if err != nil {
		return err
	}
	c.admin = admin.New(admin.Options{
		Audit: dir.audit, Policy: dir.policy.policies, Install: installs, Values: dir.store, Emit: c.events.Emit, Logger: c.log,
		Scans: admin.ScanOptions{
			IsRule: contents.IsRule, Ruleset: c.contents.Ruleset(), Verdicts: verdicts, Fingerprint: c.contents.Compute, Scan: c.contents.Scan,
			ApplyVerdict: c.contents.Apply,
		},
		Activity: func(ctx context.Context, p pannier.Promotion) []pannier.ActivityResult {
			return c.platforms.promote(ctx, p, c.settings.PromotionHeartbeat)
		},
		PolicyPath:  c.policyPath,
		Acknowledge: c.acknowledge,
		SetPolicies: c.setPolicies, SetEnvironment: c.setEnvironment,
	})
	c.deepDirs = func() []string { return append(c.watches(), c.contents.WatchDirs()...) }
	set := c.admin.Policies()
	c.registry.Prepare(func(in *registry.Inputs) {
		in.Policies.Workspace = set
		in.Judges = []func() registry.Judge{dir.policy.judge, c.contents.Judge}
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

func (c *core) mutations() api.Mutations {
	m := api.Mutations{
		PutEnvironment: c.admin.PutEnvironment, SetPolicy: c.setPolicyChecked, Scan: c.admin.Scan, Acknowledge: c.admin.Acknowledge,
		Audit: c.state.audit.Newest, VerifyAudit: c.state.audit.Verify, AuditDenied: c.state.audit.Append, WriteUIDs: c.settings.WriteUIDs,
	}
	if c.uploads != nil {
		m.Uploads = c.uploads
	}
	return m
}

// acknowledge ends a condition that lasts until an operator acknowledges it.
func (c *core) acknowledge(condition string) (*pannier.Snapshot, error) {
	r := c.state.policy
	switch condition {
	case codeStateLost:
		if r.lost.Load() == nil {
			break
		}
		if err := r.checkEnd(c.state.dir); err != nil {
			return nil, err
		}
		if err := r.end(); err != nil {
			return nil, err
		}
		return c.showRefusals(), nil
	case codePolicyRestored:
		if r.problems.Swap(nil) == nil {
			break
		}
		return c.registry.Current(), nil
	case audit.CodeBroken:
		if !c.state.audit.Acknowledge() {
			break
		}
		return c.registry.Current(), nil
	}
	return nil, &pannier.Refusal{
		Code: "health.condition", Message: fmt.Sprintf("health has no condition %.80q that can be acknowledged", condition),
		Hint: fmt.Sprintf("run \"pannier health\"; the conditions that can be acknowledged are %s, %s and %s", codeStateLost, codePolicyRestored, audit.CodeBroken),
	}
}

// showRefusals hands policy and blocks to the registry once they are known.
func (c *core) showRefusals() *pannier.Snapshot {
	set := c.state.policy.policies.All()
	return c.registry.Update(func(in *registry.Inputs) { in.Policies.Workspace = set })
}

// checkEnd refuses to end a loss where a policy file cannot be written, or need not be: one that is intact again is read by the
// next start.
func (p *policyState) checkEnd(dir string) error {
	if dir == "" {
		return &pannier.Refusal{
			Code: "state.unwritable", Message: "the state directory cannot be used, so a new policy file would not outlive this process",
			Hint: "repair the state directory or choose another with --state-dir, and restart",
		}
	}
	if _, from, _ := policyfile.Load(dir); from == policyfile.Current {
		return &pannier.Refusal{
			Code: "state.intact", Message: "the policy file can be read again, so nothing is lost",
			Hint: "restart the sidecar, which reads it",
		}
	}
	return nil
}

const (
	// recoverAgain is how long the recovery waits after a skill that could not be scanned.
	recoverAgain = 5 * time.Second
	// releaseEvery is how often skills that were scanned are released while there are more to come.
	releaseEvery = time.Second
)

// recoverRefusals scans every skill while the results of scans are lost and policy is known from the audit log, one at a time.
// A skill is released once its scan is through; one with a blocking finding is blocked by that. After the last one, nothing is
// lost any more.
func (c *core) recoverRefusals(ctx context.Context) error {
	r := c.state.policy
	if !r.replayed {
		return nil
	}
	snapshots, cancel := c.registry.Subscribe()
	defer cancel()
	released := map[string]pannier.Digest{}
	for r.lost.Load() != nil {
		var again <-chan time.Time
		if c.registry.Current() != nil {
			left := c.scanLost(ctx, released)
			if ctx.Err() != nil {
				return nil
			}
			if left == nil {
				if left = r.end(); left == nil {
					c.log.Info("policy and blocks are recovered", "skills", len(released))
					c.showRefusals()
					return nil
				}
			}
			c.log.Warn("policy and blocks are not recovered yet", "error", left)
			again = time.After(recoverAgain)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-snapshots:
		case <-again:
		}
	}
	return nil
}

// scanLost scans the skills that are not released, and fails with the first that cannot be scanned, after the others.
func (c *core) scanLost(ctx context.Context, released map[string]pannier.Digest) (failed error) {
	shown := time.Now()
	for {
		s := unreleased(c.registry.Current(), released)
		if s == nil {
			break
		}
		released[s.Path] = s.Sum
		if err := c.scanOne(ctx, s); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = errors.Join(failed, err)
			defer delete(released, s.Path) // so that each is tried once
			continue
		}
		if time.Since(shown) >= releaseEvery && failed == nil {
			shown = time.Now()
			c.state.policy.release(maps.Clone(released))
			c.registry.Rejudge()
		}
	}
	return failed
}

// unreleased returns a skill that was not scanned as it is now, nil where there is none.
func unreleased(s *pannier.Snapshot, released map[string]pannier.Digest) *pannier.Skill {
	for i := range s.Entries {
		skill := s.Entries[i].Skill
		if sum, ok := released[skill.Path]; !skill.Deleting && (!ok || sum != skill.Sum) {
			return skill
		}
	}
	return nil
}

func (c *core) scanOne(ctx context.Context, s *pannier.Skill) error {
	report, _, err := c.admin.Scan(ctx, pannier.Actor{Kind: pannier.ActorSidecar}, s, pannier.ScanRequest{})
	if err == nil && report.Unkept != "" && report.Truncated {
		err = errors.New(report.Unkept)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	return nil
}
