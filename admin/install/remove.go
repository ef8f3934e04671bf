package install

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"pannier"
)

// Uninstall removes an installed skill and its previous version. Its directory may be missing. If neither the lock file
// nor the directory exists, the status is [pannier.StatusNotInstalled]; a directory that pannier did not install is a
// refusal. An error leaves everything unchanged.
func (s *Store) Uninstall(ctx context.Context, req pannier.RemoveRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.changeInstalled(ctx, req, by, (*place).uninstall)
}

// Rollback swaps a skill with its previous version. An error leaves everything unchanged.
func (s *Store) Rollback(ctx context.Context, req pannier.RemoveRequest, by pannier.Actor) (pannier.InstallResult, error) {
	return s.changeInstalled(ctx, req, by, (*place).rollback)
}

// removePlan decides the result of a request; the intent is nil if nothing changes.
type removePlan func(*place, context.Context, *pannier.RemoveRequest, current, pannier.Actor) (pannier.InstallResult, *intent, error)

// changeInstalled opens the root of a request, decides by a plan, and makes the change if there is one.
func (s *Store) changeInstalled(ctx context.Context, req pannier.RemoveRequest, by pannier.Actor, plan removePlan) (pannier.InstallResult, error) {
	owner, slug := pannier.SplitQualified(req.Slug)
	root, err := s.rootOf(req.SourceKind, slug)
	if err != nil || slug == "" {
		return pannier.InstallResult{}, cmp.Or(err, refuse("install.slug", "the slug is missing", "name the skill"))
	}
	if len(slug) > maxSlugBytes {
		return pannier.InstallResult{}, refuseLongSlug(slug)
	}
	req.Slug = slug
	var result pannier.InstallResult
	err = s.withRoot(ctx, root, req.DryRun, func(p *place) error {
		c, err := p.inspect(ctx, slug)
		if err != nil {
			return err
		}
		if owner != "" && c.entry != nil && c.entry.Owner != owner {
			is := cmp.Or(c.entry.Owner, "none")
			message := fmt.Sprintf("%s/%s is not installed; the installed one has another owner: %s", owner, c.entry.Slug, is)
			return refuse("install.not_found", message, "use the owner of the installed skill")
		}
		var in *intent
		result, in, err = plan(p, ctx, &req, c, by)
		result.DryRun = req.DryRun
		if err != nil || in == nil || req.DryRun {
			return err
		}
		return p.runAlone(ctx, in, &result)
	})
	if err != nil {
		return pannier.InstallResult{}, err
	}
	return result, nil
}

// runAlone makes a change without staged files.
func (p *place) runAlone(ctx context.Context, in *intent, result *pannier.InstallResult) error {
	a, err := p.newArea()
	if err != nil {
		return err
	}
	defer func() {
		if left := a.close(); left != nil {
			p.store.log.Warn("removing a staging directory failed", "root", p.root.Path, "error", left)
			result.Problems = append(result.Problems, LeftBehind(left))
		}
	}()
	in.ID = a.id
	e, err := p.run(ctx, in)
	e.addTo(result)
	return err
}

func (p *place) uninstall(_ context.Context, req *pannier.RemoveRequest, c current, _ pannier.Actor) (pannier.InstallResult, *intent, error) {
	switch {
	case c.otherKind != "":
		return pannier.InstallResult{}, nil, refuseNotDirectory("install.not_managed", p.root, req.Slug, c)
	case c.entry == nil && c.exists():
		return pannier.InstallResult{}, nil, refuseNotManaged(p.root, req.Slug, c)
	case c.entry == nil:
		return p.resultOf(req.Slug, pannier.LockEntry{}, pannier.StatusNotInstalled), nil, nil
	}
	if c.exists() {
		if err := c.expect(req.Expected, p.root, req.Slug); err != nil {
			return pannier.InstallResult{}, nil, err
		}
		if req.Expected.IsZero() && !c.large && c.changedByHand() {
			message := fmt.Sprintf("%s was changed by hand after it was installed: its fingerprint is %s, not %s", req.Slug, c.print, c.entry.Fingerprint)
			hint := fmt.Sprintf("to remove it anyway, give %s as the expected fingerprint", c.print)
			return pannier.InstallResult{}, nil, refuseConflict("install.fingerprint", message, hint, c.conflict(p.root, req.Slug))
		}
	}
	result := p.resultOf(req.Slug, *c.entry, pannier.StatusUninstalled)
	result.Previous = c.print
	if c.exists() {
		result.Removed = result.Skill.InstallPath
	}
	return result, &intent{Version: 1, Action: pannier.ActionUninstall, Slug: req.Slug, Old: c.print, Unprinted: c.large}, nil
}

func (p *place) rollback(ctx context.Context, req *pannier.RemoveRequest, c current, by pannier.Actor) (pannier.InstallResult, *intent, error) {
	before, err := p.versionBefore(ctx, req.Slug, c)
	if err == nil {
		err = c.expect(req.Expected, p.root, req.Slug)
	}
	if err != nil {
		return pannier.InstallResult{}, nil, err
	}
	if before.Fingerprint == c.print {
		return p.resultOf(req.Slug, *c.entry, pannier.StatusAlreadyUpToDate), nil, nil
	}
	after := *before
	after.By, after.InstalledAt, after.Previous = by, time.Now().UTC(), c.previous(p.root, req.Slug)
	after.RolledBack = true
	result := p.resultOf(req.Slug, after, pannier.StatusRolledBack)
	result.Previous = c.print
	return result, &intent{Version: 1, Action: pannier.ActionRollback, Slug: req.Slug, New: after.Fingerprint, Old: c.print, After: &after}, nil
}

// versionBefore returns the lock entry of the previous version, if its directory is unchanged.
func (p *place) versionBefore(ctx context.Context, slug string, c current) (*pannier.LockEntry, error) {
	switch {
	case c.otherKind != "":
		return nil, refuseNotDirectory("install.not_managed", p.root, slug, c)
	case c.entry == nil && c.exists():
		return nil, refuseNotManaged(p.root, slug, c)
	case c.large:
		return nil, refuseTooLarge(p.root, slug)
	case c.entry == nil:
		return nil, refuse("install.not_found", slug+" is not installed", "install it")
	}
	kept, err := p.fingerprintOrZero(ctx, path.Join(previousRel, slug))
	switch {
	case err != nil:
		return nil, err
	case c.entry.Previous == nil || kept.IsZero():
		return nil, refuse("install.no_previous", slug+" has no previous version", "update it with the archive of the wanted version")
	case kept != c.entry.Previous.Fingerprint:
		return nil, refuse("install.no_previous", "the previous version of "+slug+" was changed by hand", "update it with the archive of the wanted version")
	}
	return c.entry.Previous, nil
}

// resultOf returns the result of a change to the version of a lock entry.
func (p *place) resultOf(slug string, e pannier.LockEntry, status pannier.InstallStatus) pannier.InstallResult {
	return pannier.InstallResult{Status: status, Skill: pannier.InstalledSkill{
		Slug: slug, Owner: e.Owner, SourceKind: p.root.Kind, Version: e.Version, Fingerprint: e.Fingerprint, TrustLevel: e.Trust,
		Path: path.Join(p.root.Name, slug), InstallPath: filepath.Join(p.root.Path, slug),
	}}
}
