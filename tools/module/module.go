// Package module is the module of a sidecar that calls runtime tools of skills. It connects a [tools.Service] with the
// sidecar, with what carries calls out, and with routes:
//
//	kind of tool               carried out by
//	shell, python, script      [execute.Executor] with tools.runner: self, else `pannier runner` by [runner.Hub]
//	http                       [httptool.Client] in the sidecar, because secrets must not reach a runner
//	function_proxy             the agent itself
package module

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/config"
	"pannier/internal/fsx"
	"pannier/loader/httpspec"
	"pannier/loader/scan"
	"pannier/publish/api"
	"pannier/service"
	"pannier/sidecar"
	"pannier/tools"
	"pannier/tools/execute"
	"pannier/tools/httptool"
	"pannier/tools/runner"
)

// Module returns the module.
func Module() sidecar.Module { return sidecar.Module{Name: "tools", Open: open} }

// The bounds of calls that no setting changes.
const (
	maxCalls     = 8
	maxOutput    = 2 << 20
	maxProcesses = 64
	maxFile      = 64 << 20
)

func open(h sidecar.Host) (sidecar.Part, error) {
	t, log := h.Settings.Tools, h.Logger.ResetNamed("")
	ho := httptool.Options{Allow: t.HTTPAllow}
	for _, secret := range t.Secrets {
		ho.Secrets = append(ho.Secrets, httptool.Secret{
			Name: secret.Name, Host: secret.Host, Skills: secret.Skills,
			Read: func() (string, error) { return readSecret(secret) },
		})
	}
	requests := requests{httptool.New(ho)}
	o := tools.Options{
		Snapshot: h.Snapshot, Plan: h.RuntimeTools, Overridden: h.Overridden,
		Contents: tools.Contents{
			Known: func(s *pannier.Skill) tools.Files { return tools.Files(h.Contents.Known(s)) },
			Read: func(ctx context.Context, s *pannier.Skill) (tools.Files, error) {
				files, err := h.Contents.Read(ctx, s)
				return tools.Files(files), err
			},
			Await: h.Contents.Await, Scanned: h.Contents.Scanned, Directory: h.Contents.Directory,
		},
		Where: t.Runner, HTTP: requests, Secrets: requests.secrets, Audit: h.Service.Audit, Emit: h.Emit,
		Mask: scan.MaskSecrets, Enabled: t.Enabled, Kinds: t.Kinds, RecordArguments: h.Settings.TurnEvents.Text, MaxCalls: maxCalls,
		Limits: tools.Limits{
			Sandbox: t.Sandbox, Network: t.Network.Full, Hosts: t.Network.Hosts, PrivateHosts: t.HTTPAllow, Env: t.Env, ProjectDirs: t.ProjectDirs, Timeout: t.Timeout,
			Bounds: pannier.ToolBounds{
				OutputBytes: maxOutput, MemoryBytes: t.MaxMemoryBytes, Processes: maxProcesses, FileBytes: maxFile,
			},
		},
		Registerer: h.Registerer, Logger: h.Logger,
	}
	part := sidecar.Part{}
	var routes []api.Route
	var failed error // why programs do not run here, although the settings say so
	switch {
	case !t.Enabled:
	case t.Runner == config.RunnerAgent:
		hub := runner.NewHub(h.AgentWorkspace, log.Named("runner"))
		o.Runner, o.Directory = hub, h.Service.Directory
		routes = append(routes, RunnerRoute(t.RunnerUIDs, hub.Accept))
	case t.Runner == config.RunnerSelf:
		var self *execute.Executor
		self, failed = execute.New(execute.Options{
			UID: int(t.UID), Environ: h.Environ, Projects: t.ProjectDirs,
			Private: h.Settings.PrivatePaths(), Version: h.Build.Version,
		})
		if failed != nil {
			log.Error("tools cannot run here", "error", failed)
			break
		}
		o.Runner = self
		part.Run = func(ctx context.Context) error {
			<-ctx.Done()
			self.Close()
			return nil
		}
	}
	endInterruptedCalls(h.Service.Audit, log)
	s := tools.New(o)
	part.Tools = s
	part.Routes = append(routes, Routes()...)
	part.Conditions = func() []pannier.Condition { return conditions(t, s.Report(), failed) }
	return part, nil
}

// recentAudit is how many of the newest audit entries are searched for calls that a crash interrupted.
const recentAudit = 1000

// endInterruptedCalls audits an outcome for each call of a tool that has none, because the process before ended during
// it.
func endInterruptedCalls(audit service.AuditLog, log hclog.Logger) {
	entries, err := audit.Newest("", 0, recentAudit)
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
			e.Phase, e.Intent = pannier.AuditOutcome, intent
			e.Error = "the sidecar ended during the call; what became of it is not known"
			if _, err := audit.Append(e); err != nil {
				log.Warn("a call of a tool that was interrupted could not be audited", "intent", intent, "error", err)
				return
			}
			log.Warn("a call of a tool was interrupted when the sidecar ended", "slug", e.Slug, "intent", intent)
		}
	}
}

// requests carries http tools out in the sidecar. It implements [tools.Runner].
type requests struct{ client *httptool.Client }

// secrets reports whether the declaration of a tool of a skill sends a secret, and says which one it may not send.
func (q requests) secrets(skill string, declaration json.RawMessage) (bool, error) {
	if !httpspec.SendsSecret(declaration) {
		return false, nil
	}
	return true, q.client.CheckSecrets(skill, declaration)
}

// Run implements [tools.Runner].
func (q requests) Run(ctx context.Context, job pannier.ToolJob, _ func([]byte)) (pannier.ToolResult, error) {
	return q.client.Run(ctx, httptool.Call{
		ID: job.ID, Name: job.Name, Skill: job.Skill, Config: job.Config, Arguments: job.Arguments,
		Timeout: job.Timeout, OutputBytes: job.Bounds.OutputBytes,
	}), nil
}

// Artifact implements [tools.Runner]. No request leaves files.
func (q requests) Artifact(context.Context, string, string, int64) ([]byte, error) {
	return nil, &pannier.ToolError{Code: pannier.ToolArtifactMissing, Message: "an http tool leaves no artifacts", Hint: "use its output"}
}

// Report implements [tools.Runner].
func (q requests) Report() pannier.RunnerReport { return pannier.RunnerReport{Connected: true} }

// maxSecretBytes bounds the file of a secret.
const maxSecretBytes = 64 << 10

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
