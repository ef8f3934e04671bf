// Package tools calls runtime tools of skills. A [Service] decides each call in this sequence:
//
//  1. The tool is looked up in the plan of the newest snapshot, so its skill is usable and trusted enough now.
//  2. [Service.Permit] refuses a call without a scan, a permission or a runner, by what is known of the files of the skill.
//  3. The arguments are validated by the JSON Schema of the tool.
//  4. The call waits for its turn, by the execution class of the tool, in a bounded queue.
//  5. The files of the skill are digested. Changed files refuse the call, and [Service.Permit] is asked again.
//  6. The intent is audited. If that fails, nothing runs.
//  7. A [Runner] carries the call out.
//  8. The outcome is audited, an event is emitted, and the client gets what the output policy lets through.
//
// The package starts no program itself. Refusals are [*pannier.Refusal]; what goes wrong in a call that was carried out is in its
// result.
package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
)

// Runner carries calls out.
type Runner interface {
	// Run carries a job out and returns its result. It gives output to out as it is written, from one goroutine; out must
	// not keep the bytes. It returns when everything of the job has ended, also if ctx is done before. What goes wrong in
	// a call is in the result; an error means that the runner could not carry it out, as a [*pannier.ToolError] where a
	// caller can act on it.
	Run(ctx context.Context, job pannier.ToolJob, out func(chunk []byte)) (pannier.ToolResult, error)
	// Artifact returns a part of a file that a job left, by the id of the job: at most [pannier.MaxArtifactPart] bytes from an offset, none
	// at its end. Its errors are [*pannier.ToolError] where a caller can act on them.
	Artifact(ctx context.Context, job, name string, offset int64) ([]byte, error)
	// Report tells what the runner can do now. It does not wait.
	Report() pannier.RunnerReport
}

// Auditor is the audit log. Append returns after the entry is on disk; its errors are [pannier.ErrNotAudited].
type Auditor interface {
	Append(pannier.AuditEntry) (pannier.AuditEntry, error)
}

// Files are those of a skill.
type Files struct {
	Fingerprint pannier.Digest // zero where it is not known
	// LinkedOut says that SKILL.md is a link that leads to no file of the skill, so it is not part of the fingerprint: that is what is
	// scanned and allowed.
	LinkedOut bool
	Manifest  []pannier.ToolFile // of files that were read for a call
}

// Contents are what is known of the files of skills.
type Contents struct {
	// Read returns the files of a skill as they are now. Known returns what is known of them without reading.
	Read  func(context.Context, *pannier.Skill) (Files, error)
	Known func(*pannier.Skill) Files
	// Await returns a snapshot that shows what the files of a skill contain now.
	Await func(context.Context, *pannier.Skill) *pannier.Snapshot
	// Scanned returns the result of the security scan of a skill with a fingerprint, nil for none.
	Scanned func(*pannier.Skill, pannier.Digest) *pannier.ScanSummary
	// Directory returns the absolute directory of a skill as the runner sees it.
	Directory func(*pannier.Skill) string
}

// Limits are what a call may use.
type Limits struct {
	Sandbox string // one of the Sandbox constants of package pannier
	// Network and the hosts are as in [pannier.ToolJob].
	Network             bool
	Hosts, PrivateHosts []string
	Env                 []string
	ProjectDirs         []string // clean absolute directories
	Timeout             time.Duration
	Bounds              pannier.ToolBounds
}

// Options are what a [Service] composes. All but those marked optional are needed.
type Options struct {
	// Snapshot returns the newest snapshot, nil before the first. Plan returns its accepted and its excluded tools.
	Snapshot func() *pannier.Snapshot
	Plan     func(*pannier.Snapshot) ([]pannier.RuntimeTool, []pannier.ExcludedTool)
	// Overridden returns the name and the arguments of a call as the overrides of some skills have them. It is optional.
	Overridden func(s *pannier.Snapshot, skills []string, name string, arguments json.RawMessage) (string, json.RawMessage)
	Contents
	// Secrets reports whether the declaration of an http tool of a skill sends a secret; the error says which one it may not send.
	// It is optional.
	Secrets func(skill string, declaration json.RawMessage) (sent bool, err error)
	// Where says which runner the settings ask for: none, agent or self. Runner starts programs, HTTP sends requests; both are
	// nil where there is none.
	Where        string
	Runner, HTTP Runner
	Audit        Auditor
	Emit         func(pannier.EventType, any) // optional
	// Mask replaces secrets in a text; optional.
	Mask func(string) string

	Enabled bool
	Kinds   []pannier.RuntimeToolKind // those that are accepted
	// RecordArguments says that events have the arguments.
	RecordArguments bool
	MaxCalls        int
	Limits

	Registerer prometheus.Registerer // optional
	Logger     hclog.Logger          // optional
}

// Service carries calls of tools out. It is for any number of callers.
type Service struct {
	Options
	schedule *schedule
	schemas  schemas
	metrics  *metrics
	plans    plans

	mu      sync.Mutex
	running map[callKey]context.CancelFunc
	agents  map[string]*agentTool // by name of the agent's tool
	left    []leftCall            // oldest first
}

// callKey names a call: whose it is, and what the client calls it.
type callKey struct{ owner, id string }

// New returns a service.
func New(o Options) *Service {
	if o.Emit == nil {
		o.Emit = func(pannier.EventType, any) {}
	}
	if o.Mask == nil {
		o.Mask = func(text string) string { return text }
	}
	if o.Secrets == nil {
		o.Secrets = func(string, json.RawMessage) (bool, error) { return false, nil }
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	return &Service{
		Options: o, schedule: &schedule{max: max(1, o.MaxCalls), held: map[string]bool{}}, metrics: newMetrics(o.Registerer),
		running: map[callKey]context.CancelFunc{}, agents: map[string]*agentTool{},
	}
}

// Call carries a call out. It returns a [*pannier.Refusal] where the call was refused, or an error that is
// [pannier.ErrNotAudited]; nothing ran then. ctx cancels it.
func (s *Service) Call(ctx context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
	begun := time.Now()
	c := &call{s: s, ToolRequest: r}
	result, err := c.carryOut(ctx)
	s.metrics.observe(c.tool.Kind, result, err, time.Since(begun))
	return result, err
}

// Cancel cancels a call of an owner, and reports whether there is one.
func (s *Service) Cancel(owner, callID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, ok := s.running[callKey{owner, callID}]
	if ok {
		cancel()
	}
	return ok
}

// Report returns what the runner tells of itself, nil where there is none.
func (s *Service) Report() *pannier.RunnerReport {
	if s.Runner == nil {
		return nil
	}
	report := s.Runner.Report()
	return &report
}

// register makes a call cancelable until the returned function is called.
func (s *Service) register(key callKey, cancel context.CancelFunc) (remove func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.running[key]; taken {
		return nil, refuse(pannier.ToolArgumentsInvalid, "a call with this call_id goes on", "choose another call_id, or none")
	}
	s.running[key] = cancel
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, key)
	}, nil
}

func refuse(code, message, hint string) error {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint}
}

// asToolError returns an error as callers of tools get it.
func asToolError(err error) *pannier.ToolError {
	if e, ok := errors.AsType[*pannier.ToolError](err); ok {
		return e
	}
	if r, ok := errors.AsType[*pannier.Refusal](err); ok {
		return &pannier.ToolError{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return &pannier.ToolError{Code: pannier.ToolFailed, Message: err.Error(), Hint: "see the log of the sidecar"}
}
