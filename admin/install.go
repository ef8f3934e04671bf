package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pannier"
	"pannier/admin/archive"
	"pannier/admin/install"
)

// InstallOptions configure installations. Without a Store nothing can be installed.
type InstallOptions struct {
	Store *install.Store
	// Trust is the trust level of installed skills.
	Trust pannier.Trust
	// Refused is returned by every installation, if it is not nil.
	Refused *pannier.Refusal
	// HoldUpload locks a ready upload of an owner until release is called; consumed says that it is no longer needed.
	HoldUpload func(ctx context.Context, owner, id string) (held *os.File, u pannier.Upload, release func(consumed bool) error, err error)
	// Archive bounds what is unpacked, MaxCompressed what is received as a body. Bodies are stored in Spool.
	Archive       archive.Limits
	MaxCompressed int64
	Spool         string
	// Current returns the served snapshot; nil before the first.
	Current func() *pannier.Snapshot
	// Preflight evaluates a skill as if it were at its path already, and returns the snapshot that would follow.
	Preflight func(*pannier.Skill) (*pannier.Entry, *pannier.Snapshot)
	// Rescan scans the changed directories and returns a snapshot of a scan that began after the call.
	Rescan func(ctx context.Context, dirs ...string) (*pannier.Snapshot, error)
}

const (
	maxSpooled     = 16 // bodies on disk at a time
	spoolTimeout   = 10 * time.Minute
	maxPrepared    = 4 // archives unpacked at a time
	rescanTimeout  = 30 * time.Second
	maxOriginBytes = 255
)

// installIntent is the audited intent of an installation.
type installIntent struct {
	SourceKind   pannier.SourceKind `json:"source_kind,omitempty"`
	Origin       string             `json:"origin,omitempty"`
	Expected     pannier.Digest     `json:"expected_fingerprint,omitzero"`
	AllowMissing bool               `json:"allow_missing,omitempty"`
	*pannier.AcceptRequest
}

// installOutcome is the audited outcome of an installation.
type installOutcome struct {
	Status      pannier.InstallStatus `json:"status"`
	Path        string                `json:"path,omitempty"`
	Fingerprint pannier.Digest        `json:"fingerprint,omitzero"`
	Previous    pannier.Digest        `json:"previous_fingerprint,omitzero"`
	Trust       pannier.Trust         `json:"trust,omitempty"`
	Findings    int                   `json:"findings,omitempty"`
	Accepted    []pannier.Acceptance  `json:"accepted,omitempty"`
	Reasons     []pannier.Reason      `json:"reasons,omitempty"`
	Config      string                `json:"config,omitempty"`
}

// installation is a change of what is installed: its outcome and what the client gets.
type installation struct {
	outcome
	result pannier.InstallResult
}

// Install installs a skill, or updates the one of [pannier.InstallRequest.Slug], and returns the snapshot that shows
// it. The archive is unpacked, read and scanned concurrently with other changes. Dependencies, conflicts and collisions
// are checked in the sequence of changes.
//
// A refused upload stays ready, so that the client can retry with other parameters. An upload whose archive is invalid
// is consumed.
func (s *Service) Install(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, src pannier.InstallSource) (pannier.InstallResult, *pannier.Snapshot, error) {
	if err := s.checkInstallable(); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	if src.UploadID == "" {
		if err := acquire(ctx, s.spooling); err != nil {
			return pannier.InstallResult{}, nil, err
		}
		defer func() { <-s.spooling }()
	}
	if err := s.checkAccept(req.Accept); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	req.Origin = originOf(src)
	if req.DryRun {
		in, err := s.prepareAndCommit(ctx, actor, req, src)
		return in.result, nil, err
	}
	return s.auditedInstallation(intentOf(actor, req), func() (installation, error) { return s.prepareAndCommit(ctx, actor, req, src) })
}

// intentOf returns the audited intent of an installation.
func intentOf(actor pannier.Actor, req pannier.InstallRequest) pannier.AuditEntry {
	intent := installIntent{SourceKind: req.SourceKind, Origin: req.Origin, Expected: req.Expected, AllowMissing: req.AllowMissing}
	if len(req.Accept.Rules) > 0 {
		intent.AcceptRequest = &req.Accept
	}
	e := pannier.AuditEntry{Action: pannier.ActionInstall, Actor: actor, Slug: req.Slug, Detail: intent}
	if req.Slug != "" {
		e.Action = pannier.ActionUpdate
	}
	return e
}

func (s *Service) checkInstallable() error {
	switch {
	case s.o.Install.Refused != nil:
		return s.o.Install.Refused
	case s.o.Install.Store == nil:
		return &pannier.Refusal{Code: "install.unavailable", Message: "this sidecar cannot install skills", Hint: "use a sidecar with a state directory"}
	}
	return nil
}

// originOf returns the origin that the lock file records.
func originOf(src pannier.InstallSource) string {
	switch {
	case src.UploadID != "":
		return "upload:" + pannier.SanitizeFileName(src.UploadID, maxOriginBytes)
	case strings.TrimSpace(src.Name) != "":
		return "archive:" + pannier.SanitizeFileName(src.Name, maxOriginBytes)
	}
	return "archive"
}

// auditedInstallation is [Service.audited] for a change of what is installed.
func (s *Service) auditedInstallation(e pannier.AuditEntry, apply func() (installation, error)) (pannier.InstallResult, *pannier.Snapshot, error) {
	var r pannier.InstallResult
	snapshot, err := s.audited(e, func() (outcome, error) {
		in, err := apply()
		r, in.slug = in.result, in.result.Skill.Slug
		if err == nil {
			in.detail = installOutcome{
				Status: r.Status, Path: r.Skill.Path, Fingerprint: r.Skill.Fingerprint, Previous: r.Previous, Trust: r.Skill.TrustLevel,
				Findings: len(r.Findings), Accepted: r.Accepted, Reasons: r.Reasons, Config: r.Config,
			}
		}
		return in.outcome, err
	})
	if err != nil {
		return pannier.InstallResult{}, nil, fmt.Errorf("%s: %w", e.Action, err)
	}
	r.AuditEntries = 2
	return r, snapshot, nil
}

// prepareAndCommit stages a skill and moves it into place.
func (s *Service) prepareAndCommit(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, src pannier.InstallSource) (in installation, err error) {
	err = s.withArchive(ctx, actor, src, func(a archiveFile, quota *stagingQuota) (consumed bool, err error) {
		var contents archive.Contents
		limits := s.o.Install.Archive
		limits.Reserve = quota.reserve
		staged, err := s.o.Install.Store.Stage(ctx, req, func(ctx context.Context, into *os.Root) (folder string, err error) {
			contents, err = archive.Unpack(ctx, a.File, into, limits)
			return contents.Top, err
		})
		if err != nil {
			return isInvalidArchive(err), err
		}
		in, err = s.commitAndDiscard(ctx, actor, req, staged, contents)
		return err == nil && !req.DryRun, err
	})
	return in, err
}

// withArchive opens an archive and waits for a slot to unpack it. The archive is released even if use panics; consumed
// says that it is no longer needed.
func (s *Service) withArchive(ctx context.Context, actor pannier.Actor, src pannier.InstallSource, use func(archiveFile, *stagingQuota) (consumed bool, err error)) error {
	a, err := s.openArchive(ctx, actor, src)
	if err != nil {
		return err
	}
	consumed := false
	defer func() {
		if e := a.release(consumed); e != nil {
			s.o.Logger.Warn("removing the archive of an installation failed", "origin", originOf(src), "error", e)
		}
	}()
	if err := acquire(ctx, s.preparing); err != nil {
		return err
	}
	defer func() { <-s.preparing }()
	quota := &stagingQuota{service: s}
	defer quota.releaseTo(0)
	consumed, err = use(a, quota)
	return err
}

// commitAndDiscard moves a staged skill into place, and removes what is left of it in staging.
func (s *Service) commitAndDiscard(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, staged *install.Staged, contents archive.Contents) (in installation, err error) {
	defer func() {
		if left := staged.Discard(); left != nil {
			s.o.Logger.Warn("removing staged files failed", "slug", staged.Skill.Slug, "error", left)
			in.result.Problems = append(in.result.Problems, install.LeftBehind(left))
		}
	}()
	in, err = s.commit(ctx, actor, req, staged)
	in.result.Files, in.result.Bytes, in.result.Ignored = contents.Files, contents.Bytes, contents.Ignored
	if err != nil {
		in.result.Skill.Slug = staged.Skill.Slug // the audit log names the refused skill
	}
	return in, err
}

// isInvalidArchive reports whether an archive can never be installed.
func isInvalidArchive(err error) bool {
	refusal, ok := errors.AsType[*pannier.Refusal](err)
	return ok && strings.HasPrefix(refusal.Code, "archive.")
}

// stagingQuota is the share of one installation in the bytes that all installations in progress may unpack: those of
// one archive of the largest size.
type stagingQuota struct {
	service *Service
	bytes   int64
}

// reserve reserves bytes for a file. It refuses instead of waiting, because two installations could wait for each
// other.
func (q *stagingQuota) reserve(bytes int64) error {
	limit := q.service.o.Install.Archive.MaxUncompressed
	q.bytes += bytes
	if all := q.service.staged.Add(bytes); all > limit && all > q.bytes {
		return &pannier.Refusal{
			Code: "install.staging_full", Message: fmt.Sprintf("the installations in progress unpack more than %d bytes together", limit),
			Hint: "try again when they have ended; nothing was changed",
		}
	}
	return nil
}

// releaseTo gives back what was reserved beyond a number of bytes.
func (q *stagingQuota) releaseTo(bytes int64) {
	q.service.staged.Add(bytes - q.bytes)
	q.bytes = bytes
}

// commit moves a staged skill into place. ctx cancels only the wait for other changes.
func (s *Service) commit(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, staged *install.Staged) (installation, error) {
	if err := acquire(ctx, s.changing); err != nil {
		return installation{}, err
	}
	defer func() { <-s.changing }()
	ctx = context.WithoutCancel(ctx)
	e, err := s.preflight(req, staged.Skill)
	if err != nil {
		return installation{}, err
	}
	undo, accepted, err := s.storeVerdict(actor, req, staged)
	if err != nil {
		return installation{}, err
	}
	apply := s.o.Install.Store.Install
	if req.Slug != "" {
		apply = s.o.Install.Store.Update
	}
	result, err := apply(ctx, staged, req, actor)
	if now, ok := servedAt(s.o.Install.Current(), e.Skill); ok && result.Status.Unchanged() {
		e, result.Skill.TrustLevel = now, now.TrustLevel
	}
	result.Reasons, result.Accepted = e.Reasons, accepted
	if !e.Policy.AllowImplicit && e.Policy.ImplicitSource == pannier.PolicyStart {
		result.Problems = append(result.Problems, pannier.Problem{
			Code: "install.explicit_only", Severity: pannier.SeverityInfo, Path: e.Path, Field: "allow_implicit_invocation",
			Message: "the agent uses the skill only if a turn names it: installed skills start with allow_implicit_invocation: false",
			Hint:    "run `pannier policy set " + e.Slug + " --implicit=true` to let the model choose it",
		})
	}
	if err != nil {
		return installation{result: result}, errors.Join(err, undo())
	}
	if req.DryRun {
		return installation{result: result}, nil
	}
	return s.rescan(ctx, result, req.Origin), nil
}

// rescan adds the event and the snapshot of a change that is on disk.
func (s *Service) rescan(ctx context.Context, result pannier.InstallResult, origin string) installation {
	in := installation{result: result}
	in.event = installEvents[result.Status]
	if in.event == "" {
		return in
	}
	in.data = pannier.SkillInstalled{InstalledSkill: result.Skill, Previous: result.Previous, Origin: origin}
	ctx, cancel := context.WithTimeout(ctx, rescanTimeout)
	defer cancel()
	dir := result.Skill.InstallPath
	var err error
	if in.snapshot, err = s.o.Install.Rescan(ctx, dir); err != nil {
		s.o.Logger.Warn("the installation is done but not served yet", "slug", result.Skill.Slug, "error", err)
	}
	return in
}

// installEvents has the events of the statuses that change something.
var installEvents = map[pannier.InstallStatus]pannier.EventType{
	pannier.StatusInstalled:   pannier.EventInstallAdded,
	pannier.StatusUpdated:     pannier.EventInstallReplaced,
	pannier.StatusUninstalled: pannier.EventInstallRemoved,
	pannier.StatusRolledBack:  pannier.EventInstallRolledBack,
}

// Uninstall removes an installed skill and its policy.
func (s *Service) Uninstall(ctx context.Context, actor pannier.Actor, req pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error) {
	return s.changeInstalled(ctx, actor, pannier.ActionUninstall, req, func(ctx context.Context) (pannier.InstallResult, error) {
		return s.o.Install.Store.Uninstall(ctx, req, actor)
	})
}

// Rollback restores the previous version of an installed skill.
func (s *Service) Rollback(ctx context.Context, actor pannier.Actor, req pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error) {
	return s.changeInstalled(ctx, actor, pannier.ActionRollback, req, func(ctx context.Context) (pannier.InstallResult, error) {
		return s.o.Install.Store.Rollback(ctx, req, actor)
	})
}

func (s *Service) changeInstalled(ctx context.Context, actor pannier.Actor, action string, req pannier.RemoveRequest, apply func(context.Context) (pannier.InstallResult, error)) (pannier.InstallResult, *pannier.Snapshot, error) {
	if err := s.checkInstallable(); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	if err := acquire(ctx, s.changing); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	defer func() { <-s.changing }()
	ctx = context.WithoutCancel(ctx)
	if req.DryRun {
		result, err := apply(ctx)
		return result, nil, err
	}
	e := pannier.AuditEntry{
		Action: action, Actor: actor, Slug: req.Slug, Detail: installIntent{SourceKind: req.SourceKind, Expected: req.Expected},
	}
	return s.auditedInstallation(e, func() (installation, error) {
		result, err := apply(ctx)
		if err != nil {
			return installation{}, err
		}
		in := s.rescan(ctx, result, "")
		if result.Status == pannier.StatusUninstalled {
			in.snapshot = s.removePolicy(result.Skill, in.snapshot)
		}
		return in, nil
	})
}

// removePolicy removes the policy of an uninstalled skill and returns a snapshot that shows it. Refusals stay if they
// apply to another skill with the slug, and everything stays if the rescan failed. Errors are only logged.
func (s *Service) removePolicy(skill pannier.InstalledSkill, snapshot *pannier.Snapshot) *pannier.Snapshot {
	if snapshot == nil {
		return nil
	}
	key := pannier.PolicyKey{Slug: skill.Slug, SourceKind: skill.SourceKind}
	e := s.o.Policy.All()[key]
	_, another := snapshot.Holder(key)
	own := e.Path == "" || e.Path == skill.Path
	remove := func(is *bool) pannier.Toggle { return pannier.Toggle{Given: !another || own && is != nil && *is} }
	_, _, err := s.o.Policy.Set(key, e.Path, pannier.PolicyChange{
		Enabled: remove(e.Enabled), AllowImplicit: remove(e.AllowImplicit), Tools: remove(e.Tools), Overrides: remove(e.Overrides), ToolsAllowed: pannier.Permission{Given: own},
	})
	if err != nil {
		s.o.Logger.Warn("removing the policy of an uninstalled skill failed", "slug", skill.Slug, "error", err)
		return snapshot
	}
	return s.o.SetPolicies(s.o.Policy.All())
}

// archiveFile is an open archive.
type archiveFile struct {
	archive.File
	release func(consumed bool) error
}

func (s *Service) openArchive(ctx context.Context, actor pannier.Actor, src pannier.InstallSource) (archiveFile, error) {
	if src.UploadID == "" {
		return s.spool(ctx, src)
	}
	if s.o.Install.HoldUpload == nil {
		return archiveFile{}, &pannier.Refusal{Code: "upload.not_found", Message: "this sidecar accepts no uploads", Hint: "send the archive as the body of POST /v1/skills"}
	}
	file, u, release, err := s.o.Install.HoldUpload(ctx, actor.Owner(), src.UploadID)
	if err != nil {
		return archiveFile{}, err
	}
	return archiveFile{archive.File{From: file, Size: u.Size, Format: u.Format}, release}, nil
}
