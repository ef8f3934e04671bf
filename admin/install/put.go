package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/loader/fingerprint"
	"pannier/loader/scan"
)

// current is what a root has of a slug.
type current struct {
	entry *pannier.LockEntry // of the lock file
	print pannier.Digest     // of the directory, zero if there is none
	// otherKind describes what is in place of a directory, such as a symlink; empty if it is a directory or nothing.
	otherKind string
	// large says that the directory is too large for a fingerprint.
	large bool
}

func (c current) exists() bool { return c.otherKind != "" || c.large || !c.print.IsZero() }

func (p *place) inspect(ctx context.Context, slug string) (c current, err error) {
	if p.dir == nil {
		return c, nil
	}
	lock, err := p.lock()
	if err == nil {
		c.entry, err = lock.entry(p.root, slug)
	}
	if err != nil {
		return c, err
	}
	info, err := p.dir.Lstat(slug)
	if err != nil {
		return c, unlessMissing(err)
	}
	if c.otherKind = otherKind(info.Mode()); c.otherKind != "" {
		return c, nil
	}
	print, err := p.fingerprintKnown(ctx, slug)
	c.print, p.known = print.Digest, print.Known
	switch {
	case errors.Is(err, fingerprint.ErrTooLarge):
		c.large = true
		return c, nil
	case errors.Is(err, pannier.ErrChanged):
		busy := refuse("install.changing", path.Join(p.root.Name, slug)+" is being written to", "retry when the writes have ended; nothing was changed")
		return c, fmt.Errorf("%w: %w", busy, err)
	}
	return c, err
}

// otherKind describes what a mode is other than a directory, empty for a directory.
func otherKind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return ""
	case mode.IsRegular():
		return "a regular file"
	case mode&fs.ModeSymlink != 0:
		return "a symlink"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	}
	return "not a directory"
}

// Install installs a staged skill. If the same skill is installed, the status is [pannier.StatusAlreadyInstalled];
// another one is a refusal. A dry run returns the result without a change. An error leaves everything unchanged. The
// caller still discards st.
func (s *Store) Install(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.put(ctx, st, req, by, (*place).install)
}

// Update replaces the skill with the same slug by a staged one; the old one becomes the previous version. If both are
// equal, the status is [pannier.StatusAlreadyUpToDate]. A directory that pannier did not install is replaced only if
// req.Expected is its fingerprint, and is managed from then on. Otherwise it is as [Store.Install].
func (s *Store) Update(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.put(ctx, st, req, by, (*place).update)
}

// putPlan decides the status of installing a staged skill over what is present.
type putPlan func(*place, *Staged, pannier.InstallRequest, current) (pannier.InstallStatus, error)

// put opens the root, decides by a plan, and makes the change if there is one.
func (s *Store) put(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor, plan putPlan) (pannier.InstallResult, error) {
	var result pannier.InstallResult
	if kind := cmp.Or(req.SourceKind, pannier.SourceWorkspace); kind != st.root.Kind {
		return result, refuse("install.root_kind", fmt.Sprintf("the skill was staged for a root of the kind %s, not %s", st.root.Kind, kind), "stage it again")
	}
	owner, slug := pannier.SplitQualified(req.Slug)
	if req.Slug != "" && (slug != st.Skill.Slug || owner != "" && owner != st.Skill.Owner) {
		message := fmt.Sprintf("the skill is %s, not %s", st.Skill.Qualified(), req.Slug)
		return result, refuse("install.slug_mismatch", message, "use the slug of this skill, or send the other skill")
	}
	err := s.withRoot(ctx, st.root, req.DryRun, func(p *place) error {
		c, err := p.inspect(ctx, st.Skill.Slug)
		if err != nil {
			return err
		}
		status, err := plan(p, st, req, c)
		result = p.resultOfPut(st, c, status)
		result.DryRun = req.DryRun
		if err != nil || req.DryRun || c.print == st.Fingerprint {
			return err
		}
		e, err := p.replace(ctx, st, req, by, c)
		e.addTo(&result)
		return err
	})
	if err != nil {
		return pannier.InstallResult{}, err
	}
	return result, nil
}

// withRoot opens a root for one change, or for a dry run.
func (s *Store) withRoot(ctx context.Context, root pannier.Root, dry bool, do func(*place) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if dry {
		dir, _, err := fsx.OpenOwnedAbove(s.rules.Workspace, root.Path)
		if err != nil {
			return explain(root, err) // as the change is refused
		}
		dir.Close()
		return s.viewRoot(root, do)
	}
	p, err := s.enter(ctx, root)
	if err != nil {
		return err
	}
	defer p.close()
	return explain(root, do(p))
}

func (p *place) install(st *Staged, _ pannier.InstallRequest, c current) (pannier.InstallStatus, error) {
	switch {
	case c.print == st.Fingerprint:
		return pannier.StatusAlreadyInstalled, nil
	case c.otherKind != "":
		return "", refuseNotDirectory("install.exists", p.root, st.Skill.Slug, c)
	case c.exists():
		hint := "update it instead of installing it"
		switch {
		case c.large:
			hint = "move it away first; it is too large to update"
		case c.entry == nil:
			hint = fmt.Sprintf("pannier did not install it; to replace it anyway, update it with %s as the expected fingerprint", c.print)
		}
		message := path.Join(p.root.Name, st.Skill.Slug) + " already exists with other content"
		return "", refuseConflict("install.exists", message, hint, c.conflict(p.root, st.Skill.Slug))
	case p.dir == nil:
		return pannier.StatusInstalled, nil
	}
	return pannier.StatusInstalled, st.refuseBlocked(scan.Destination(p.dir, st.Skill.Slug))
}

func (p *place) update(st *Staged, req pannier.InstallRequest, c current) (pannier.InstallStatus, error) {
	switch {
	case c.otherKind != "":
		return "", refuseNotDirectory("install.not_managed", p.root, st.Skill.Slug, c)
	case c.large:
		return "", refuseTooLarge(p.root, st.Skill.Slug)
	case !c.exists():
		return "", refuse("install.not_found", st.Skill.Slug+" is not installed, so it cannot be updated", "install it")
	case c.entry != nil && c.entry.Owner != "" && st.Skill.Owner != "" && c.entry.Owner != st.Skill.Owner:
		return "", refuse("install.slug_mismatch", fmt.Sprintf("%s/%s is installed, but the archive contains %s", c.entry.Owner, c.entry.Slug, st.Skill.Qualified()), "uninstall the other one first")
	case c.print == st.Fingerprint:
		return pannier.StatusAlreadyUpToDate, nil
	case c.entry == nil && req.Expected.IsZero():
		return "", refuseNotManaged(p.root, st.Skill.Slug, c)
	}
	return pannier.StatusUpdated, c.expect(req.Expected, p.root, st.Skill.Slug)
}

// expect refuses a change if the fingerprint is not the one that the client expects; zero is any.
func (c current) expect(expected pannier.Digest, root pannier.Root, slug string) error {
	if expected.IsZero() || expected == c.print {
		return nil
	}
	hint := "check the skill and retry with its present fingerprint"
	if c.changedByHand() {
		hint = "it was changed by hand after it was installed; " + hint
	}
	is := c.print.String()
	if c.large {
		is = "unknown, because the skill is too large for one"
	}
	return refuseConflict("install.fingerprint", fmt.Sprintf("the fingerprint is %s, not %s", is, expected), hint, c.conflict(root, slug))
}

// changedByHand reports whether an installed skill was changed after it was installed.
func (c current) changedByHand() bool {
	return c.entry != nil && (c.large || !c.print.IsZero() && c.entry.Fingerprint != c.print)
}

// errStaged says that the staged directory is missing or changed.
var errStaged = errors.New("the staged skill was already installed, discarded or changed")

// replace makes the change of [Store.put].
func (p *place) replace(ctx context.Context, st *Staged, req pannier.InstallRequest, by pannier.Actor, c current) (configEdit, error) {
	in := &intent{Version: 1, ID: st.area.id, Action: pannier.ActionInstall, Slug: st.Skill.Slug, New: st.Fingerprint, Old: c.print}
	if !c.print.IsZero() {
		in.Action = pannier.ActionUpdate
	}
	if staged, err := p.fingerprint(ctx, in.newDir()); err != nil || staged != in.New {
		return configEdit{}, st.area.explainMissing(errors.Join(errStaged, err))
	}
	after, now := st.entry(), time.Now().UTC()
	after.Origin, after.InstalledAt, after.By, after.Previous = req.Origin, now, by, c.previous(p.root, st.Skill.Slug)
	after.Accepted = req.Accept.Acceptances(nil, by, now)
	in.After = &after
	return p.run(ctx, in)
}

// previous returns the lock entry of the previous version, nil if there is none.
func (c current) previous(root pannier.Root, slug string) *pannier.LockEntry {
	if c.print.IsZero() {
		return nil
	}
	e := pannier.LockEntry{Slug: slug, Trust: root.Trust}
	if c.entry != nil {
		e = *c.entry
	}
	if e.Fingerprint != c.print {
		e.Digest = pannier.Digest{} // the entry describes other content
	}
	e.Fingerprint, e.Previous = c.print, nil
	return &e
}

func (e configEdit) addTo(result *pannier.InstallResult) {
	result.Config = e.config
	if e.problem != nil {
		result.Problems = append(result.Problems, *e.problem)
	}
}

// entry returns what the lock file says of the staged skill, apart from the request.
func (st *Staged) entry() pannier.LockEntry {
	return pannier.LockEntry{
		Slug: st.Skill.Slug, Owner: st.Skill.Owner, Version: st.Skill.Version, Fingerprint: st.Fingerprint, Digest: st.Skill.Digest,
		Trust: st.store.trust,
	}
}

func (p *place) resultOfPut(st *Staged, c current, status pannier.InstallStatus) pannier.InstallResult {
	r := p.resultOf(st.Skill.Slug, st.entry(), status)
	r.Skill.Name, r.Previous, r.Files, r.Bytes = st.Skill.Name, c.print, st.Files, st.Bytes
	r.Findings, r.Problems = st.Findings, append([]pannier.Problem{}, st.Problems...)
	if status == pannier.StatusUpdated && c.changedByHand() {
		r.Problems = append(r.Problems, pannier.Problem{
			Code: "install.changed_by_hand", Severity: pannier.SeverityWarning, Path: st.Skill.Path,
			Message: "the replaced skill was changed by hand after it was installed", Hint: "a rollback restores it",
		})
	}
	if status.Unchanged() && c.entry == nil {
		r.Skill.TrustLevel = st.root.Trust
		r.Problems = append(r.Problems, pannier.Problem{
			Code: "install.not_managed", Severity: pannier.SeverityInfo, Path: st.Skill.Path,
			Message: "the same skill is there already and was not installed by pannier; it keeps the trust and policy of its root",
			Hint:    "to have pannier manage it, remove the directory and install the skill again",
		})
	}
	return r
}
