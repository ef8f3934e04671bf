package tools

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"pannier"
	"pannier/loader/httpspec"
)

// Permission shows what the permission of the tools of a skill covers, by its files as they are now. It fails with
// [pannier.ErrChanged] if the skill, or what is known of its tools, is of other files. The scan is not part of it.
func (s *Service) Permission(ctx context.Context, skill *pannier.Skill) (p pannier.ToolPermission, err error) {
	e, found := s.Await(ctx, skill).LookupPath(skill.Slug, skill.Path)
	if !found {
		return p, pannier.ErrChanged
	}
	files, err := s.Read(ctx, e.Skill)
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case errors.Is(err, pannier.ErrChanged):
		return p, err
	case err != nil:
		return p, refuse(pannier.ToolChanged, "the files of "+e.Slug+" cannot be read as a whole: "+err.Error(), "make every file of the skill readable, then run \"pannier show "+e.Slug+"\"")
	case s.Known(e.Skill).Fingerprint != files.Fingerprint, !isOf(e, &files) && !e.LastGood && !e.Deleting: // checkFiles refuses these
		return p, pannier.ErrChanged
	}
	p = pannier.ToolPermission{
		Slug: e.Slug, SourceKind: e.SourceKind, Path: e.Path, TrustLevel: e.TrustLevel, Fingerprint: files.Fingerprint,
		ToolsAllowed: e.Policy.ToolsAllowed, Allowed: e.Policy.ToolsAllowed == files.Fingerprint, Files: len(files.Manifest), Enabled: s.Enabled,
		Tools: []pannier.PermittedTool{}, Network: s.Network, Hosts: append([]string{}, s.Hosts...), Env: s.envOf(e), ProjectDirs: append([]string{}, s.ProjectDirs...),
	}
	for _, f := range files.Manifest {
		p.Bytes += f.Size
	}
	if err := s.checkFiles(e, &files); err != nil {
		p.Refused = asToolError(err)
	}
	permitted := *e
	permitted.Usable, permitted.Policy.ToolsAllowed = true, files.Fingerprint
	planned, excluded := s.Plan(&pannier.Snapshot{Entries: []*pannier.Entry{&permitted}})
	p.Excluded = excluded
	for i := range planned {
		tool := permittedTool(&planned[i])
		err := s.permit(&permitted, &planned[i], &files)
		if err == nil && !e.Usable {
			err = unusable(e)
		}
		if err != nil && p.Refused == nil {
			tool.Why = asToolError(err)
		}
		p.Tools = append(p.Tools, tool)
	}
	return p, nil
}

// permittedTool says how a tool starts.
func permittedTool(tool *pannier.RuntimeTool) pannier.PermittedTool {
	p := pannier.PermittedTool{Name: tool.Name, Kind: tool.Kind, Description: tool.Description}
	var cfg config
	_ = json.Unmarshal(tool.Config, &cfg) // a call says what is wrong with it
	switch tool.Kind {
	case pannier.RuntimeShell:
		p.Command = cfg.Command
	case pannier.RuntimePython, pannier.RuntimeScript:
		p.File, p.Function = cfg.File, cfg.Function
	case pannier.RuntimeProxy:
		p.TargetTool = cfg.Target
	case pannier.RuntimeHTTP:
		d, err := httpspec.Parse(tool.Config)
		if err != nil {
			break
		}
		p.Method, p.URL = d.Method, d.URL
		for _, header := range slices.Sorted(maps.Keys(d.Headers)) {
			for _, mark := range httpspec.SecretMark.FindAllStringSubmatch(d.Headers[header], -1) {
				p.Secrets = append(p.Secrets, mark[1])
			}
		}
		slices.Sort(p.Secrets)
		p.Secrets = slices.Compact(p.Secrets)
	}
	return p
}
