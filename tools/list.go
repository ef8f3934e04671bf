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
		if x.Name == name || x.ModelName == name {
			return refuse(codeOf(x.Reason), fmt.Sprintf("%s is kept back (%s): %s", name, x.Reason, x.Detail), cmp.Or(x.Hint, "run \"pannier tool list\" to see which tools can be called"))
		}
	}
	if pannier.NamesSkillTool(name) {
		slug, _, _ := strings.Cut(strings.ReplaceAll(name, "__", ".")[len("skill."):], ".")
		if e, found := s.Lookup(slug); found && !e.Usable {
			return unusable(e)
		}
	}
	return refuse(pannier.ToolNotFound, fmt.Sprintf("no tool is called %.200q", name), "run \"pannier tool list\" to see all tools")
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
		SnapshotVersion: snapshot.Version, Digest: snapshot.Digest, Enabled: s.Enabled, Kinds: s.Kinds, Runner: cmp.Or(s.Where, "none"), Report: s.Report(),
		Tools: make([]pannier.ListedTool, 0, len(plan.tools)), Excluded: plan.excluded,
	}
	for _, tool := range plan.tools {
		listed := pannier.ListedTool{RuntimeTool: tool}
		listed.Why = s.Permit(snapshot, &listed.RuntimeTool)
		listed.Callable = listed.Why == nil
		list.Tools = append(list.Tools, listed)
	}
	return list
}

// Permit says why a tool of a snapshot must not be called now, as far as that is known without reading files; nil for nothing.
func (s *Service) Permit(snapshot *pannier.Snapshot, tool *pannier.RuntimeTool) *pannier.ToolError {
	e, ok := snapshot.Lookup(tool.Skill)
	if !ok || !e.Usable {
		return asToolError(refuse(pannier.ToolNotFound, "the skill is gone", "retry"))
	}
	files := s.Known(e.Skill)
	err := s.permit(e, tool, &files)
	if err == nil {
		err = s.schemas.fault(tool)
	}
	if err != nil {
		return asToolError(err)
	}
	return nil
}

// permit refuses a tool that must not be called while its skill has some files. Lists, turns, hosts and calls ask it about tools of
// every kind.
func (s *Service) permit(e *pannier.Entry, tool *pannier.RuntimeTool, files *Files) error {
	if !s.Enabled {
		return errDisabled
	}
	if err := s.checkFiles(e, files); err != nil {
		return err
	}
	secret := false
	if tool.Kind == pannier.RuntimeHTTP {
		var err error
		if secret, err = s.Secrets(e.Slug, tool.Config); err != nil {
			return refuse(pannier.ToolNotAllowed, err.Error(), "ask the operator to name the host and "+e.Slug+" in tools.secrets, then run \"pannier tool allow "+e.Slug+"\"")
		}
	}
	if !e.MayCall(tool, secret, files.Fingerprint) {
		message := "tools of " + e.Slug + " are not allowed to run"
		if !e.Policy.ToolsAllowed.IsZero() {
			message = e.Slug + " has changed since its tools were allowed to run"
		}
		return refuse(pannier.ToolNotAllowed, message, "read its files, then run \"pannier tool allow "+e.Slug+"\"")
	}
	if tool.Kind == pannier.RuntimeProxy {
		return nil
	}
	return s.runnerMissing(tool.Kind)
}

// checkFiles refuses files of a skill of which no tool may run, allowed or not.
func (s *Service) checkFiles(e *pannier.Entry, files *Files) error {
	if files.Fingerprint.IsZero() {
		return refuse(pannier.ToolUnscanned, "the files of "+e.Slug+" are not read yet", "retry in a moment")
	}
	if files.LinkedOut {
		return refuse(pannier.ToolChanged, e.File+" of "+e.Slug+" is a link, so its declarations can change without the skill", "replace the link by the file")
	}
	if e.LastGood || e.Deleting {
		return refuse(pannier.ToolChanged, e.Slug+" is listed as it last was; its tools are not those of the files on disk", "fix its SKILL.md; \"pannier show "+e.Slug+"\" says what is wrong")
	}
	scanned := s.Scanned(e.Skill, files.Fingerprint)
	if scanned == nil {
		hint := "run \"pannier tool allow " + e.Slug + "\", which scans it first"
		if e.TrustLevel.AtLeast(pannier.TrustInternal) || e.Policy.ToolsAllowed == files.Fingerprint {
			hint = "wait for the background scan, or run \"pannier scan " + e.Slug + "\""
		}
		return refuse(pannier.ToolUnscanned, e.Slug+" was not scanned as it is now", hint)
	}
	if scanned.Decision == pannier.ScanBlock {
		return refuse(pannier.ToolUnscanned, "a security scan blocks "+e.Slug+": "+strings.Join(scanned.Blocking, ", "), "read the findings (\"pannier show "+e.Slug+"\"), then accept them: \"pannier scan "+e.Slug+" --accept "+strings.Join(scanned.Blocking, ",")+" --reason TEXT\"")
	}
	return nil
}
