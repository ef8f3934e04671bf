package sidecar

import (
	"context"

	"pannier"
)

// Contents are what a sidecar knows of the files of skills.
type Contents struct {
	// Known returns what is known without reading, Read the files as they are now.
	Known func(*pannier.Skill) Files
	Read  func(context.Context, *pannier.Skill) (Files, error)
	// Await returns a snapshot that shows what the files of a skill contain now, if they can be read within a second.
	Await func(context.Context, *pannier.Skill) *pannier.Snapshot
	// Scanned returns the result of the security scan of a skill with a fingerprint, with what is accepted of it; nil
	// means none.
	Scanned func(*pannier.Skill, pannier.Digest) *pannier.ScanSummary
	// Directory returns the absolute directory of a skill as the sidecar sees it.
	Directory func(*pannier.Skill) string
}

// Files are those of a skill.
type Files struct {
	Fingerprint pannier.Digest // zero if it is not known
	// LinkedOut is set if SKILL.md is a link that leads to no file of the skill, so it is not part of the fingerprint.
	LinkedOut bool
	Manifest  []pannier.ToolFile // of files that were read
}

func (c *core) contentsForModules() Contents {
	return Contents{
		Known: func(s *pannier.Skill) Files {
			known := c.contents.Known(s)
			return Files{Fingerprint: known.Fingerprint, LinkedOut: known.LinkedOut(s)}
		},
		Read: func(ctx context.Context, s *pannier.Skill) (Files, error) {
			now, manifest, err := c.contents.Read(ctx, s)
			return Files{Fingerprint: now.Fingerprint, LinkedOut: now.LinkedOut(s), Manifest: manifest}, err
		},
		Await: func(ctx context.Context, s *pannier.Skill) *pannier.Snapshot {
			return c.contents.AwaitRead(ctx, c.registry.Current(), []string{c.contents.Directory(s)})
		},
		Scanned: func(s *pannier.Skill, digest pannier.Digest) *pannier.ScanSummary {
			return c.contents.Scanned(s.Path, digest)
		},
		Directory: c.contents.Directory,
	}
}
