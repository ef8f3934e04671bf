package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/admin"
	"pannier/admin/archive"
	"pannier/admin/install"
	"pannier/admin/upload"
	"pannier/config"
	"pannier/service"
)

// uploadsDir is the directory below the state of a workspace that archives come in to.
const uploadsDir = "uploads"

// rehearsalsDir is the one that dry runs are rehearsed in.
const rehearsalsDir = "rehearsals"

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

// openInstalls opens what moves skills, and repairs what a process before left half done. look returns a snapshot of a scan
// that began after the call, at directories that pannier has changed.
func (c *core) openInstalls(ctx context.Context, reg prometheus.Registerer, look func(context.Context, ...string) (*pannier.Snapshot, error)) (admin.InstallOptions, error) {
	most := c.settings.Install.MaxCompressedBytes
	o := admin.InstallOptions{
		Archive:       archive.Limits{MaxUncompressed: unpacked * most, MaxFile: most / 2, MaxEntries: maxEntries},
		MaxCompressed: most, Trust: c.settings.Trust.Install, Current: c.registry.Current,
		Preflight: c.registry.Preflight, Rescan: look,
	}
	scratch, err := c.scratch()
	c.spoolErr = err
	rules := c.rules
	if c.private {
		rules.Roots = nil // the sidecar that has the state of the workspace repairs them
	}
	// Repaired even where nothing may be installed any more: what is half done is so all the same.
	if o.Store, err = install.Open(ctx, install.Options{
		Rules: rules, Trust: c.settings.Trust.Install, Scan: c.contents.ScanOptions(pannier.SourceWorkspace), Scratch: scratch, Logger: c.log,
	}); err != nil {
		return o, fmt.Errorf("open what is installed: %w", err)
	}
	c.installed = o.Store
	if o.Refused = c.installsRefused(); o.Refused == nil {
		o.Spool = filepath.Join(c.state.dir, uploadsDir)
		if c.uploads, c.spoolErr = c.openUploads(reg, o.Spool, most); c.spoolErr == nil {
			o.HoldUpload = c.uploads.Hold
		}
		o.Refused = c.installsRefused()
	}
	if c.spoolErr != nil {
		c.log.Error("nothing can be installed", "error", c.spoolErr)
	}
	return o, nil
}

// scratch returns the empty directory that dry runs are rehearsed in, empty where there is no state directory: nothing is
// installed there.
func (c *core) scratch() (string, error) {
	if c.state.dir == "" {
		return "", nil
	}
	dir := filepath.Join(c.state.dir, rehearsalsDir)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return "", fmt.Errorf("make room for dry runs: %w", err)
	}
	return dir, nil
}

// installsRefused says why nothing is installed here.
func (c *core) installsRefused() *pannier.Refusal {
	switch {
	case !c.settings.Install.Enabled:
		return &pannier.Refusal{Code: "install.disabled", Message: "installing is disabled by the settings", Hint: "set install.enabled to true, and restart"}
	case c.state.dir == "":
		return &pannier.Refusal{Code: "install.unavailable", Message: "the state is kept in memory, so that an installation could not be audited for good", Hint: "give the sidecar a state directory with --state-dir"}
	case c.spoolErr != nil:
		return &pannier.Refusal{Code: "install.unavailable", Message: "the directory for uploads cannot be used: " + c.spoolErr.Error(), Hint: spoolHint}
	}
	return nil
}

func (c *core) spoolConditions() []pannier.Condition {
	if c.spoolErr == nil {
		return nil
	}
	return []pannier.Condition{condition("installs_unavailable", pannier.SeverityWarning, "state",
		"nothing can be installed: "+c.spoolErr.Error(), spoolHint)}
}

func (c *core) openUploads(reg prometheus.Registerer, dir string, most int64) (*upload.Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make room for uploads: %w", err)
	}
	pending := max(pendingBytes, pendingArchives*most)
	return upload.Open(upload.Options{
		Dir: dir, Values: c.state.store, Logger: c.log, Registerer: reg,
		Limits: pannier.UploadLimits{
			RecommendedChunk: min(recommendedChunk, most), MaxChunk: min(maxChunk, most),
			MaxCompressed: most, MaxUnpacked: unpacked * most,
			MaxFile: most / 2, MaxEntries: maxEntries,
			MaxPending: pending, MaxPendingOfClient: pending / clientShare, TTL: uploadTTL,
		},
	})
}

func (c *core) scanDirs(ctx context.Context, dirs ...string) (*pannier.Snapshot, error) {
	snapshot, err := c.registry.Wait(ctx, c.watcher.ScanDirs(dirs...))
	if err != nil {
		return nil, err
	}
	return c.contents.AwaitRead(ctx, snapshot, dirs), nil
}

// expireUploads removes abandoned uploads until ctx is done.
func (c *core) expireUploads(ctx context.Context) error {
	if c.uploads == nil {
		return nil
	}
	return c.uploads.Run(ctx)
}

// serviceOptions returns what decides for a workspace whose state is at hand; the caller adds how it is scanned again.
func (c *core) serviceOptions() service.Options {
	o := c.engine.serviceOptions()
	o.Versions, o.Diff, o.Blocks = c.installed.Versions, c.installed.Diff, c.blocksVersion
	o.Installer, o.Changes, o.Installed, o.Contents = c.admin, c.admin, c.stats.installed, c.contents
	return o
}

// blocksVersion reports whether the security scan of a version of a skill, which need not be the present one, blocks it.
func (c *core) blocksVersion(s *pannier.Skill, fingerprint pannier.Digest) bool {
	scanned := c.contents.Scanned(s.Path, fingerprint)
	return c.settings.Scan == config.ScanEnforce && scanned != nil && scanned.Decision == pannier.ScanBlock
}
