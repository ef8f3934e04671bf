// Package changes is what clients change in a workspace, put together: policy, blocks, the audit log, installed skills and uploads.
package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin"
	"pannier/admin/archive"
	"pannier/admin/install"
	"pannier/admin/refusals"
	"pannier/admin/upload"
	"pannier/config"
	"pannier/contents"
	"pannier/registry"
)

// Directories below that of the state: of archives that come in, and of dry runs.
const (
	uploadsDir    = "uploads"
	rehearsalsDir = "rehearsals"
)

// The sizes of a chunk that the Pioneer skills protocol has in its example, and the part of all uploads that one peer may
// have under way.
const (
	recommendedChunk = 1 << 20
	maxChunk         = 4 << 20
	clientShare      = 2
)

// The bounds of archives and uploads beside install.max_compressed_bytes: what an archive unpacks to, in sizes of the largest archive; its
// entries, directories among them; how long an upload waits for its next chunk; what all uploads may hold on disk, in bytes, or in sizes of
// the largest archive if that is more.
const (
	unpacked        = 5
	maxEntries      = 2048
	uploadTTL       = time.Hour
	pendingBytes    = 1 << 30
	pendingArchives = 10
)

// spoolHint is what to do about a directory that nothing can come in to.
const spoolHint = "make what lies there a directory that this user can read and write, or remove it, and restart"

// Host has what changes need of the sidecar.
type Host struct {
	Settings config.Settings
	Rules    pannier.DiscoveryRules
	// Private says that another sidecar has the state of the workspace, and repairs what is installed.
	Private bool

	State    *State
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

// Changes makes the changes of clients.
type Changes struct {
	*admin.Service
	Installed *install.Store
	Uploads   *upload.Store // nil where nothing can be installed
	h         Host
	// spoolErr is why the directories for installations cannot be used.
	spoolErr error
}

// Open opens what makes changes, repairs what a process before left half done, and hands policy and judges to the registry.
func Open(ctx context.Context, h Host) (*Changes, error) {
	c := &Changes{h: h}
	installs, err := c.openInstalls(ctx)
	if err != nil {
		return nil, err
	}
	verdicts := h.State.Refusals.Verdicts
	c.Service = admin.New(admin.Options{
		Audit: h.State.Audit, Policy: h.State.Refusals.Policies, Install: installs, Values: h.State.store, Emit: h.Emit, Logger: h.Logger,
		Scans: admin.ScanOptions{
			IsRule: contents.IsRule, Ruleset: h.Contents.Ruleset(), Verdicts: verdicts, Fingerprint: h.Contents.Compute, Scan: h.Contents.Scan,
			ApplyVerdict: h.Contents.Apply,
		},
		Activity: h.Activity, PolicyPath: c.policyPath, Acknowledge: c.acknowledge, SetEnvironment: h.SetEnvironment, SetPolicies: c.setPolicies,
	})
	set := c.Policies()
	h.Registry.Prepare(func(in *registry.Inputs) {
		in.Policies.Workspace = set
		in.Judges = []func() registry.Judge{h.State.Refusals.Judge, h.Contents.Judge}
	})
	return c, nil
}

// openInstalls opens what moves skills.
func (c *Changes) openInstalls(ctx context.Context) (admin.InstallOptions, error) {
	s, dir := c.h.Settings, c.h.State.dir
	most := s.Install.MaxCompressedBytes
	o := admin.InstallOptions{
		Archive:       archive.Limits{MaxUncompressed: unpacked * most, MaxFile: most / 2, MaxEntries: maxEntries},
		MaxCompressed: most, Trust: s.Trust.Install, Current: c.h.Registry.Current,
		Preflight: c.h.Registry.Preflight, Rescan: c.h.Rescan,
	}
	scratch := ""
	if dir != "" { // otherwise nothing is installed
		scratch = filepath.Join(dir, rehearsalsDir)
		if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o700)); err != nil {
			scratch, c.spoolErr = "", fmt.Errorf("make room for dry runs: %w", err)
		}
	}
	rules := c.h.Rules
	if c.h.Private {
		rules.Roots = nil
	}
	// Repaired even where nothing may be installed any more: what is half done is so all the same.
	var err error
	if c.Installed, err = install.Open(ctx, install.Options{
		Rules: rules, Trust: s.Trust.Install, Scan: c.h.Contents.ScanOptions(pannier.SourceWorkspace), Scratch: scratch, Logger: c.h.Logger,
	}); err != nil {
		return o, fmt.Errorf("open what is installed: %w", err)
	}
	o.Store = c.Installed
	if o.Refused = c.refused(); o.Refused == nil {
		o.Spool = filepath.Join(dir, uploadsDir)
		if c.Uploads, c.spoolErr = c.openUploads(o.Spool, most); c.spoolErr == nil {
			o.HoldUpload = c.Uploads.Hold
		}
		o.Refused = c.refused()
	}
	if c.spoolErr != nil {
		c.h.Logger.Error("nothing can be installed", "error", c.spoolErr)
	}
	return o, nil
}

// refused says why nothing is installed here.
func (c *Changes) refused() *pannier.Refusal {
	switch {
	case !c.h.Settings.Install.Enabled:
		return &pannier.Refusal{Code: "install.disabled", Message: "installing is disabled by the settings", Hint: "set install.enabled to true, and restart"}
	case c.h.State.dir == "":
		return &pannier.Refusal{
			Code: "install.unavailable", Message: "the state is kept in memory, so that an installation could not be audited for good",
			Hint: "give the sidecar a state directory with --state-dir",
		}
	case c.spoolErr != nil:
		return &pannier.Refusal{Code: "install.unavailable", Message: "the directory for uploads cannot be used: " + c.spoolErr.Error(), Hint: spoolHint}
	}
	return nil
}

func (c *Changes) openUploads(dir string, most int64) (*upload.Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make room for uploads: %w", err)
	}
	pending := max(pendingBytes, pendingArchives*most)
	return upload.Open(upload.Options{
		Dir: dir, Values: c.h.State.store, Logger: c.h.Logger, Registerer: c.h.Registerer,
		Limits: pannier.UploadLimits{
			RecommendedChunk: min(recommendedChunk, most), MaxChunk: min(maxChunk, most),
			MaxCompressed: most, MaxUnpacked: unpacked * most,
			MaxFile: most / 2, MaxEntries: maxEntries,
			MaxPending: pending, MaxPendingOfClient: pending / clientShare, TTL: uploadTTL,
		},
	})
}

// policyPath returns the directory that a policy of a key is about; see [admin.Options.PolicyPath].
func (c *Changes) policyPath(key pannier.PolicyKey) string {
	if s := c.h.Registry.Current(); s != nil {
		if e, ok := s.Holder(key); ok {
			return e.Path
		}
	}
	root := string(key.SourceKind) // settings without a root of the kind
	if i := slices.IndexFunc(c.h.Rules.Roots, func(r pannier.Root) bool { return r.Kind == key.SourceKind }); i >= 0 {
		root = c.h.Rules.Roots[i].Name
	}
	return path.Join(root, key.Slug)
}

// setPolicies hands the workspace layer of policy to the registry, and returns the snapshot that shows it.
func (c *Changes) setPolicies(set map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot {
	return c.h.Registry.Update(func(in *registry.Inputs) { in.Policies.Workspace = set })
}

// acknowledge ends a condition that lasts until an operator acknowledges it.
func (c *Changes) acknowledge(condition string) (*pannier.Snapshot, error) {
	known, err := c.h.State.Refusals.Acknowledge(condition)
	switch {
	case err != nil:
		return nil, err
	case known:
		return c.setPolicies(c.Policies()), nil
	}
	return c.h.Registry.Current(), nil
}

// Conditions returns what health says of installations.
func (c *Changes) Conditions() (conditions []pannier.Condition) {
	if c.spoolErr != nil {
		conditions = append(conditions, pannier.Condition{
			Code: "installs_unavailable", Severity: pannier.SeverityWarning, Subject: "state",
			Message: "nothing can be installed: " + c.spoolErr.Error(), Hint: spoolHint,
		})
	}
	return append(conditions, c.Installed.Unsettled()...)
}

// Recover scans skills until no policy and no block is lost any more.
func (c *Changes) Recover(ctx context.Context) error {
	return c.h.State.Refusals.Recover(ctx, refusals.Recovery{
		Registry: c.h.Registry,
		Scan: func(ctx context.Context, s *pannier.Skill) error {
			report, _, err := c.Scan(ctx, pannier.Actor{Kind: pannier.ActorSidecar}, s, pannier.ScanRequest{})
			if err == nil && report.Unkept != "" && report.Truncated {
				err = errors.New(report.Unkept)
			}
			return err
		},
		Recovered: func() { c.setPolicies(c.Policies()) },
	})
}

// ExpireUploads removes abandoned uploads until ctx is done.
func (c *Changes) ExpireUploads(ctx context.Context) error {
	if c.Uploads == nil {
		return nil
	}
	return c.Uploads.Run(ctx)
}
