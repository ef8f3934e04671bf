// Package service decides who may do what with the skills of a workspace, does it, and records it. Every protocol
// asks it, and it knows none of them: a protocol decodes what a client asks for, calls one function, and encodes what
// it returns.
//
//	content                          read by                       of skills that
//	state, problems, frontmatter,    every client                  are in the snapshot
//	names of files, versions
//	instructions                     every client                  are usable and have them on disk
//	files                            every client                  are usable
//	difference to an older version   every client                  are usable and on disk, if that version is not blocked
//	activation by a model            every client                  policy lets the model choose
//	invocation by a person           every client                  people may call
//	all of these as they are on disk clients that may write,       are in the snapshot
//	                                 by an inspection
//
// No client reads files that [pannier.DiscoveryRules.Serves] excludes. A read emits skill_loaded for instructions and
// skill_file_read for any other file, an activation or invocation emits skill_loaded and skill_invoked. An inspection
// emits nothing.
//
// The client of a request is that of its context ([WithCaller]). A protocol holds it to the [Scope] of a request by
// [Service.Require] before it reads more of the request; a denied change is audited. Changes are carried out, audited
// and made known by what [Options] has for them.
package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// Texts reads what a snapshot only points to. Read fails with [pannier.ErrChanged] where the disk has moved on from the
// snapshot, and with [pannier.ErrNotServable] where there is nothing to read.
type Texts interface {
	Read(ctx context.Context, s *pannier.Skill) (pannier.Document, error)
	Files(ctx context.Context, s *pannier.Skill) (files []pannier.File, truncated bool, err error)
}

// File is a file of a skill that is open for reading.
type File interface {
	Digest() pannier.Digest
	Size() int64
	// Path is where the file lies below the directory of the skill, whatever links led there; empty for one that lies
	// elsewhere.
	Path() string
	// WriterTo writes the bytes with that digest, at least once. Where the file has changed meanwhile it fails with
	// [pannier.ErrChanged] before it has written the last of them.
	io.WriterTo
	io.Closer
}

// Commands find the commands of a snapshot.
type Commands struct {
	List func(*pannier.Snapshot) []pannier.SkillCommand
	Find func(s *pannier.Snapshot, name string) (pannier.FoundCommand, bool)
}

// Reading are what reads the directories of skills. All but the ones marked optional are needed for what uses them.
type Reading struct {
	Texts Texts
	// OpenFile opens a file below a skill directory. It fails with a [pannier.FileError] where there is none to
	// serve, and else as [Texts].Read does.
	OpenFile func(ctx context.Context, s *pannier.Skill, path string) (File, error)
	// Inspect looks into a skill directory; optional. It fails as [Texts] do.
	Inspect func(context.Context, *pannier.Skill) (pannier.Inspection, error)
	// Directory returns the directory of a skill as the agent sees it.
	Directory func(*pannier.Skill) string
	// Versions returns the versions of a skill, Diff what changed from the one before to the one that is there; both
	// optional.
	Versions func(context.Context, *pannier.Skill) (pannier.VersionList, error)
	Diff     func(context.Context, *pannier.Skill) (pannier.VersionDiff, error)
	// Blocks reports whether a security scan blocks a skill with a fingerprint; optional.
	Blocks func(*pannier.Skill, pannier.Digest) bool
	// Contents are what is known of skill directories beside the snapshot; optional.
	Contents Contents
}

// Options are what a service composes. All but the ones marked optional are needed.
type Options struct {
	// Snapshot returns the newest snapshot, nil before the first.
	Snapshot func() *pannier.Snapshot
	// Rescan looks at the disk again. With wait it returns the snapshot that is served once a scan has ended that began
	// after the call; without, the newest at once.
	Rescan func(ctx context.Context, wait bool) (*pannier.Snapshot, error)
	Reading
	// Commands are what people can give to the agent by name; the zero value is none.
	Commands Commands
	// Ranked returns the skills that have words of a text, the most relevant first.
	Ranked func(s *pannier.Snapshot, text string) []pannier.Found
	// Environment returns what skills are judged by, with the time that it was found out. Without it, that of the
	// snapshot is.
	Environment func() pannier.Environment

	// Installer, Changes, Uploads and Tools carry out what clients ask for. Each is optional.
	Installer Installer
	Changes   Changes
	Uploads   Uploads
	Tools     Tools
	// Installed is called with what came of an installation that was no dry run; optional.
	Installed func(pannier.InstallStatus, error)

	// Rights are what users of the unix socket may do.
	Rights Rights
	// Audit is the audit log; optional.
	Audit AuditLog
	// Emit takes events; optional. Mask masks the secrets in the arguments of an invocation; optional.
	Emit       func(pannier.EventType, any)
	Mask       func(string) string
	Registerer prometheus.Registerer // optional
	Logger     hclog.Logger          // optional
}

// AuditLog records changes, and those that were denied.
type AuditLog interface {
	// Newest returns the newest entries before a number, newest first; 0 is all, and so is an empty slug.
	Newest(slug string, before uint64, limit int) ([]pannier.AuditEntry, error)
	// Verify follows the chain of the log, which must have the entry SEQ:DIGEST, if that is not empty.
	Verify(ctx context.Context, expect string) (pannier.AuditCheck, error)
	Append(pannier.AuditEntry) (pannier.AuditEntry, error)
}

// Service answers for the skills of one workspace. It is for any number of callers.
type Service struct {
	Options
	Activity Activity
	denials  *denials
}

// New returns a service.
func New(o Options) *Service {
	if o.Emit == nil {
		o.Emit = func(pannier.EventType, any) {}
	}
	if o.Contents == nil {
		o.Contents = unknown{}
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	return &Service{Options: o, denials: newDenials(&o)}
}

// freshTries bounds how often a skill that changes while it is read is read.
const freshTries = 3

// Fresh calls answer with a snapshot. If answer fails with [pannier.ErrChanged], since the disk has changed, it scans
// again and retries, so that what is served is what a snapshot says.
func (s *Service) Fresh(ctx context.Context, now *pannier.Snapshot, answer func(*pannier.Snapshot) error) error {
	for try := range freshTries {
		if try > 0 {
			var err error
			if now, err = s.Rescan(ctx, true); err != nil {
				return err
			}
		}
		if err := answer(now); !errors.Is(err, pannier.ErrChanged) {
			return err
		}
	}
	return ErrChanging
}

// Uploads takes in archives by chunks (Pioneer skills protocol, "Upload Flow"). owner is who asks: an upload is its
// alone, over whichever connection. What is the caller's to mend is a [*pannier.Refusal], and of a chunk a
// [*pannier.UploadFault].
type Uploads interface {
	Start(ctx context.Context, owner string, up pannier.UploadStart) (pannier.Upload, error)
	// Append reads as much of a chunk as it wants to, and returns once what it acknowledges is on disk.
	Append(ctx context.Context, owner string, c pannier.UploadChunk, chunk io.Reader) (pannier.UploadAck, error)
	Finish(ctx context.Context, owner, id string) (pannier.Upload, error)
	Abort(ctx context.Context, owner, id string) (pannier.Upload, error)
	Status(ctx context.Context, owner, id string) (pannier.Upload, error)
	Limits() pannier.UploadLimits
}

// MaxToolCall is how long a call can take in all: the wait for its turn, and the longest timeout.
const MaxToolCall = 10 * time.Minute

// Tools call tools of skills.
type Tools interface {
	// List returns the tools of the usable skills.
	List(*pannier.Snapshot) pannier.ToolList
	// Permit says why a tool of a snapshot cannot be called now; nil for nothing.
	Permit(*pannier.Snapshot, *pannier.RuntimeTool) *pannier.ToolError
	// Permission shows what the permission of the tools of a skill covers, by its files as they are now, without the
	// scan. It fails with [pannier.ErrChanged] if the disk has moved on from the skill.
	Permission(context.Context, *pannier.Skill) (pannier.ToolPermission, error)
	// Call carries a call out. What is refused before anything runs is a [*pannier.Refusal].
	Call(context.Context, pannier.ToolRequest) (pannier.ToolResult, error)
	// Artifact finds a file that a call left. Content writes the bytes that have its digest.
	Artifact(ctx context.Context, owner, callID, name string) (found pannier.Artifact, content io.WriterTo, err error)
	// Prepare installs what the scripts of a skill need. What is refused before anything runs is a [*pannier.Refusal].
	Prepare(ctx context.Context, actor pannier.Actor, slug string) (pannier.PreparedSkill, error)
	// Cancel cancels a call of an owner, and reports whether there was one.
	Cancel(owner, callID string) bool
	// Register has calls of a tool of the agent carried out by call, until remove is called.
	Register(
		owner, name string, call func(context.Context, json.RawMessage) (pannier.ToolResult, error),
	) (remove func(), err error)
}
