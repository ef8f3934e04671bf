package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/contents"
	"pannier/internal/fsx"
	"pannier/loader/fingerprint"
	"pannier/loader/scan"
	"pannier/publish/prompt"
	"pannier/tools"
	"pannier/tools/httptool"
)

// The bounds of calls of tools that no setting changes.
const (
	maxToolCalls     = 8
	maxToolOutput    = 2 << 20
	maxToolProcesses = 64
	maxToolFile      = 64 << 20
)

// newTools returns what calls tools of skills.
func (c *core) newTools(reg prometheus.Registerer) *tools.Service {
	t := c.settings.Tools
	bounds := pannier.ToolBounds{OutputBytes: maxToolOutput, MemoryBytes: t.MaxMemoryBytes, Processes: maxToolProcesses, FileBytes: maxToolFile}
	rules, requests := c.turnRules(), newHTTPTools(t)
	return tools.New(tools.Options{
		Snapshot: c.registry.Current, Plan: rules.Tools, Read: c.readForTool, Known: c.knownForTool, Scanned: func(s *pannier.Skill, digest pannier.Digest) *pannier.ScanSummary {
			return c.contents.Scanned(s.Path, digest)
		},
		Directory: c.toolDirectory, Where: t.Runner, Runner: c.runner, HTTP: requests, Secrets: requests.secrets, Audit: c.state.changes.Audit, Emit: c.events.Emit,
		Mask: scan.MaskSecrets, Enabled: t.Enabled, Network: t.Network, RecordArguments: c.settings.TurnEvents.Text,
		Sandbox: t.Sandbox, Env: t.Env, ProjectDirs: t.ProjectDirs, Timeout: t.Timeout, MaxCalls: maxToolCalls, Bounds: bounds,
		Registerer: reg, Logger: c.log.Named("tools"),
	})
}

func (c *core) knownForTool(s *pannier.Skill) tools.Files {
	known := c.contents.Known(s)
	return tools.Files{Fingerprint: known.Fingerprint, LinkedOut: known.LinkedOut(s)}
}

// readForTool returns the files of a skill as they are now.
func (c *core) readForTool(ctx context.Context, s *pannier.Skill) (tools.Files, error) {
	ctx, cancel := context.WithTimeout(ctx, contents.ReadTimeout)
	defer cancel()
	p, err := c.contents.Read(ctx, s, fingerprint.Options{Manifest: true})
	if err == nil {
		c.contents.Request()
	}
	read := contents.Content{Parts: p.Parts}
	return tools.Files{Fingerprint: p.Digest, LinkedOut: read.LinkedOut(s), Manifest: p.Manifest}, err
}

// toolDirectory returns the directory of a skill as the runner sees it.
func (c *core) toolDirectory(s *pannier.Skill) string {
	if c.settings.Tools.Runner != config.RunnerAgent {
		return c.contents.Directory(s)
	}
	return filepath.Dir(prompt.Location(s, c.agentWorkspace()))
}

// maxSecretBytes bounds the file of a secret.
const maxSecretBytes = 64 << 10

// httpTools carries http tools out in the sidecar, because secrets must not reach a runner.
type httpTools struct{ client *httptool.Client }

func newHTTPTools(t config.Tools) httpTools {
	o := httptool.Options{Allow: t.HTTPAllow}
	for _, secret := range t.Secrets {
		o.Secrets = append(o.Secrets, httptool.Secret{Name: secret.Name, Host: secret.Host, Skills: secret.Skills, Read: func() (string, error) { return readSecret(secret) }})
	}
	return httpTools{httptool.New(o)}
}

// secrets reports whether the declaration of a tool of a skill sends a secret, and says which one it may not send.
func (h httpTools) secrets(skill string, declaration json.RawMessage) (bool, error) {
	if !httptool.SendsSecret(declaration) {
		return false, nil
	}
	return true, h.client.CheckSecrets(skill, declaration)
}

// readSecret returns the value of a secret. Its errors do not hold it.
func readSecret(s config.ToolSecret) (string, error) {
	if s.File == "" {
		if value := os.Getenv(s.Variable); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the variable %s of the secret %s is not set", s.Variable, s.Name)
	}
	text, _, err := fsx.ReadRegular(s.File, 0, maxSecretBytes)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the secret %s: %w", s.Name, err)
	case len(text) > maxSecretBytes:
		return "", fmt.Errorf("the file of the secret %s has more than %d bytes", s.Name, maxSecretBytes)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// Run implements [tools.Runner].
func (h httpTools) Run(ctx context.Context, job pannier.ToolJob, _ func([]byte)) (pannier.ToolResult, error) {
	return h.client.Run(ctx, httptool.Call{
		ID: job.ID, Name: job.Name, Skill: job.Skill, Config: job.Config, Arguments: job.Arguments, Timeout: job.Timeout, OutputBytes: job.Bounds.OutputBytes,
	}), nil
}

// Report implements [tools.Runner].
func (h httpTools) Report() pannier.RunnerReport { return pannier.RunnerReport{Connected: true} }

// recentAudit is how many of the newest audit entries are searched for calls that a crash interrupted.
const recentAudit = 1000

// endInterruptedCalls audits an outcome for each call of a tool that has none, because the process before ended during it.
func (c *core) endInterruptedCalls() {
	entries, err := c.state.changes.Audit.Newest("", 0, recentAudit)
	if err != nil {
		return // health says why
	}
	ended := map[uint64]bool{}
	for _, e := range entries { // newest first, so an outcome comes before its intent
		switch {
		case e.Action != pannier.ActionCallTool:
		case e.Phase == pannier.AuditOutcome:
			ended[e.Intent] = true
		case !ended[e.Seq]:
			intent := e.Seq
			e.Phase, e.Intent, e.Error = pannier.AuditOutcome, intent, "the sidecar ended during the call; what became of it is not known"
			if _, err := c.state.changes.Audit.Append(e); err != nil {
				c.log.Warn("a call of a tool that was interrupted could not be audited", "intent", intent, "error", err)
				return
			}
			c.log.Warn("a call of a tool was interrupted when the sidecar ended", "slug", e.Slug, "intent", intent)
		}
	}
}
