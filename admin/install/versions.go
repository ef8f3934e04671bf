package install

import (
	"context"
	"errors"
	"path"

	"pannier"
)

// Versions returns the version of a skill that is there, and the one before, if there is one. It changes and locks
// nothing, so a change that is made meanwhile may show in part.
func (s *Store) Versions(ctx context.Context, skill *pannier.Skill) (list pannier.VersionList, err error) {
	list = pannier.VersionList{Slug: skill.Slug, Path: skill.Path}
	err = s.view(skill, func(p *place, name string) error {
		c, err := p.inspect(ctx, name)
		if err != nil {
			return err
		}
		list.Versions = append(list.Versions, c.version(skill))
		if c.entry == nil || c.entry.Previous == nil {
			return nil
		}
		before := versionOf(c.entry.Previous)
		_, err = p.versionBefore(ctx, name, c)
		if refusal, ok := errors.AsType[*pannier.Refusal](err); ok {
			before.Reason = refusal.Message
		} else if err != nil {
			return err
		}
		before.CanRollBack = err == nil && before.Fingerprint != c.print
		if err == nil && !before.CanRollBack {
			before.Reason = "it has the content of the present version"
		}
		list.Versions = append(list.Versions, before)
		return nil
	})
	return list, err
}

// view opens the root of a skill, for reading. name is the directory of the skill below the root.
func (s *Store) view(skill *pannier.Skill, do func(p *place, name string) error) error {
	if skill.RootIndex < 0 || skill.RootIndex >= len(s.rules.Roots) {
		return refuse("install.root_kind", "the root of the skill is not one of the settings", "rescan the workspace")
	}
	root := s.rules.Roots[skill.RootIndex]
	return s.viewRoot(root, func(p *place) error {
		if p.dir == nil {
			return refuse("install.root_missing", root.Path+" does not exist", "mount or create it")
		}
		return do(p, skill.PathBelowRoot)
	})
}

func versionOf(e *pannier.LockEntry) pannier.SkillVersion {
	return pannier.SkillVersion{Version: e.Version, Fingerprint: e.Fingerprint, InstalledAt: e.InstalledAt, Origin: e.Origin, RolledBack: e.RolledBack}
}

// version describes what is there of a skill.
func (c current) version(skill *pannier.Skill) pannier.SkillVersion {
	if c.entry == nil {
		return pannier.SkillVersion{Version: skill.Version, Fingerprint: c.print, Current: true, Reason: "pannier did not install it"}
	}
	v := versionOf(c.entry)
	v.Current, v.Fingerprint = true, c.print
	if c.changedByHand() {
		v.Version, v.Reason = skill.Version, "it was changed by hand after it was installed"
	}
	return v
}

// Diff compares what is there of a skill with the version before, which a rollback restores. It is as [Store.Versions].
func (s *Store) Diff(ctx context.Context, skill *pannier.Skill) (diff pannier.VersionDiff, err error) {
	diff.Files = []pannier.FileDiff{}
	err = s.view(skill, func(p *place, name string) error {
		c, err := p.inspect(ctx, name)
		if err != nil {
			return err
		}
		before, err := p.versionBefore(ctx, name, c)
		if err != nil {
			return err
		}
		diff.From, diff.To = versionOf(before), c.version(skill)
		diff.From.CanRollBack = before.Fingerprint != c.print
		return p.diff(ctx, path.Join(previousRel, name), name, &diff)
	})
	return diff, err
}
