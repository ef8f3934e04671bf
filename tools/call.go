package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pannier"
)

// call is one call on its way.
type call struct {
	pannier.ToolRequest
	s *Service

	id        string // that of the job
	tool      pannier.RuntimeTool
	entry     *pannier.Entry
	arguments json.RawMessage // as the tool gets them
	files     Files
}

// maxCallID and maxSession bound the names that a client chooses, maxChosen the skills that it names.
const (
	maxCallID  = 128
	maxSession = 256
	maxChosen  = 64
)

func (c *call) carryOut(ctx context.Context) (pannier.ToolResult, error) {
	if err := c.name(); err != nil {
		return pannier.ToolResult{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	remove, err := c.s.register(callKey{c.Owner, c.CallID}, cancel)
	if err != nil {
		return pannier.ToolResult{}, err
	}
	defer remove()
	if err := c.prepare(ctx); err != nil {
		return pannier.ToolResult{}, err
	}
	release, err := c.s.schedule.acquire(ctx, c.scheduleKey())
	if err != nil {
		return pannier.ToolResult{}, err
	}
	defer release()
	if err := c.check(ctx); err != nil {
		return pannier.ToolResult{}, err
	}
	return c.audited(ctx)
}

// name checks the names that the client chooses, and chooses those that it left out.
func (c *call) name() error {
	c.id = "call_" + strings.ToLower(rand.Text())
	c.CallID = cmp.Or(c.CallID, c.id)
	if len(c.CallID) > maxCallID || strings.ContainsFunc(c.CallID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return refuse(pannier.ToolArgumentsInvalid, fmt.Sprintf("a call_id has 1 to %d ASCII characters without blanks", maxCallID), "shorten it, or leave it out")
	}
	if len(c.Session) > maxSession {
		return refuse(pannier.ToolArgumentsInvalid, fmt.Sprintf("a session has at most %d bytes", maxSession), "shorten it")
	}
	if len(c.Skills) > maxChosen {
		return refuse(pannier.ToolArgumentsInvalid, fmt.Sprintf("a call names at most %d skills", maxChosen), "name those that the turn chose")
	}
	return nil
}

// prepare checks what needs no turn. What may not be called costs no validation.
func (c *call) prepare(ctx context.Context) error {
	if err := c.find(); err != nil {
		return err
	}
	if err := c.checkProjectDir(); err != nil {
		return err
	}
	c.files = c.s.Known(c.entry.Skill)
	if c.files.Fingerprint.IsZero() {
		if err := c.read(ctx); err != nil {
			return err
		}
	}
	if err := c.s.permit(c.entry, &c.tool, &c.files); err != nil {
		return err
	}
	schema, err := c.s.schemas.of(c.withArgv())
	if err != nil {
		return err
	}
	c.arguments, err = schema.Validate(ctx, c.ToolCall.Arguments)
	if refusal, ok := errors.AsType[*pannier.Refusal](err); ok { // a schema does not know its tool
		refusal.Hint = strings.Replace(refusal.Hint, "NAME", c.tool.Name, 1)
	}
	if ctx.Err() != nil {
		return errCanceled
	}
	return err
}

// find looks the tool up in the newest snapshot.
func (c *call) find() error {
	s := c.s
	if !s.Enabled {
		return errDisabled
	}
	snapshot := s.Snapshot()
	if snapshot == nil {
		return refuse(pannier.ToolNotFound, "the first scan of the workspace has not ended", "retry in a moment")
	}
	if s.Overridden != nil && len(c.Skills) > 0 {
		c.Name, c.ToolCall.Arguments = s.Overridden(snapshot, c.Skills, c.Name, c.ToolCall.Arguments)
	}
	plan := s.plans.of(snapshot, s.Plan)
	i := slices.IndexFunc(plan.tools, func(t pannier.RuntimeTool) bool { return t.Name == c.Name || t.ModelName == c.Name })
	if i < 0 {
		return plan.missing(snapshot, c.Name)
	}
	c.tool = plan.tools[i]
	var ok bool
	if c.entry, ok = snapshot.Lookup(c.tool.Skill); !ok || !c.entry.Usable {
		return plan.missing(snapshot, c.Name)
	}
	return nil
}

var errDisabled = refuse(pannier.ToolDisabled, "tools of skills are not enabled", "ask the operator to set tools.enabled: true, or to start \"pannier run --tools\"")

// runnerOf returns what carries tools of a kind out, nil where nothing does.
func (s *Service) runnerOf(kind pannier.RuntimeToolKind) Runner {
	if kind == pannier.RuntimeHTTP {
		return s.HTTP
	}
	return s.Runner
}

// runnerMissing says why nothing carries tools of a kind out now.
func (s *Service) runnerMissing(kind pannier.RuntimeToolKind) error {
	runner := s.runnerOf(kind)
	if runner == nil {
		return refuse(pannier.ToolNoRunner, "no runner carries out tools of kind "+string(kind)+" (tools.runner: "+cmp.Or(s.Where, "none")+")", "ask the operator to set tools.runner to agent or self, or to start \"pannier run --tools\"")
	}
	if kind == pannier.RuntimeHTTP {
		return nil
	}
	switch report := runner.Report(); {
	case !report.Connected:
		return refuse(pannier.ToolNoRunner, "no runner is connected", "start \"pannier runner\" in the agent's container")
	case report.Exposed != "":
		return refuse(pannier.ToolSandboxUnavailable, report.Exposed, "ask the operator to move it to another directory, such as /workspace or /var/lib, and to restart the sidecar and the runner")
	case s.Sandbox == pannier.SandboxRequired && report.Level != pannier.SandboxRequired:
		return refuse(pannier.ToolSandboxUnavailable, "the sandbox of the runner is weaker than the settings require: "+strings.Join(report.Missing, "; "), "use a kernel with Landlock ABI 6 and seccomp; \"pannier runner --check\" says more")
	case !s.Network && len(s.Hosts) > 0 && !report.Loopback:
		return refuse(pannier.ToolSandboxUnavailable, "a network by hosts (tools.network) takes network namespaces, which the runner does not have", "ask the operator to set tools.network to none, or to allow namespaces; \"pannier runner --check\" says more")
	case kind == pannier.RuntimePython && report.Python == "":
		return refuse(pannier.ToolDependencyMissing, "the runner has no python3", "install python3 where the runner is")
	}
	return nil
}

// checkProjectDir refuses a directory that the settings do not let tools write to.
func (c *call) checkProjectDir() error {
	dir := c.ProjectDir
	if dir == "" {
		return nil
	}
	if filepath.IsAbs(dir) && filepath.Clean(dir) == dir && len(dir) <= pannier.MaxPathBytes && !strings.ContainsRune(dir, 0) {
		for _, allowed := range c.s.ProjectDirs {
			if dir == allowed || strings.HasPrefix(dir, allowed+"/") {
				return nil
			}
		}
	}
	if len(c.s.ProjectDirs) == 0 {
		return refuse(pannier.ToolNotAllowed, "the settings let tools write to no project_dir", "leave it out, or ask the operator to set tools.project_dirs")
	}
	return refuse(pannier.ToolNotAllowed, "the settings do not let tools write to this project_dir", "name an absolute directory below "+strings.Join(c.s.ProjectDirs, " or ")+", or leave it out")
}

// scheduleKey returns what at most one call at a time may hold; empty is nothing.
func (c *call) scheduleKey() string {
	switch c.tool.ExecutionClass {
	case "exclusive":
		return "skill\x00" + c.tool.Skill
	case "session_scoped":
		return "session\x00" + c.Owner + "\x00" + c.Session
	}
	return ""
}

// check refuses what must not run, by the files of the skill and the policy of this moment.
func (c *call) check(ctx context.Context) error {
	before := c.tool
	if err := c.find(); err != nil { // the snapshot may be another one after the wait
		return err
	}
	if string(before.Parameters) != string(c.tool.Parameters) || string(before.Config) != string(c.tool.Config) {
		return c.changed()
	}
	known := c.s.Known(c.entry.Skill).Fingerprint
	if err := c.read(ctx); err != nil {
		return err
	}
	if !known.IsZero() && known != c.files.Fingerprint {
		return c.changed()
	}
	return c.s.permit(c.entry, &c.tool, &c.files)
}

// read reads the files of the skill, which have to be those that its tools were planned from. A skill that has tools only has no
// SKILL.md.
func (c *call) read(ctx context.Context) (err error) {
	c.files, err = c.s.Read(ctx, c.entry.Skill)
	if ctx.Err() != nil {
		return errCanceled
	}
	if err != nil {
		return refuse(pannier.ToolChanged, "the files of "+c.tool.Skill+" cannot be read as a whole: "+err.Error(), "retry when the skill no longer changes; \"pannier show\" says more")
	}
	if !isOf(c.entry, &c.files) {
		return c.changed()
	}
	return nil
}

// isOf reports whether a skill was read from files.
func isOf(e *pannier.Entry, files *Files) bool {
	return e.File == "" || files.LinkedOut || slices.ContainsFunc(files.Manifest, func(f pannier.ToolFile) bool {
		return f.Path == e.File && f.SHA256 == e.Digest
	})
}

func (c *call) changed() error {
	return refuse(pannier.ToolChanged, c.tool.Skill+" has changed since its tools were planned", "retry in a moment")
}

var errCanceled = refuse(pannier.ToolCanceled, "the call was canceled", "call it again if its result is needed")

// run carries the call out, and returns the result as the runner gave it.
func (c *call) run(ctx context.Context) pannier.ToolResult {
	begun := time.Now()
	result, err := c.dispatch(ctx)
	if err != nil {
		result = pannier.ToolResult{Error: asToolError(err)}
	}
	if result.Error != nil {
		result.OK = false
	}
	if ctx.Err() != nil && !result.OK && !result.TimedOut && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		result.Error = asToolError(errCanceled)
	}
	result.Name, result.ModelName, result.CallID, result.Kind = c.tool.Name, c.tool.ModelName, c.CallID, c.tool.Kind
	if result.DurationMS == 0 {
		result.DurationMS = time.Since(begun).Milliseconds()
	}
	return result
}

func (c *call) dispatch(ctx context.Context) (pannier.ToolResult, error) {
	if c.tool.Kind == pannier.RuntimeProxy {
		return c.proxy(ctx)
	}
	job, err := c.job()
	if err != nil {
		return pannier.ToolResult{}, err
	}
	runner := c.s.runnerOf(c.tool.Kind)
	stream := newStream(c.tool.OutputPolicy.Deltas, c.s.Mask, c.Out)
	result, err := runner.Run(ctx, job, stream.write)
	stream.close()
	return result, err
}

// config is what the planner and skills say of how a tool runs.
type config struct {
	Command   []string `json:"command"`
	File      string   `json:"file"`
	Function  string   `json:"function"`
	Target    string   `json:"target_tool"`
	TimeoutMS int64    `json:"timeout_ms"`
	Options   []option `json:"options"`
}

// envOf returns the names of the variables that programs of a skill get.
func (s *Service) envOf(e *pannier.Entry) []string {
	required := slices.Concat(e.Requirements.Env, e.Requirements.APIKeys)
	names := []string{}
	for _, name := range s.Env {
		if slices.Contains(required, name) {
			names = append(names, name)
		}
	}
	return names
}

func (c *call) job() (pannier.ToolJob, error) {
	var cfg config
	if len(c.tool.Config) > 0 {
		if err := json.Unmarshal(c.tool.Config, &cfg); err != nil {
			return pannier.ToolJob{}, &pannier.ToolError{Code: pannier.ToolFailed, Message: "the declaration of the tool cannot be used: " + err.Error(), Hint: "ask the author of the skill to fix runtime.tools"}
		}
	}
	job := pannier.ToolJob{
		ID: c.id, Name: c.tool.Name, Kind: c.tool.Kind, Skill: c.tool.Skill, SkillDir: c.s.Directory(c.entry.Skill), Fingerprint: c.files.Fingerprint,
		Arguments: c.arguments, ProjectDir: c.ProjectDir, Timeout: c.s.Timeout, Bounds: c.s.Bounds, Network: c.s.Network, Hosts: c.s.Hosts, Sandbox: c.s.Sandbox,
	}
	if len(job.Hosts) > 0 {
		job.PrivateHosts = c.s.PrivateHosts
	}
	if asked := time.Duration(cfg.TimeoutMS) * time.Millisecond; cfg.TimeoutMS > 0 && cfg.TimeoutMS < c.s.Timeout.Milliseconds() {
		job.Timeout = asked
	}
	if limit := c.tool.OutputPolicy.LLM.MaxBytes; limit > 0 && limit < job.Bounds.OutputBytes && c.tool.OutputPolicy.Timeline.Mode != "full" && c.tool.OutputPolicy.Storage.Mode != "full" {
		job.Bounds.OutputBytes = limit
	}
	if c.tool.Kind == pannier.RuntimeHTTP {
		job.Config = c.tool.Config
		return job, nil
	}
	job.Files = c.files.Manifest
	job.Env = c.s.envOf(c.entry)
	switch c.tool.Kind {
	case pannier.RuntimeShell:
		job.Command = cfg.Command
	case pannier.RuntimePython:
		job.PythonFile, job.Function = cfg.File, cfg.Function
	case pannier.RuntimeScript:
		job.Script = cfg.File
		var err error
		var parameters struct{ Required []string }
		_ = json.Unmarshal(c.tool.Parameters, &parameters) // the arguments were validated by them
		if job.Arguments, err = commandLine(cfg.Options, parameters.Required, c.arguments); err != nil {
			return pannier.ToolJob{}, err
		}
	}
	return job, nil
}
