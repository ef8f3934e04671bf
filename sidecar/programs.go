package sidecar

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/tools"
)

// Programs runs programs of skills again, without a running sidecar, through the same code: in the sandbox of this process, and only
// what the settings and the policy in the state directory allow now. It reads the state directory and writes nothing there, so calls
// are not in the audit log. Programs get no network and no project directory, because a repeated call must change nothing outside of
// its scratch directory. It is for one caller at a time.
type Programs struct {
	core  *core
	tools *tools.Service
	// expected is the fingerprint that the skill of the call has to have.
	expected pannier.Digest
	scanned  map[string]bool // by slug
}

// OpenPrograms scans the workspace. The setting tools.runner has to be self.
func OpenPrograms(ctx context.Context, s config.Settings, environ []string) (*Programs, error) {
	reg, log := prometheus.NewRegistry(), hclog.NewNullLogger()
	s = privateSettings(s)
	state, err := openStateDir(s, true, reg, log)
	if err != nil {
		return nil, err
	}
	c := &core{engine: newEngine(s, environ, state.registryOptions()), private: true, log: log, state: state, platforms: &publishers{}, stats: newStats()}
	c.events = state.newEventLog(s.WorkspaceID, c.registry.Current)
	p := &Programs{core: c, scanned: map[string]bool{}}
	err = c.openAdmin(ctx, reg, func(ctx context.Context, _ ...string) (*pannier.Snapshot, error) { return c.scanAll(ctx) })
	if err == nil {
		_, err = c.scanAllWithContents(ctx, false)
	}
	if err == nil {
		c.openRunner(environ)
		err = c.selfErr
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	o := c.toolsOptions(reg)
	o.Emit, o.Network, o.ProjectDirs = nil, false, nil
	o.Known = func(*pannier.Skill) pannier.Digest { return p.expected }
	p.tools = tools.New(o)
	return p, nil
}

// Close ends what runs.
func (p *Programs) Close() {
	if p.core.self != nil {
		p.core.self.Close()
	}
	p.core.state.close(true)
}

// Run calls a tool of a skill whose files have a fingerprint. The files are scanned before its first call, since results of scans are
// not read from the state directory. The error is a [*pannier.Refusal] where the call was refused.
func (p *Programs) Run(ctx context.Context, slug, name string, fingerprint pannier.Digest, arguments json.RawMessage) (pannier.ToolResult, error) {
	e, ok := p.core.registry.Current().Lookup(slug)
	if ok && !p.scanned[slug] {
		p.scanned[slug] = true
		if _, _, err := p.core.admin.Scan(ctx, actorOfCommand, e.Skill, pannier.ScanRequest{}); err != nil {
			return pannier.ToolResult{}, err
		}
	}
	p.expected = fingerprint
	return p.tools.Call(ctx, pannier.ToolRequest{Name: name, Actor: actorOfCommand, ToolCall: pannier.ToolCall{Arguments: arguments}})
}

var actorOfCommand = pannier.Actor{Kind: "command"} // of entries that are kept nowhere
