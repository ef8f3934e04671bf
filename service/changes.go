package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"pannier"
)

// Installer moves skills, and audits that. What a client can act on is a [*pannier.Refusal].
type Installer interface {
	// Install puts a skill into the workspace, or replaces one, and returns with a snapshot that shows it; nil of a
	// dry run.
	Install(
		context.Context, pannier.Actor, pannier.InstallRequest, pannier.InstallSource,
	) (pannier.InstallResult, *pannier.Snapshot, error)
	// InstallSeveral puts each skill of an archive into the workspace, and returns what came of it.
	InstallSeveral(
		context.Context, pannier.Actor, pannier.InstallSeveral, pannier.InstallSource,
	) ([]pannier.InstalledFolder, error)
	// Uninstall removes a skill that was installed, Rollback brings back the version before.
	Uninstall(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)
	Rollback(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)
	// Promote records a packet that asks for a workflow to become a skill.
	Promote(context.Context, pannier.Actor, pannier.Promotion) (pannier.SkillPromotion, error)
}

// Changes change what skills are judged by, and audits that. Each function returns with a snapshot that shows the
// change.
type Changes interface {
	// SetPolicy changes the workspace layer of a skill's policy.
	SetPolicy(
		context.Context, pannier.Actor, pannier.PolicyKey, pannier.PolicyChange,
	) (pannier.Policy, *pannier.Snapshot, error)
	// PutEnvironment takes in what the agent's container offers, and returns it as it is kept.
	PutEnvironment(context.Context, pannier.Actor, pannier.Environment) (pannier.Environment, *pannier.Snapshot, error)
	// Scan scans a skill directory as it is now, and keeps the verdict and what is accepted of it.
	Scan(
		context.Context, pannier.Actor, *pannier.Skill, pannier.ScanRequest,
	) (pannier.ScanReport, *pannier.Snapshot, error)
	// Acknowledge ends a condition of health that lasts until an operator has looked at it.
	Acknowledge(ctx context.Context, actor pannier.Actor, condition string) (*pannier.Snapshot, error)
}

// Install puts the skill of an archive into the workspace. With a slug it replaces that skill.
func (s *Service) Install(
	ctx context.Context, req pannier.InstallRequest, src pannier.InstallSource,
) (pannier.InstallResult, error) {
	result, _, err := s.Installer.Install(ctx, ActorFrom(ctx), req, src)
	if !req.DryRun {
		s.countInstalled(result.Status, err)
	}
	return result, err
}

// InstallSeveral puts each skill of an archive into the workspace, and returns what came of each.
func (s *Service) InstallSeveral(
	ctx context.Context, req pannier.InstallSeveral, src pannier.InstallSource,
) (list pannier.FolderList, err error) {
	folders, err := s.Installer.InstallSeveral(ctx, ActorFrom(ctx), req, src)
	if err != nil {
		if !req.DryRun {
			s.countInstalled("", err)
		}
		return list, err
	}
	list.Results = []pannier.FolderResult{}
	for _, f := range folders {
		if !req.DryRun {
			s.countInstalled(f.Result.Status, f.Err)
		}
		result := pannier.FolderResult{Path: f.Path, Slug: f.Slug, OK: f.Err == nil}
		if result.OK {
			result.Result = &f.Result
		} else {
			problem, ok := s.Problem(f.Path, f.Err)
			if !ok {
				problem = s.Unexpected(f.Path, f.Err)
			}
			result.Error = &problem
		}
		list.Results = append(list.Results, result)
	}
	return list, nil
}

func (s *Service) countInstalled(status pannier.InstallStatus, err error) {
	if s.Installed != nil {
		s.Installed(status, err)
	}
}

// Uninstall removes a skill that was installed.
func (s *Service) Uninstall(ctx context.Context, req pannier.RemoveRequest) (pannier.InstallResult, error) {
	result, _, err := s.Installer.Uninstall(ctx, ActorFrom(ctx), req)
	return result, err
}

// Rollback brings back the version of a skill that was there before the newest.
func (s *Service) Rollback(ctx context.Context, req pannier.RemoveRequest) (pannier.InstallResult, error) {
	result, _, err := s.Installer.Rollback(ctx, ActorFrom(ctx), req)
	return result, err
}

// Promote records a packet that asks for a workflow to become a skill.
func (s *Service) Promote(ctx context.Context, p pannier.Promotion) (pannier.SkillPromotion, error) {
	return s.Installer.Promote(ctx, ActorFrom(ctx), p)
}

// SetPolicy changes the workspace layer of a skill's policy. Tools are allowed for the present content of the skill
// alone, which [Service.ToolPermission] shows.
func (s *Service) SetPolicy(
	ctx context.Context, key pannier.PolicyKey, change pannier.PolicyChange,
) (pannier.Policy, error) {
	if key.SourceKind == "" {
		key.SourceKind = pannier.SourceWorkspace
	}
	if allowed := change.ToolsAllowed.To; !allowed.IsZero() {
		if err := s.checkPermission(ctx, key, allowed); err != nil {
			return pannier.Policy{}, err
		}
	}
	policy, _, err := s.Changes.SetPolicy(ctx, ActorFrom(ctx), key, change)
	return policy, err
}

// ToolPermission shows what the permission of the tools of a skill covers. A key without a kind of root means the skill
// that owns the slug.
func (s *Service) ToolPermission(ctx context.Context, key pannier.PolicyKey) (p pannier.ToolPermission, err error) {
	now := s.Snapshot()
	switch {
	case now == nil:
		return p, ErrNotReady
	case s.Tools == nil:
		return p, refuse(pannier.ToolNoRunner, noTools.Message, noTools.Hint)
	}
	err = s.Fresh(ctx, now, func(now *pannier.Snapshot) error {
		e, found := now.Lookup(key.Slug)
		if key.SourceKind != "" {
			_, slug := pannier.SplitQualified(key.Slug)
			e, found = now.Holder(pannier.PolicyKey{Slug: slug, SourceKind: key.SourceKind})
		}
		if !found {
			return NotFound(key.Slug, "")
		}
		if p, err = s.Tools.Permission(ctx, e.Skill); err != nil {
			return err
		}
		if v := s.Verdict(e.Skill); v != nil && v.Fingerprint == p.Fingerprint {
			p.Scan = v
		}
		return nil
	})
	return p, err
}

// checkPermission refuses tools of other files than a client has seen, and of files that must not run. What was not
// scanned yet is scanned before.
func (s *Service) checkPermission(ctx context.Context, key pannier.PolicyKey, seen pannier.Digest) error {
	p, err := s.ToolPermission(ctx, key)
	if err == nil && p.Scan == nil && p.Fingerprint == seen {
		if _, err = s.Scan(ctx, s.Snapshot(), key.Slug, p.Path, pannier.ScanRequest{}); err == nil {
			p, err = s.ToolPermission(ctx, key)
		}
	}
	switch {
	case err != nil:
		return err
	case p.Fingerprint != seen:
		return refuse(
			pannier.ToolChanged, fmt.Sprintf("the files of %s have the fingerprint %s, and not the given one", p.Slug, p.Fingerprint),
			`look at them again, then allow them: "pannier tool allow `+p.Slug+`"`,
		)
	case p.Refused != nil:
		return refuse(p.Refused.Code, p.Refused.Message, p.Refused.Hint)
	}
	return nil
}

// Environment returns what skills are judged by.
func (s *Service) Environment(now *pannier.Snapshot) pannier.Environment {
	if s.Options.Environment != nil {
		return s.Options.Environment()
	}
	return now.Environment
}

// PutEnvironment takes in what the agent's container offers, and returns what skills are judged by then.
func (s *Service) PutEnvironment(ctx context.Context, env pannier.Environment) (pannier.Environment, error) {
	_, now, err := s.Changes.PutEnvironment(ctx, ActorFrom(ctx), env)
	if err != nil {
		return pannier.Environment{}, err
	}
	return s.Environment(now), nil
}

// Scan scans the skill that owns a slug, or lies at a path, as it is now.
func (s *Service) Scan(
	ctx context.Context, now *pannier.Snapshot, ref, path string, req pannier.ScanRequest,
) (pannier.ScanReport, error) {
	e, err := Find(now, ref, path)
	if err != nil {
		return pannier.ScanReport{}, err
	}
	report, _, err := s.Changes.Scan(ctx, ActorFrom(ctx), e.Skill, req)
	if errors.Is(err, pannier.ErrChanged) {
		err = ErrChanging
	}
	return report, err
}

// Acknowledge ends a condition of health that lasts until an operator has looked at it.
func (s *Service) Acknowledge(ctx context.Context, condition string) error {
	_, err := s.Changes.Acknowledge(ctx, ActorFrom(ctx), condition)
	return err
}

// CallTool calls a tool of a skill for the client of a context.
func (s *Service) CallTool(ctx context.Context, call pannier.ToolRequest) (pannier.ToolResult, error) {
	call.Actor = ActorFrom(ctx)
	call.Owner = call.Actor.Owner()
	return s.Tools.Call(ctx, call)
}

// OpenArtifact returns a file that a call of a tool left, for every client that may call tools.
func (s *Service) OpenArtifact(ctx context.Context, callID, name string) (File, error) {
	if s.Tools == nil {
		return nil, refuse(pannier.ToolArtifactMissing, noTools.Message, noTools.Hint)
	}
	found, content, err := s.Tools.Artifact(ctx, ActorFrom(ctx).Owner(), callID, name)
	if err != nil {
		return nil, err
	}
	return artifact{found, content}, nil
}

// artifact is a file of a runner. It implements [File].
type artifact struct {
	pannier.Artifact
	io.WriterTo
}

func (a artifact) Digest() pannier.Digest { return a.Artifact.Digest }
func (a artifact) Size() int64            { return a.Bytes }
func (a artifact) Path() string           { return a.Name }
func (a artifact) Close() error           { return nil }

// PrepareTools installs what the scripts of the skill that owns a slug need.
func (s *Service) PrepareTools(ctx context.Context, slug string) (pannier.PreparedSkill, error) {
	return s.Tools.Prepare(ctx, ActorFrom(ctx), slug)
}

// CancelTool cancels a call of a tool of the same client.
func (s *Service) CancelTool(ctx context.Context, callID string) (pannier.CanceledToolCall, error) {
	if s.Tools.Cancel(ActorFrom(ctx).Owner(), callID) {
		return pannier.CanceledToolCall{CallID: callID, Canceled: true}, nil
	}
	return pannier.CanceledToolCall{}, refuse(
		"call_not_found", "no call "+strconv.Quote(pannier.Truncate(callID, 128))+" of this client goes on",
		"use the call_id of the call; it may have ended",
	)
}

var noTools = pannier.ToolError{
	Code: pannier.ToolNoRunner, Message: "only a running sidecar calls tools of skills", Hint: "start \"pannier run\"",
}

// PermitTool says why a tool of a snapshot cannot be called now; nil for nothing.
func (s *Service) PermitTool(now *pannier.Snapshot, tool *pannier.RuntimeTool) *pannier.ToolError {
	if s.Tools == nil {
		return &noTools
	}
	return s.Tools.Permit(now, tool)
}

// ParseExpected reads a fingerprint that a parameter gives.
func ParseExpected(parameter, text string) (pannier.Digest, error) {
	digest, err := pannier.ParseFingerprint(text)
	if err != nil {
		return digest, refuse(
			"invalid_parameter."+parameter, "invalid "+parameter+": "+err.Error(),
			"give the fingerprint of the skill as it was listed, sha256: and 64 hexadecimal digits; leave the parameter out to accept any",
		)
	}
	return digest, nil
}
