package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"pannier"
)

// Uninstall removes a skill that pannier has installed, and the version before it. Its directory may be gone already. One
// that pannier knows nothing of, and that is not there, is [pannier.StatusNotInstalled]; one that is somebody's own is a
// refusal. After an error nothing has changed.
func (s *Store) Uninstall(ctx context.Context, req pannier.RemoveRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.changeInstalled(ctx, req, by, (*place).uninstall)
}

// Rollback brings the version before back; what was there then is the version before. After an error nothing has changed.
func (s *Store) Rollback(ctx context.Context, req pannier.RemoveRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.changeInstalled(ctx, req, by, (*place).rollback)
}

// removePlan says what comes of a request, given what there is: the intent is nil where nothing does.
type removePlan func(*place, context.Context, *pannier.RemoveRequest, current, pannier.Actor) (pannier.InstallResult, *intent, error)

// changeInstalled opens the root that a request means for a plan, and makes the change that it comes to, if any.
func (s *Store) changeInstalled(ctx context.Context, req pannier.RemoveRequest, by pannier.Actor, plan removePlan) (pannier.InstallResult, error) {
	owner, slug := pannier.SplitQualified(req.Slug)
	root, err := s.rootOf(req.SourceKind, slug)
	if err != nil || slug == "" {
		return pannier.InstallResult{}, cmp.Or(err, refuse("install.slug", "there is no slug", "name the skill"))
	}
	if len(slug) > maxSlugBytes {
		return pannier.InstallResult{}, longSlug(slug)
	}
	req.Slug = slug
	var result pannier.InstallResult
	err = s.within(ctx, root, req.DryRun, func(p *place) error {
		result, err = p.changeInstalled(ctx, &req, owner, by, plan)
		return err
	})
	if err != nil {
		return pannier.InstallResult{}, err
	}
	return result, nil
}

func (p *place) changeInstalled(ctx context.Context, req *pannier.RemoveRequest, owner string, by pannier.Actor, plan removePlan) (pannier.InstallResult, error) {
	c, err := p.now(ctx, req.Slug)
	if err == nil {
		err = c.ownedBy(owner)
	}
	if err != nil {
		return pannier.InstallResult{}, err
	}
	result, in, err := plan(p, ctx, req, c, by)
	if err != nil || in == nil || req.DryRun {
		return result, err
	}
	err = p.runAlone(ctx, in, &result)
	return result, err
}

// ownedBy refuses an owner that is not that of what is installed; empty is any.
func (c current) ownedBy(owner string) error {
	if owner == "" || c.entry == nil || c.entry.Owner == owner {
		return nil
	}
	return refuse("install.not_found", fmt.Sprintf("%s/%s is not installed; there is one of another owner: %s", owner, c.entry.Slug, cmp.Or(c.entry.Owner, "none")), "name the one that is meant")
}

// runAlone makes a change that nothing was staged for.
func (p *place) runAlone(ctx context.Context, in *intent, result *pannier.InstallResult) error {
	a, err := p.newArea()
	if err != nil {
		return err
	}
	in.ID = a.id
	e, err := p.run(ctx, in)
	e.tell(result)
	if cleared := a.close(); cleared != nil {
		p.store.log.Warn("what was staged stays", "root", p.root.Path, "error", cleared)
		result.Problems = append(result.Problems, LeftBehind(cleared))
	}
	return err
}

func (p *place) uninstall(_ context.Context, req *pannier.RemoveRequest, c current, _ pannier.Actor) (pannier.InstallResult, *intent, error) {
	switch {
	case c.strange != "":
		return pannier.InstallResult{}, nil, inTheWay("install.not_managed", p.root, req.Slug, c)
	case c.entry == nil && c.there():
		return pannier.InstallResult{}, nil, notManaged(p.root, req.Slug, c)
	case c.entry == nil:
		return p.resultOf(pannier.LockEntry{Slug: req.Slug}, req, pannier.StatusNotInstalled), nil, nil
	}
	if c.there() {
		if err := errors.Join(c.expect(req.Expected), c.asInstalled(req)); err != nil {
			return pannier.InstallResult{}, nil, err
		}
	}
	result := p.resultOf(*c.entry, req, pannier.StatusUninstalled)
	result.Previous = c.print
	if c.there() {
		result.Removed = result.Skill.InstallPath
	}
	return result, &intent{Version: 1, Action: pannier.ActionUninstall, Slug: req.Slug, Old: c.print, Unprinted: c.large}, nil
}

// asInstalled refuses to remove what somebody has written, unless whoever asks knows of it. Of what is too large for a
// fingerprint nobody can say that: it goes.
func (c current) asInstalled(req *pannier.RemoveRequest) error {
	if !req.Expected.IsZero() || c.large || !c.byHand() {
		return nil
	}
	return refuse("install.fingerprint", fmt.Sprintf("%s was changed by hand after it was installed: its fingerprint is %s, and was %s", req.Slug, c.print, c.entry.Fingerprint),
		fmt.Sprintf("keep what is of use in it; to remove it all the same, give %s as the expected fingerprint", c.print))
}

func (p *place) rollback(ctx context.Context, req *pannier.RemoveRequest, c current, by pannier.Actor) (pannier.InstallResult, *intent, error) {
	before, err := p.versionBefore(ctx, req.Slug, c)
	if err == nil {
		err = c.expect(req.Expected)
	}
	if err != nil {
		return pannier.InstallResult{}, nil, err
	}
	if before.Fingerprint == c.print {
		return p.resultOf(*c.entry, req, pannier.StatusAlreadyUpToDate), nil, nil
	}
	after := *before
	after.By, after.InstalledAt, after.Previous = by, time.Now().UTC(), c.previous(p.root, req.Slug)
	after.StartPolicy = c.startPolicy()
	result := p.resultOf(after, req, pannier.StatusRolledBack)
	result.Previous = c.print
	return result, &intent{Version: 1, Action: pannier.ActionRollback, Slug: req.Slug, New: after.Fingerprint, Old: c.print, After: &after}, nil
}

// versionBefore returns what the lock file says of the version before, if it is there and as it was.
func (p *place) versionBefore(ctx context.Context, slug string, c current) (*pannier.LockEntry, error) {
	switch {
	case c.strange != "":
		return nil, inTheWay("install.not_managed", p.root, slug, c)
	case c.entry == nil && c.there():
		return nil, notManaged(p.root, slug, c)
	case c.large:
		return nil, tooLarge(p.root, slug)
	case c.entry == nil:
		return nil, refuse("install.not_found", slug+" is not installed", "install it")
	}
	kept, err := p.printOther(ctx, path.Join(previousRel, slug))
	switch {
	case err != nil:
		return nil, err
	case c.entry.Previous == nil || kept.IsZero():
		return nil, refuse("install.no_previous", "there is no version before of "+slug, "install the one that is meant as an update")
	case kept != c.entry.Previous.Fingerprint:
		return nil, refuse("install.no_previous", "the version before of "+slug+" is not what was kept: somebody has changed it", "install the one that is meant as an update")
	}
	return c.entry.Previous, nil
}

func (p *place) resultOf(e pannier.LockEntry, req *pannier.RemoveRequest, status pannier.InstallStatus) pannier.InstallResult {
	return pannier.InstallResult{
		Status: status, DryRun: req.DryRun,
		Skill: pannier.InstalledSkill{
			Slug: req.Slug, Owner: e.Owner, SourceKind: p.root.Kind, Version: e.Version, Fingerprint: e.Fingerprint, TrustLevel: e.Trust,
			Path: path.Join(p.root.Name, req.Slug), InstallPath: filepath.Join(p.root.Path, req.Slug),
		},
	}
}
