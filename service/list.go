package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"

	"pannier"
)

// Show says what is shown of each skill of a list.
type Show struct{ Problems, Policy, Health, Activity bool }

// Lister returns what fills in an entry as a list shows it.
func (s *Service) Lister(now *pannier.Snapshot, with Show) func(from, into *pannier.Entry) {
	var uses *Uses
	if with.Activity {
		uses = s.Activity.Of(now)
	}
	return func(from, e *pannier.Entry) {
		*e = *from
		e.Fingerprint, e.ScanSummary = s.Contents.Fingerprint(e.Skill), s.Contents.Summary(e.Skill)
		if with.Health {
			e.Health = new(pannier.HealthOf(e))
		}
		if with.Activity {
			e.Activity = uses.Times(e)
		}
		if !with.Problems {
			e.Problems = nil
		}
		if !with.Policy {
			e.Policy = pannier.EffectivePolicy{}
		}
	}
}

// Query says which skills are listed; the zero value is all.
type Query struct {
	State pannier.State
	Text  string   // the skills that have words of it, the most relevant first
	Slugs []string // sorted
	Page  Page
}

// Select returns the entries that a query is about, with a text the most relevant first, else by slug, and what is
// said of the rest.
func (s *Service) Select(now *pannier.Snapshot, q Query) ([]*pannier.Entry, pannier.Paging, error) {
	entries := now.Entries
	if len(q.Slugs) > 0 {
		entries = withSlugs(entries, q.Slugs)
	}
	if q.Text != "" {
		within := entries
		entries = nil
		for _, f := range s.Ranked(now, q.Text) {
			if len(q.Slugs) == 0 || slices.Contains(within, f.Entry) {
				entries = append(entries, f.Entry)
			}
		}
	}
	if q.State != "" {
		within := entries
		entries = nil
		for _, e := range within {
			if e.State == q.State {
				entries = append(entries, e)
			}
		}
	}
	q.Page.Ranked = q.Text != ""
	return q.Page.Of(entries)
}

// withSlugs returns the entries with one of some sorted slugs, those that are shadowed too. Both lists are ordered by
// slug.
func withSlugs(entries []*pannier.Entry, slugs []string) (found []*pannier.Entry) {
	for _, slug := range slugs {
		first, _ := slices.BinarySearchFunc(
			entries, slug, func(e *pannier.Entry, slug string) int { return cmp.Compare(e.Slug, slug) },
		)
		entries = entries[first:]
		n := slices.IndexFunc(entries, func(e *pannier.Entry) bool { return e.Slug != slug })
		if n < 0 {
			n = len(entries)
		}
		found = append(found, entries[:n]...)
	}
	return found
}

// MaxPage bounds a page.
const MaxPage = 1000

// Page asks for a part of a list; the zero value is all of it.
type Page struct {
	Limit  int // 0 is all
	Cursor string
	Ranked bool // the list is ordered by relevance, else by slug
}

// Of returns the part, and what is said of the rest.
func (p Page) Of(entries []*pannier.Entry) ([]*pannier.Entry, pannier.Paging, error) {
	if p.Limit == 0 {
		return entries, pannier.Paging{}, nil
	}
	paging := pannier.Paging{Total: new(len(entries))}
	if p.Cursor != "" {
		from, err := p.after(entries)
		if err != nil {
			return nil, paging, err
		}
		entries = entries[from:]
	}
	if len(entries) > p.Limit {
		entries = entries[:p.Limit:p.Limit]
		paging.NextCursor = cursorOf(entries[p.Limit-1])
	}
	return entries, paging, nil
}

// cursorOf names an entry by its slug and, as others may have the same one, by a digest of its path.
func cursorOf(e *pannier.Entry) string {
	digest := pannier.DigestOf([]byte(e.Path))
	return base64.RawURLEncoding.EncodeToString(append(digest[:cursorDigestBytes:cursorDigestBytes], e.Slug...))
}

const cursorDigestBytes = 8

// after returns the index of the first entry after the one that the cursor names. If that one has gone, this is the
// first of its slug, or else of the next slug, and in a list by relevance the first of all: an entry may be repeated,
// and none is left out.
func (p Page) after(entries []*pannier.Entry) (int, error) {
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(text) <= cursorDigestBytes {
		return 0, refuse(
			"invalid_parameter.cursor", "invalid cursor",
			"give the next_cursor of the answer before, or begin again without a cursor",
		)
	}
	digest, slug := text[:cursorDigestBytes], string(text[cursorDigestBytes:])
	first := 0
	if !p.Ranked {
		first, _ = slices.BinarySearchFunc(
			entries, slug, func(e *pannier.Entry, slug string) int { return cmp.Compare(e.Slug, slug) },
		)
	}
	for i := first; i < len(entries) && (p.Ranked || entries[i].Slug == slug); i++ {
		if is := pannier.DigestOf([]byte(entries[i].Path)); entries[i].Slug == slug &&
			bytes.Equal(is[:cursorDigestBytes], digest) {
			return i + 1, nil
		}
	}
	return first, nil
}

// Describe returns all that is known of the skill that owns a slug, or lies at a path. Where the skill keeps
// changing, it returns what it could find out.
func (s *Service) Describe(ctx context.Context, now *pannier.Snapshot, ref, path string) (d pannier.Detail, err error) {
	err = s.Fresh(ctx, now, func(now *pannier.Snapshot) (err error) {
		d, err = s.describe(ctx, now, ref, path)
		return err
	})
	if errors.Is(err, ErrChanging) {
		err = nil
	}
	return d, err
}

// describe returns what it could find out along with [pannier.ErrChanged].
func (s *Service) describe(ctx context.Context, now *pannier.Snapshot, ref, at string) (pannier.Detail, error) {
	e, err := Find(now, ref, at)
	if err != nil {
		return pannier.Detail{}, err
	}
	d := pannier.Detail{
		Entry: *e, Requirements: e.Requirements, Files: []pannier.File{}, CollidesWith: []string{},
		Conformance: map[string]pannier.Conformance{}, Tools: []pannier.Tool{}, Commands: []pannier.Command{},
		Install: []pannier.InstallSpec{},
	}
	d.Fingerprint = s.Contents.Fingerprint(e.Skill)
	d.Scan = s.Verdict(e.Skill)
	for i := range now.Entries {
		if other := now.Entries[i]; other.Slug == e.Slug && other.Path != e.Path {
			d.CollidesWith = append(d.CollidesWith, other.Path)
		}
	}
	if files, truncated, err := s.Texts.Files(ctx, e.Skill); err == nil {
		d.Files, d.FilesTruncated = append(d.Files, files...), truncated
	}
	return d, s.inspect(ctx, &d)
}

// inspect adds what is only known by opening files. An inspection reads SKILL.md, so it is read apart only without one.
func (s *Service) inspect(ctx context.Context, d *pannier.Detail) error {
	if s.Inspect == nil {
		return s.readFrontmatter(ctx, d)
	}
	found, err := s.Inspect(ctx, d.Skill)
	switch {
	case errors.Is(err, pannier.ErrChanged), ctx.Err() != nil:
		return err
	case err != nil: // the problems of the skill say why
		s.Logger.Debug("cannot inspect a skill", "skill", d.Slug, "error", err)
		return s.readFrontmatter(ctx, d)
	}
	d.Frontmatter, d.Conformance = found.Frontmatter, found.Conformance
	d.Tools = append(d.Tools, found.Tools...)
	d.Commands = append(d.Commands, found.Commands...)
	d.Install = append(d.Install, found.Install...)
	d.Problems = slices.Concat(d.Problems, found.Problems)
	slices.SortStableFunc(d.Problems, pannier.CompareProblems)
	return nil
}

// readFrontmatter adds the frontmatter, none if it cannot be read.
func (s *Service) readFrontmatter(ctx context.Context, d *pannier.Detail) error {
	doc, err := s.Texts.Read(ctx, d.Skill)
	if errors.Is(err, pannier.ErrChanged) {
		return err
	}
	d.Frontmatter = doc.Frontmatter
	return nil
}

// Policies returns the policy of every skill, and those of skills that are not there.
func Policies(s *pannier.Snapshot) pannier.PolicyList {
	list := pannier.PolicyList{SnapshotVersion: s.Version, Policies: []pannier.Policy{}}
	seen := map[pannier.PolicyKey]bool{}
	for i := range s.Entries {
		e := s.Entries[i]
		key := pannier.PolicyKey{Slug: e.Slug, SourceKind: e.SourceKind}
		if !seen[key] {
			seen[key] = true
			list.Policies = append(list.Policies, s.Policies.Of(key, e.Skill))
		}
	}
	for key := range s.Policies.Workspace {
		if !seen[key] {
			list.Policies = append(list.Policies, s.Policies.Of(key, nil))
		}
	}
	slices.SortFunc(list.Policies, func(a, b pannier.Policy) int { return a.PolicyKey.Compare(b.PolicyKey) })
	return list
}
