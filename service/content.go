package service

import (
	"context"

	"pannier"
)

// Text is the instructions of a skill.
type Text struct {
	*pannier.Entry
	pannier.Document
}

// Text returns the instructions of a skill of a snapshot. It fails with [pannier.ErrChanged] where the disk has moved
// on.
func (s *Service) Text(ctx context.Context, e *pannier.Entry) (pannier.Document, error) {
	if err := CheckInstructions(e); err != nil {
		return pannier.Document{}, err
	}
	doc, err := s.Texts.Read(ctx, e.Skill)
	return doc, refused(e, err)
}

// Instructions returns the instructions of the skill that owns a slug, as the newest snapshot has them.
func (s *Service) Instructions(ctx context.Context, now *pannier.Snapshot, ref string) (text Text, err error) {
	return s.InstructionsOf(ctx, now, func(now *pannier.Snapshot) (*pannier.Entry, error) { return Find(now, ref, "") })
}

// InstructionsOf returns the instructions of the skill that find finds in the newest snapshot.
func (s *Service) InstructionsOf(
	ctx context.Context, now *pannier.Snapshot, find func(*pannier.Snapshot) (*pannier.Entry, error),
) (text Text, err error) {
	err = s.Fresh(ctx, now, func(now *pannier.Snapshot) (err error) {
		if text.Entry, err = find(now); err == nil {
			text.Document, err = s.Text(ctx, text.Entry)
		}
		return err
	})
	return text, err
}

// Content returns instructions with the files of their skill.
func (s *Service) Content(ctx context.Context, t Text) pannier.Content {
	c := pannier.Content{
		Slug: t.Slug, Name: t.Name, Digest: t.Digest, Frontmatter: t.Frontmatter, Body: t.Body,
		Directory: s.Directory(t.Skill), Resources: []string{}, Warnings: append([]string{}, t.Warnings...),
	}
	files, truncated, err := s.Texts.Files(ctx, t.Skill)
	if err != nil {
		c.Warnings = append(c.Warnings, "cannot list the files of the skill: "+err.Error())
	}
	c.ResourcesTruncated = truncated
	for _, f := range files {
		if f.Path != t.File {
			c.Resources = append(c.Resources, f.Path)
		}
	}
	return c
}

// Reader is who asks for a file.
type Reader int

const (
	// Agent is a client that reads what agents may read.
	Agent Reader = iota
	// Model is a model that reads by itself: it may not read the instructions of skills that policy keeps for people.
	Model
	// Inspector is a client that may write and looks for a fault: it reads files as they are on disk, of skills in
	// every state.
	Inspector
)

// OpenedFile is a file that may be served.
type OpenedFile struct {
	File
	record func()
}

// Record records that the file is served.
func (f *OpenedFile) Record() { f.record() }

// OpenFile opens a file of a skill of a snapshot for a reader. It fails with [pannier.ErrChanged] where the disk has
// moved on.
func (s *Service) OpenFile(ctx context.Context, e *pannier.Entry, name string, by Reader) (*OpenedFile, error) {
	skill := e.Skill
	if by == Inspector { // who looks for a fault needs the text of the disk, not the last good one
		disk := *skill
		disk.Broken, disk.LastGood, disk.Digest = false, false, skill.FileDigest
		skill = &disk
	} else if err := CheckUsable(e); err != nil {
		return nil, err
	} else if e.ToolsOnly && pannier.IsSkillFile(name) {
		return nil, CheckInstructions(e)
	}
	f, err := s.Options.OpenFile(ctx, skill, name)
	if err != nil {
		return nil, refused(e, err)
	}
	opened := &OpenedFile{File: f, record: func() {}}
	instructions := name == e.File || !e.Digest.IsZero() && f.Digest() == e.Digest // a link can lead to them
	switch {
	case by == Inspector:
	case !instructions:
		opened.record = func() {
			s.Emit(pannier.EventSkillFileRead, pannier.SkillFileRead{Slug: e.Slug, Path: name, Digest: f.Digest()})
		}
	case by == Model && !e.Automatic():
		err = checkOffered(e)
	default:
		var doc pannier.Document
		doc, err = s.Text(ctx, e)
		opened.record = func() { s.RecordLoaded(Text{e, doc}) }
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return opened, nil
}

// VersionDiff returns what changed from the version before to the present one of the skill that owns a slug, or lies
// at a path.
func (s *Service) VersionDiff(
	ctx context.Context, now *pannier.Snapshot, ref, path string, by Reader,
) (pannier.VersionDiff, error) {
	e, err := Find(now, ref, path)
	if err == nil && by != Inspector {
		if err = CheckUsable(e); err == nil && isHeld(e) {
			err = held(e)
		}
	}
	if err != nil {
		return pannier.VersionDiff{}, err
	}
	diff, err := s.Diff(ctx, e.Skill)
	if err == nil && by != Inspector && s.Blocks != nil && s.Blocks(e.Skill, diff.From.Fingerprint) {
		err = refuse(
			"version_blocked",
			"a security scan blocks the previous version of "+e.Slug,
			"a client with the scope write can inspect it",
		)
	}
	if err != nil {
		return pannier.VersionDiff{}, err
	}
	return diff, nil
}
