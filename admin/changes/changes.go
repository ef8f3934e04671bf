// Package changes is what clients change in a workspace, put together: policy, blocks, the audit log, installed skills
// and uploads.
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

	"pannier"
	"pannier/admin"
	"pannier/admin/archive"
	"pannier/admin/audit"
	"pannier/admin/install"
	"pannier/admin/refusals"
	"pannier/admin/upload"
	"pannier/contents"
	"pannier/internal/state"
	"pannier/registry"
	"pannier/sidecar"
)

// Directories below that of the state: of archives that come in, and of dry runs.
const (
	uploadsDir    = "uploads"
	rehearsalsDir = "rehearsals"
)

// The sizes of a chunk that the Pioneer skills protocol has in its example, and the part of all uploads that one peer
// may have under way.
const (
	recommendedChunk = 1 << 20
	maxChunk         = 4 << 20
	clientShare      = 2
)

// The bounds of archives and uploads beside install.max_compressed_bytes: what an archive unpacks to, in sizes of the
// largest archive; its entries, directories among them; how long an upload waits for its next chunk; what all uploads
// may hold on disk, in bytes, or in sizes of the largest archive if that is more.
const (
	unpacked        = 5
	maxEntries      = 2048
	uploadTTL       = time.Hour
	pendingBytes    = 1 << 30
	pendingArchives = 10
)

// spoolHint is what to do about a directory that nothing can come in to.
const spoolHint = "make what lies there a directory that this user can read and write, or remove it, and restart"

// opener has what [Module] opened with the state.
type opener struct {
	dir   string // empty where the state is in memory
	store *state.Guarded
	audit *audit.Log
	known *refusals.State
}

// changes makes the changes of clients.
type changes struct {
	*admin.Service
	opener
	h         sidecar.ChangesHost
	installed *install.Store
	uploads   *upload.Store // nil where nothing can be installed
	// spoolErr is why the directories for installations cannot be used.
	spoolErr error
}

// open opens what makes changes, repairs what a process before left half done, and hands policy and judges to the
// registry.
func (o opener) open(ctx context.Context, h sidecar.ChangesHost) (sidecar.ChangeMaker, error) {
	c := &changes{opener: o, h: h}
	installs, err := c.openInstalls(ctx)
	if err != nil {
		return sidecar.ChangeMaker{}, err
	}
	c.Service = admin.New(admin.Options{
		Audit: c.audit, Policy: c.known.Policies, Install: installs, Values: c.store, Emit: h.Emit, Logger: h.Logger,
		Scans: admin.ScanOptions{
			IsRule: contents.IsRule, Ruleset: h.Contents.Ruleset(), Verdicts: c.known.Verdicts, Fingerprint: h.Contents.Compute,
			Scan: h.Contents.Scan, ApplyVerdict: h.Contents.Apply,
		},
		Activity: h.Activity, PolicyPath: c.policyPath, Acknowledge: c.acknowledge, SetEnvironment: h.SetEnvironment, SetPolicies: c.setPolicies,
	})
	set := c.Policies()
	h.Registry.Prepare(func(in *registry.Inputs) {
		in.Policies.Workspace = set
		in.Judges = []func() registry.Judge{c.known.Judge, h.Contents.Judge}
	})
	made := sidecar.ChangeMaker{
		Installer: c.Service, Changes: c.Service, Versions: c.installed.Versions, Diff: c.installed.Diff, Environment: c.Environment,
		Conditions: c.conditions, Recover: c.recover, ExpireUploads: func(context.Context) error { return nil },
	}
	if c.uploads != nil {
		made.Uploads, made.ExpireUploads = c.uploads, c.uploads.Run
	}
	return made, nil
}

// openInstalls opens what moves skills.
func (c *changes) openInstalls(ctx context.Context) (admin.InstallOptions, error) {
	s, dir := c.h.Settings, c.dir
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
	if c.installed, err = install.Open(ctx, install.Options{
		Rules: rules, Trust: s.Trust.Install, Scan: c.h.Contents.ScanOptions(pannier.SourceWorkspace), Scratch: scratch, Logger: c.h.Logger,
	}); err != nil {
		return o, fmt.Errorf("open what is installed: %w", err)
	}
	o.Store = c.installed
	if o.Refused = c.refused(); o.Refused == nil {
		o.Spool = filepath.Join(dir, uploadsDir)
		if c.uploads, c.spoolErr = c.openUploads(o.Spool, most); c.spoolErr == nil {
			o.HoldUpload = c.uploads.Hold
		}
		o.Refused = c.refused()
	}
	if c.spoolErr != nil {
		c.h.Logger.Error("nothing can be installed", "error", c.spoolErr)
	}
	return o, nil
}

// refused says why nothing is installed here.
func (c *changes) refused() *pannier.Refusal {
	switch {
	case !c.h.Settings.Install.Enabled:
		return &pannier.Refusal{Code: "install.disabled", Message: "installing is disabled by the settings", Hint: "set install.enabled to true, and restart"}
	case c.dir == "":
		return &pannier.Refusal{
			Code: "install.unavailable", Message: "the state is kept in memory, so that an installation could not be audited for good",
			Hint: "give the sidecar a state directory with --state-dir",
		}
	case c.spoolErr != nil:
		return &pannier.Refusal{Code: "install.unavailable", Message: "the directory for uploads cannot be used: " + c.spoolErr.Error(), Hint: spoolHint}
	}
	return nil
}

func (c *changes) openUploads(dir string, most int64) (*upload.Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make room for uploads: %w", err)
	}
	pending := max(pendingBytes, pendingArchives*most)
	return upload.Open(upload.Options{
		Dir: dir, Values: c.store, Logger: c.h.Logger, Registerer: c.h.Registerer,
		Limits: pannier.UploadLimits{
			RecommendedChunk: min(recommendedChunk, most), MaxChunk: min(maxChunk, most),
			MaxCompressed: most, MaxUnpacked: unpacked * most,
			MaxFile: most / 2, MaxEntries: maxEntries,
			MaxPending: pending, MaxPendingOfClient: pending / clientShare, TTL: uploadTTL,
		},
	})
}

// policyPath returns the directory that a policy of a key is about; see [admin.Options.PolicyPath].
func (c *changes) policyPath(key pannier.PolicyKey) string {
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
func (c *changes) setPolicies(set map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot {
	return c.h.Registry.Update(func(in *registry.Inputs) { in.Policies.Workspace = set })
}

// acknowledge ends a condition that lasts until an operator acknowledges it.
func (c *changes) acknowledge(condition string) (*pannier.Snapshot, error) {
	known, err := c.known.Acknowledge(condition)
	switch {
	case err != nil:
		return nil, err
	case known:
		return c.setPolicies(c.Policies()), nil
	}
	return c.h.Registry.Current(), nil
}

// conditions returns what health says of installations.
func (c *changes) conditions() (conditions []pannier.Condition) {
	if c.spoolErr != nil {
		conditions = append(conditions, pannier.Condition{
			Code: "installs_unavailable", Severity: pannier.SeverityWarning, Subject: "state",
			Message: "nothing can be installed: " + c.spoolErr.Error(), Hint: spoolHint,
		})
	}
	return append(conditions, c.installed.Unsettled()...)
}

// recover scans skills until no policy and no block is lost any more.
func (c *changes) recover(ctx context.Context) error {
	return c.known.Recover(ctx, refusals.Recovery{
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
