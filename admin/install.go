package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pannier"
	"pannier/admin/archive"
	"pannier/admin/install"
)

// InstallOptions are what [Service.Install] and its kin need. Without a Store nothing is installed.
type InstallOptions struct {
	Store *install.Store
	// Trust is that of what is installed.
	Trust pannier.Trust
	// Refused says why nothing is installed here; nil where it is.
	Refused *pannier.Refusal
	// Take holds an upload that is ready, for whoever owns it, until release is called with whether it was used up.
	Take func(ctx context.Context, owner, id string) (held *os.File, u pannier.Upload, release func(consumed bool) error, err error)
	// Archive bounds what is unpacked, MaxCompressed what comes in as a body. Bodies are kept in Spool until they are.
	Archive       archive.Limits
	MaxCompressed int64
	Spool         string
	// Current returns the snapshot that is served; nil is none yet.
	Current func() *pannier.Snapshot
	// Preflight judges a skill as if it lay where its path says already, and returns the snapshot that would follow.
	Preflight func(*pannier.Skill) (*pannier.Entry, *pannier.Snapshot)
	// Look returns a snapshot of a look that began after the call, at the directories that were changed.
	Look func(ctx context.Context, dirs ...string) (*pannier.Snapshot, error)
}

// The bounds of an installation: how many bodies are on disk at a time and how long one takes to come in, how many
// installations are prepared at a time, and how long the look takes that shows one.
const (
	maxSpooled   = 16
	spoolTimeout = 10 * time.Minute
	maxPrepared  = 4
	lookTimeout  = 30 * time.Second
)

// installIntent is what the audit log says of an installation that was asked for.
type installIntent struct {
	SourceKind   pannier.SourceKind `json:"source_kind,omitempty"`
	Origin       string             `json:"origin,omitempty"`
	Expected     pannier.Digest     `json:"expected_fingerprint,omitzero"`
	AllowMissing bool               `json:"allow_missing,omitempty"`
	*pannier.AcceptRequest
}

// installOutcome is what it says of one that was made.
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

// Install puts a skill into the workspace, or with [pannier.InstallRequest.Slug] replaces one, and returns with the
// snapshot that shows it. The archive is unpacked, read and scanned before its turn, so that others need not wait for it;
// what has a say in whether it fits, such as dependencies, conflicts and collisions, is asked in its turn.
//
// An upload that was refused stays as it was, so that it can be asked for again with other parameters; only one whose archive
// is not what it should be is used up.
func (d *Service) Install(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, src pannier.InstallSource) (pannier.InstallResult, *pannier.Snapshot, error) {
	if err := d.installs(); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	if src.UploadID == "" {
		if err := enter(ctx, d.spooling); err != nil {
			return pannier.InstallResult{}, nil, err
		}
		defer func() { <-d.spooling }()
	}
	if err := d.checkAccept(req.Accept); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	req.Origin = originOf(src)
	action := pannier.ActionInstall
	if req.Slug != "" {
		action = pannier.ActionUpdate
	}
	if req.DryRun {
		result, err := d.install(ctx, actor, req, src)
		return result.plan, nil, err
	}
	intent, err := d.o.Audit.Append(pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: action, Actor: actor, Slug: req.Slug,
		Detail: installIntentOf(req),
	})
	if err != nil {
		return pannier.InstallResult{}, nil, fmt.Errorf("%s: %w", action, err)
	}
	result, err := d.install(ctx, actor, req, src)
	return d.installed(intent, result, err)
}

func installIntentOf(req pannier.InstallRequest) installIntent {
	intent := installIntent{SourceKind: req.SourceKind, Origin: req.Origin, Expected: req.Expected, AllowMissing: req.AllowMissing}
	if len(req.Accept.Rules) > 0 {
		intent.AcceptRequest = &req.Accept
	}
	return intent
}

// installs refuses where nothing is installed.
func (d *Service) installs() error {
	switch {
	case d.o.Install.Refused != nil:
		return d.o.Install.Refused
	case d.o.Install.Store == nil:
		return &pannier.Refusal{Code: "install.unavailable", Message: "nothing can be installed here", Hint: "ask a sidecar with a state directory"}
	}
	return nil
}

// originOf says where an installation comes from, for the lock file.
func originOf(src pannier.InstallSource) string {
	switch {
	case src.UploadID != "":
		return "upload:" + pannier.SanitizeFileName(src.UploadID, maxOriginBytes)
	case strings.TrimSpace(src.Name) != "":
		return "archive:" + pannier.SanitizeFileName(src.Name, maxOriginBytes)
	}
	return "archive"
}

// maxOriginBytes bounds what is kept of a name that a caller gives.
const maxOriginBytes = 255

// change is a done installation: what came of it, and the plan that its caller is told.
type change struct {
	done
	plan pannier.InstallResult
}

// installed audits what became of an intent, and tells of it.
func (d *Service) installed(intent pannier.AuditEntry, c change, failed error) (pannier.InstallResult, *pannier.Snapshot, error) {
	if intent.Slug == "" {
		intent.Slug = c.plan.Skill.Slug
	}
	if failed == nil {
		c.detail = outcomeOfInstall(c.plan)
	}
	d.conclude(intent, c.done, failed)
	if failed != nil {
		return pannier.InstallResult{}, nil, fmt.Errorf("%s: %w", intent.Action, failed)
	}
	if c.event != "" {
		d.o.Emit(c.event, c.data)
	}
	c.plan.AuditEntries = 2
	return c.plan, c.snapshot, nil
}

func outcomeOfInstall(r pannier.InstallResult) installOutcome {
	return installOutcome{
		Status: r.Status, Path: r.Skill.Path, Fingerprint: r.Skill.Fingerprint, Previous: r.Previous, Trust: r.Skill.TrustLevel,
		Findings: len(r.Findings), Accepted: r.Accepted, Reasons: r.Reasons, Config: r.Config,
	}
}

// install stages a skill and, in its turn, puts it in its place.
func (d *Service) install(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, src pannier.InstallSource) (change, error) {
	a, err := d.open(ctx, actor, src)
	if err != nil {
		return change{}, err
	}
	if err := enter(ctx, d.preparing); err != nil {
		return change{}, errors.Join(err, a.release(false))
	}
	defer func() { <-d.preparing }()
	room := &stagingRoom{door: d}
	defer room.free()
	staged, contents, err := d.stage(ctx, req, a, room)
	if err != nil {
		return change{}, errors.Join(err, a.release(spoilt(err)))
	}
	c, err := d.commit(ctx, actor, req, staged)
	if left := staged.Discard(); left != nil {
		d.o.Logger.Warn("what was staged stays", "slug", staged.Skill.Slug, "error", left)
		c.plan.Problems = append(c.plan.Problems, install.LeftBehind(left))
	}
	c.plan.Files, c.plan.Bytes, c.plan.Ignored = contents.Files, contents.Bytes, contents.Ignored
	if err != nil {
		c.plan.Skill.Slug = staged.Skill.Slug // so that the audit log says what was refused
	}
	if e := a.release(err == nil && !req.DryRun); e != nil { // what is done is done: nobody is told otherwise
		d.o.Logger.Warn("the archive of an installation is still kept", "slug", staged.Skill.Slug, "error", e)
	}
	return c, err
}

// spoilt reports whether an archive is of no use to anybody.
func spoilt(err error) bool {
	refusal, ok := errors.AsType[*pannier.Refusal](err)
	return ok && strings.HasPrefix(refusal.Code, "archive.")
}

// stage unpacks an archive beside the skills, or for a dry run outside of the workspace, and reads what is in it.
func (d *Service) stage(ctx context.Context, req pannier.InstallRequest, a opened, room *stagingRoom) (*install.Staged, archive.Contents, error) {
	var contents archive.Contents
	limits := d.o.Install.Archive
	limits.Reserve = room.reserve
	stage := d.o.Install.Store.Stage
	if req.DryRun {
		stage = d.o.Install.Store.Rehearse
	}
	staged, err := stage(ctx, req.SourceKind, func(ctx context.Context, into *os.Root) (folder string, err error) {
		contents, err = archive.Unpack(ctx, a.file, a.size, a.format, into, limits)
		return contents.Top, err
	}, req.Accept.Rules...)
	return staged, contents, err
}

// stagingRoom is what one installation has of the bytes that all installations under way may unpack together, which are those of
// one archive of the largest size.
type stagingRoom struct {
	door  *Service
	bytes int64
}

// reserve takes room for a file, and refuses where others leave none. It never waits: two that wait for each other would both wait
// for ever.
func (r *stagingRoom) reserve(bytes int64) error {
	most := r.door.o.Install.Archive.MaxUncompressed
	r.bytes += bytes
	if all := r.door.staged.Add(bytes); all > most && all > r.bytes {
		return &pannier.Refusal{
			Code: "install.staging_full", Message: fmt.Sprintf("the installations under way unpack more than %d bytes together", most),
			Hint: "try again when they have ended; nothing was changed",
		}
	}
	return nil
}

func (r *stagingRoom) free() { r.door.staged.Add(-r.bytes) }

// commit puts a staged skill in its place. It waits for its turn as long as somebody waits for it; from then on nobody's
// going away stops it.
func (d *Service) commit(ctx context.Context, actor pannier.Actor, req pannier.InstallRequest, staged *install.Staged) (change, error) {
	if err := enter(ctx, d.turn); err != nil {
		return change{}, err
	}
	defer func() { <-d.turn }()
	ctx = context.WithoutCancel(ctx)
	e, err := d.preflight(req, staged.Skill)
	if err != nil {
		return change{}, err
	}
	undo, accepted, err := d.keepStaged(actor, req, staged)
	if err != nil {
		return change{}, err
	}
	var result pannier.InstallResult
	if req.Slug == "" {
		result, err = d.o.Install.Store.Install(ctx, staged, req, actor)
	} else {
		result, err = d.o.Install.Store.Update(ctx, staged, req, actor)
	}
	result.Reasons, result.Accepted, result.Problems = e.Reasons, accepted, append(result.Problems, explicitOnly(e)...)
	if err != nil {
		return change{plan: result}, errors.Join(err, undo())
	}
	if req.DryRun {
		return change{plan: result}, nil
	}
	return d.show(ctx, result, req.Origin), nil
}

// show looks at what has changed on disk, and returns it with the snapshot that shows it.
func (d *Service) show(ctx context.Context, result pannier.InstallResult, origin string) change {
	c := change{plan: result}
	c.event = installEvents[result.Status]
	if c.event == "" {
		return c
	}
	c.data = pannier.SkillInstalled{InstalledSkill: result.Skill, Previous: result.Previous, Origin: origin}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	at := result.Skill.InstallPath
	var err error
	if c.snapshot, err = d.o.Install.Look(ctx, at, filepath.Dir(at)); err != nil {
		d.o.Logger.Warn("an installation is done, and not served yet", "slug", result.Skill.Slug, "error", err)
	}
	return c
}

// installEvents are told of what has changed something.
var installEvents = map[pannier.InstallStatus]pannier.EventType{
	pannier.StatusInstalled:   pannier.EventInstallAdded,
	pannier.StatusUpdated:     pannier.EventInstallReplaced,
	pannier.StatusUninstalled: pannier.EventInstallRemoved,
	pannier.StatusRolledBack:  pannier.EventInstallRolledBack,
}

// Uninstall removes a skill that pannier has installed, with what clients have set of it.
func (d *Service) Uninstall(ctx context.Context, actor pannier.Actor, req pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error) {
	return d.remove(ctx, actor, pannier.ActionUninstall, req, func(ctx context.Context) (pannier.InstallResult, error) {
		return d.o.Install.Store.Uninstall(ctx, req, actor)
	})
}

// Rollback brings back the version of a skill that was there before the newest one.
func (d *Service) Rollback(ctx context.Context, actor pannier.Actor, req pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error) {
	return d.remove(ctx, actor, pannier.ActionRollback, req, func(ctx context.Context) (pannier.InstallResult, error) {
		return d.o.Install.Store.Rollback(ctx, req, actor)
	})
}

// remove takes one change without files of its own through the door.
func (d *Service) remove(ctx context.Context, actor pannier.Actor, action string, req pannier.RemoveRequest, act func(context.Context) (pannier.InstallResult, error)) (pannier.InstallResult, *pannier.Snapshot, error) {
	if err := d.installs(); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	if err := enter(ctx, d.turn); err != nil {
		return pannier.InstallResult{}, nil, err
	}
	defer func() { <-d.turn }()
	ctx = context.WithoutCancel(ctx)
	if req.DryRun {
		result, err := act(ctx)
		return result, nil, err
	}
	intent, err := d.o.Audit.Append(pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: action, Actor: actor, Slug: req.Slug,
		Detail: installIntent{SourceKind: req.SourceKind, Expected: req.Expected},
	})
	if err != nil {
		return pannier.InstallResult{}, nil, fmt.Errorf("%s: %w", action, err)
	}
	result, err := act(ctx)
	if err != nil {
		return d.installed(intent, change{}, err)
	}
	c := d.show(ctx, result, "")
	if result.Status == pannier.StatusUninstalled {
		c.snapshot = d.forgetPolicy(result.Skill, c.snapshot)
	}
	return d.installed(intent, c, nil)
}

// forgetPolicy removes what clients have set of a skill that was uninstalled, and returns a snapshot that shows it. Where
// another skill of the slug was shadowed until now, and where no look succeeded, the refusals stay. The skill is gone whether
// forgetPolicy succeeds or not.
func (d *Service) forgetPolicy(skill pannier.InstalledSkill, s *pannier.Snapshot) *pannier.Snapshot {
	if s == nil {
		return s
	}
	key := pannier.PolicyKey{Slug: skill.Slug, SourceKind: skill.SourceKind}
	e := d.o.Policy.All()[key]
	_, another := s.Holder(key)
	own := e.Path == "" || e.Path == skill.Path
	forget := func(is *bool) pannier.Toggle { return pannier.Toggle{Given: !another || own && is != nil && *is} }
	_, _, err := d.o.Policy.Set(key, e.Path, pannier.PolicyChange{Enabled: forget(e.Enabled), AllowImplicit: forget(e.AllowImplicit)})
	if err != nil {
		d.o.Logger.Warn("the policy of an uninstalled skill is still kept", "slug", skill.Slug, "error", err)
		return s
	}
	return d.o.SetPolicies(d.o.Policy.All())
}

// opened is an archive that can be read anywhere.
type opened struct {
	file    *os.File
	size    int64
	format  pannier.ArchiveFormat
	release func(consumed bool) error
}

// open returns the archive of an installation.
func (d *Service) open(ctx context.Context, actor pannier.Actor, src pannier.InstallSource) (opened, error) {
	if src.UploadID == "" {
		return d.spool(ctx, src)
	}
	if d.o.Install.Take == nil {
		return opened{}, &pannier.Refusal{Code: "upload.not_found", Message: "there are no uploads here", Hint: "send the archive as the body of POST /v1/skills"}
	}
	file, u, release, err := d.o.Install.Take(ctx, actor.Owner(), src.UploadID)
	if err != nil {
		return opened{}, err
	}
	return opened{file: file, size: u.Size, format: u.Format, release: release}, nil
}
