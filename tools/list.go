package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"pannier"
)

// plans keeps the plan of the newest snapshot.
type plans struct{ newest atomic.Pointer[plan] }

// plan is what is accepted and excluded of a snapshot, each by name.
type plan struct {
	snapshot *pannier.Snapshot
	tools    []pannier.RuntimeTool
	excluded []pannier.ExcludedTool
}

func (p *plans) of(s *pannier.Snapshot, make func(*pannier.Snapshot) ([]pannier.RuntimeTool, []pannier.ExcludedTool)) *plan {
	if kept := p.newest.Load(); kept != nil && kept.snapshot == s {
		return kept
	}
	made := &plan{snapshot: s}
	made.tools, made.excluded = make(s)
	slices.SortStableFunc(made.tools, func(a, b pannier.RuntimeTool) int { return strings.Compare(a.Name, b.Name) })
	p.newest.Store(made)
	return made
}

// missing says why a tool is not accepted.
func (p *plan) missing(s *pannier.Snapshot, name string) error {
	for _, x := range p.excluded {
		if x.Name == name {
			return refuse(codeOf(x.Reason), fmt.Sprintf("%s is kept back (%s): %s", name, x.Reason, x.Detail), "GET /v1/tools shows which tools can be called")
		}
	}
	if _, rest, ok := strings.Cut(name, "skill."); ok {
		slug, _, _ := strings.Cut(rest, ".")
		if e, found := s.Lookup(slug); found && !e.Usable {
			return unusable(e)
		}
	}
	return refuse(pannier.ToolNotFound, fmt.Sprintf("no tool is called %.200q", name), "GET /v1/tools shows all tools")
}

// codeOf returns the code of a refusal for the reason of an exclusion.
func codeOf(reason string) string {
	switch reason {
	case pannier.ToolsDisabled, pannier.ToolDisabledByConfig:
		return pannier.ToolDisabled
	case pannier.ToolTrustTooLow:
		return pannier.ToolTrustLevelTooLow
	}
	return pannier.ToolNotFound
}

// unusable refuses tools of a skill that is not usable.
func unusable(e *pannier.Entry) error {
	detail, hint := e.Slug+" is "+string(e.State), "run \"pannier show "+e.Slug+"\""
	code := pannier.ToolDisabled
	if len(e.Reasons) > 0 {
		r := e.Reasons[0]
		detail, hint = fmt.Sprintf("%s cannot be used: %s (%s)", e.Slug, r.Code, r.Subject), cmp.Or(r.Remedy, hint)
		switch r.Code {
		case pannier.ReasonStateLost:
			code = "state.lost"
		case pannier.ReasonTrustBlocked:
			code = pannier.ToolTrustLevelTooLow
		case pannier.ReasonSecurityBlocked, pannier.ReasonSecurityPending:
			code = pannier.ToolUnscanned
		case pannier.ReasonDisabled, pannier.ReasonInvalid, pannier.ReasonConflict:
		default:
			code = pannier.ToolDependencyMissing
		}
	}
	return refuse(code, detail, hint)
}

// List returns every tool of the usable skills of a snapshot, and whether it can be called now, as far as that is known without
// reading files.
func (s *Service) List(snapshot *pannier.Snapshot) pannier.ToolList {
	plan := s.plans.of(snapshot, s.Plan)
	list := pannier.ToolList{
		SnapshotVersion: snapshot.Version, Digest: snapshot.Digest, Enabled: s.Enabled, Runner: cmp.Or(s.Where, "none"), Report: s.Report(),
		Tools: make([]pannier.ListedTool, 0, len(plan.tools)), Excluded: plan.excluded,
	}
	for _, tool := range plan.tools {
		listed := pannier.ListedTool{RuntimeTool: tool}
		if err := s.callable(snapshot, tool); err != nil {
			listed.Why = asToolError(err)
		}
		listed.Callable = listed.Why == nil
		list.Tools = append(list.Tools, listed)
	}
	return list
}

func (s *Service) callable(snapshot *pannier.Snapshot, tool pannier.RuntimeTool) error {
	e, ok := snapshot.Lookup(tool.Skill)
	if !ok {
		return refuse(pannier.ToolNotFound, "the skill is gone", "retry")
	}
	if _, err := s.schemas.of(tool); err != nil {
		return err
	}
	fingerprint := s.Known(e.Skill)
	if fingerprint.IsZero() {
		return refuse(pannier.ToolUnscanned, "the files of "+e.Slug+" are not read yet", "retry in a moment")
	}
	if s.LinkedOut(e.Skill) {
		return linkedOut(e)
	}
	if err := s.judge(e, tool.Kind, fingerprint); err != nil {
		return err
	}
	if tool.Kind == pannier.RuntimeProxy {
		return nil
	}
	return s.runnerMissing(tool.Kind)
}
