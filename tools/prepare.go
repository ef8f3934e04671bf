package tools

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"pannier"
)

// prepareTimeout bounds an installation of packages.
const prepareTimeout = 5 * time.Minute

// Prepare has the runner install what the scripts and Python functions of a skill declare to need, so that calls find
// it without a network. It is refused where a call of them would be.
func (s *Service) Prepare(ctx context.Context, actor pannier.Actor, skill string) (pannier.PreparedSkill, error) {
	c := &call{s: s}
	c.Actor = actor
	if err := c.name(); err != nil {
		return pannier.PreparedSkill{}, err
	}
	files, err := c.prepared(skill)
	if err != nil {
		return pannier.PreparedSkill{}, err
	}
	release, err := s.schedule.acquire(ctx, "prepare\x00"+skill)
	if err != nil {
		return pannier.PreparedSkill{}, err
	}
	defer release()
	if err := c.read(ctx); err != nil {
		return pannier.PreparedSkill{}, err
	}
	if err := s.permit(c.entry, &c.tool, &c.files); err != nil {
		return pannier.PreparedSkill{}, err
	}
	entry := pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: pannier.ActionPrepareTools, Actor: actor, Slug: skill,
		Detail: prepareIntent{c.files.Fingerprint, files, s.Where},
	}
	written, err := s.Audit.Append(entry)
	if err != nil {
		return pannier.PreparedSkill{}, err
	}
	job := pannier.ToolJob{
		ID: c.id, Name: "prepare", Kind: pannier.JobPrepare, Skill: skill, SkillDir: s.Directory(c.entry.Skill),
		Files: c.files.Manifest, Fingerprint: c.files.Fingerprint, Command: files, Arguments: json.RawMessage(`{}`),
		Timeout: prepareTimeout, Sandbox: s.Sandbox, Bounds: s.Bounds,
	}
	result, err := s.Runner.Run(ctx, job, func([]byte) {})
	if err != nil {
		result.Error = asToolError(err)
	}
	result = c.masked(result)
	done := pannier.PreparedSkill{
		Slug: skill, OK: result.Error == nil, Files: files, Output: result.Output, Truncated: result.Truncated,
		DurationMS: result.DurationMS, Error: result.Error,
	}
	entry.Phase, entry.Intent, entry.Detail = pannier.AuditOutcome, written.Seq, prepareOutcome{done.OK, done.DurationMS}
	if done.Error != nil {
		entry.Error = done.Error.Code + ": " + done.Error.Message
	}
	if _, err := s.Audit.Append(entry); err != nil {
		s.Logger.Error("the outcome of an installation of packages could not be audited", "slug", skill, "intent", written.Seq, "error", err)
	}
	return done, nil
}

// prepareIntent and prepareOutcome are what the audit log has of an installation before and after it.
type prepareIntent struct {
	Fingerprint pannier.Digest `json:"fingerprint,omitzero"`
	Files       []string       `json:"files"`
	Runner      string         `json:"runner,omitempty"`
}

type prepareOutcome struct {
	OK         bool  `json:"ok"`
	DurationMS int64 `json:"duration_ms"`
}

// prepared finds the scripts and Python functions of a skill, and returns their files. The first one stands for all
// when it is checked what may run.
func (c *call) prepared(skill string) (files []string, err error) {
	s := c.s
	if !s.Enabled {
		return nil, errDisabled
	}
	snapshot := s.Snapshot()
	if snapshot == nil {
		return nil, refuse(pannier.ToolNotFound, "the first scan of the workspace has not ended", "retry in a moment")
	}
	e, ok := snapshot.Lookup(skill)
	switch {
	case !ok:
		return nil, refuse(pannier.ToolNotFound, "no skill is called "+skill, "run `pannier list` to see all skills")
	case !e.Usable:
		return nil, unusable(e)
	}
	c.entry = e
	plan := s.plans.of(snapshot, s.Plan)
	ofFiles := func(kind pannier.RuntimeToolKind) bool {
		return kind == pannier.RuntimeScript || kind == pannier.RuntimePython
	}
	for _, tool := range plan.tools {
		if tool.Skill != e.Slug || !ofFiles(tool.Kind) {
			continue
		}
		var cfg config
		_ = json.Unmarshal(tool.Config, &cfg) // the planner wrote it
		if len(files) == 0 {
			c.tool = tool
		}
		if !slices.Contains(files, cfg.File) {
			files = append(files, cfg.File)
		}
	}
	if len(files) > 0 {
		return files, nil
	}
	for _, x := range plan.excluded {
		if x.Skill == e.Slug && ofFiles(x.Kind) {
			return nil, plan.missing(snapshot, x.Name)
		}
	}
	return nil, refuse(pannier.ToolNotFound, skill+" has no scripts and no Python functions",
		"run `pannier tool list` to see all tools; scripts need `script` in tools.kinds")
}
