package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pannier"
	"pannier/registry/resolve"
	"pannier/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a service and what it is composed of. Tests replace parts of it before they call service.
type bench struct {
	options  tools.Options
	snapshot *pannier.Snapshot
	print    pannier.Digest
	files    []pannier.ToolFile
	known    pannier.Digest
	linked   bool
	readErr  error
	scan     *pannier.ScanSummary

	mu       sync.Mutex
	jobs     []pannier.ToolJob
	audit    []pannier.AuditEntry
	auditErr error
	events   []pannier.SkillToolCalled
	// carry is what the runner does; nil answers with "done".
	carry  func(context.Context, pannier.ToolJob, func([]byte)) (pannier.ToolResult, error)
	report pannier.RunnerReport
	kept   map[string]string // artifacts, by id of the job and name
}

func (b *bench) Run(ctx context.Context, job pannier.ToolJob, out func([]byte)) (pannier.ToolResult, error) {
	b.mu.Lock()
	b.jobs = append(b.jobs, job)
	carry := b.carry
	b.mu.Unlock()
	if carry == nil {
		return pannier.ToolResult{OK: true, ExitCode: new(0), Output: "done"}, nil
	}
	return carry(ctx, job, out)
}

func (b *bench) Report() pannier.RunnerReport { return b.report }

func (b *bench) Artifact(_ context.Context, job, name string, offset int64) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.kept[job+"/"+name]
	if !ok {
		return nil, &pannier.ToolError{Code: pannier.ToolArtifactMissing, Message: "gone", Hint: "call again"}
	}
	return []byte(text[min(int(offset), len(text)):min(int(offset)+3, len(text))]), nil
}

func (b *bench) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.auditErr != nil {
		return e, b.auditErr
	}
	e.Seq = uint64(len(b.audit) + 1)
	b.audit = append(b.audit, e)
	return e, nil
}

const argumentsOfX = `{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}`

// newBench has a skill "a" with a tool of each kind, whose programs are allowed to run.
func newBench() *bench {
	b := &bench{print: pannier.DigestOf([]byte("files")), report: pannier.RunnerReport{Connected: true, Level: pannier.SandboxRequired, Loopback: true, Python: "/usr/bin/python3"}}
	b.scan = &pannier.ScanSummary{Decision: pannier.ScanAllow}
	text := pannier.DigestOf([]byte("text"))
	declared := func(name, declaration, parameters string) pannier.Tool {
		return pannier.Tool{Name: name, Kind: pannier.RuntimeShell, Declaration: json.RawMessage(declaration), Parameters: json.RawMessage(parameters)}
	}
	skill := &pannier.Skill{
		Slug: "a", Path: "skills/a", File: "SKILL.md", Digest: text, TrustLevel: pannier.TrustVerified, SourceKind: pannier.SourceWorkspace,
		Requirements: pannier.Requirements{Env: []string{"LANG", "SECRET"}, APIKeys: []string{"KEY"}},
		RuntimeTools: []pannier.Tool{
			declared("run", `{"kind":"shell","config":{"command":["scripts/run","${skill_dir}"],"timeout_ms":1500}}`, argumentsOfX),
			declared("alone", `{"kind":"shell","execution_class":"exclusive","config":{"command":["x"]}}`, ""),
			declared("session", `{"kind":"shell","execution_class":"session_scoped","config":{"command":["x"]}}`, ""),
			declared("get", `{"kind":"http","config":{"url":"https://x.example"}}`, ""),
			declared("read", `{"kind":"function_proxy","config":{"target_tool":"read_file"}}`, ""),
		},
	}
	entry := &pannier.Entry{
		Skill: skill, State: pannier.StateEligible, Usable: true, Policy: pannier.EffectivePolicy{Enabled: true, ToolsAllowed: b.print},
		FileTools: []pannier.Tool{
			{Name: "add", Kind: pannier.RuntimePython, Path: "tools/calc.py", Parameters: json.RawMessage(argumentsOfX)},
			{Name: "go.sh", Kind: pannier.RuntimeScript, Path: "scripts/go.sh"},
			{
				Name: "fill.py", Kind: pannier.RuntimeScript, Path: "scripts/go.sh",
				Parameters:  json.RawMessage(`{"type":"object","properties":{"argv":{},"file":{"type":"string"},"n":{"type":"integer"}},"required":["file"],"additionalProperties":false}`),
				Declaration: json.RawMessage(`{"options":[{"name":"file"},{"name":"n","flag":"--n"}]}`),
			},
		},
	}
	b.snapshot = &pannier.Snapshot{Version: 1, Entries: []*pannier.Entry{entry}}
	b.files = []pannier.ToolFile{{Path: "SKILL.md", SHA256: text}, {Path: "scripts/run", Executable: true}}
	b.options = tools.Options{
		Snapshot: func() *pannier.Snapshot { return b.snapshot },
		Plan:     resolve.Rules{Tooling: resolve.ToolRules{Enabled: true, Scripts: true}}.Tools,
		Contents: tools.Contents{
			Read: func(context.Context, *pannier.Skill) (tools.Files, error) {
				return tools.Files{Fingerprint: b.print, LinkedOut: b.linked, Manifest: b.files}, b.readErr
			},
			Await:     func(context.Context, *pannier.Skill) *pannier.Snapshot { return b.snapshot },
			Known:     func(*pannier.Skill) tools.Files { return tools.Files{Fingerprint: b.known, LinkedOut: b.linked} },
			Scanned:   func(*pannier.Skill, pannier.Digest) *pannier.ScanSummary { return b.scan },
			Directory: func(*pannier.Skill) string { return "/w/skills/a" },
		},
		Where: "self", Runner: b, HTTP: b, Audit: b, Enabled: true,
		Limits: tools.Limits{
			Sandbox: pannier.SandboxRequired, Env: []string{"LANG", "KEY", "HOME"}, Timeout: 20 * time.Second, Bounds: pannier.ToolBounds{OutputBytes: 1 << 20},
		},
		Emit: func(_ pannier.EventType, data any) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, data.(pannier.SkillToolCalled))
		},
		Mask: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[masked]") }, MaxCalls: 2,
	}
	return b
}

func (b *bench) entry() *pannier.Entry { return b.snapshot.Entries[0] }

func request(name, arguments string) pannier.ToolRequest {
	return pannier.ToolRequest{ToolCall: pannier.ToolCall{Arguments: json.RawMessage(arguments)}, Name: name, Owner: "uid:7", Actor: pannier.Actor{Kind: "socket"}}
}

func codeOf(err error) string {
	if r, ok := errors.AsType[*pannier.Refusal](err); ok {
		return r.Code
	}
	return fmt.Sprint(err)
}

func TestJobs(t *testing.T) {
	for _, tt := range []struct {
		name, arguments string
		check           func(pannier.ToolJob) bool
	}{
		{"skill.a.run", `{"x": 1}`, func(j pannier.ToolJob) bool {
			return slices.Equal(j.Command, []string{"scripts/run", "${skill_dir}"}) && j.Timeout == 1500*time.Millisecond && string(j.Arguments) == `{"x":1}` && len(j.Files) == 2
		}},
		{"skill.a.run", "", func(j pannier.ToolJob) bool {
			return string(j.Arguments) == "{}" && slices.Equal(j.Env, []string{"LANG", "KEY"})
		}},
		{"skill.a.get", `{"q":"--help"}`, func(j pannier.ToolJob) bool {
			return string(j.Config) == `{"url":"https://x.example"}` && j.Files == nil && j.Env == nil
		}},
		{"skill.a.add", `{"x":2}`, func(j pannier.ToolJob) bool {
			return j.PythonFile == "tools/calc.py" && j.Function == "add" && j.Config == nil
		}},
		{"skill.a.go-sh", `{"argv":["-x","; rm"]}`, func(j pannier.ToolJob) bool {
			return j.Script == "scripts/go.sh" && j.Command == nil && strings.Contains(string(j.Arguments), `"; rm"`)
		}},
		{"skill.a.fill-py", `{"file":"; rm","n":2}`, func(j pannier.ToolJob) bool {
			return j.Script == "scripts/go.sh" && string(j.Arguments) == `{"argv":["; rm","--n","2"]}`
		}},
		{"skill.a.fill-py", `{"argv":["--help"]}`, func(j pannier.ToolJob) bool {
			return string(j.Arguments) == `{"argv":["--help"]}`
		}},
	} {
		b := newBench()
		result, err := tools.New(b.options).Call(t.Context(), request(tt.name, tt.arguments))
		if err != nil || !result.OK || result.Output != "done" || result.Name != tt.name || result.CallID == "" {
			t.Errorf("%s: %+v, %v", tt.name, result, err)
			continue
		}
		if j := b.jobs[0]; !tt.check(j) || j.SkillDir != "/w/skills/a" || j.Fingerprint != b.print || j.Sandbox != pannier.SandboxRequired {
			t.Errorf("%s: %+v", tt.name, j)
		}
		if len(b.audit) != 2 || b.audit[0].Phase != pannier.AuditIntent || b.audit[1].Intent != 1 || b.audit[1].Error != "" || len(b.events) != 1 || !b.events[0].OK {
			t.Errorf("%s: audit %+v, events %+v", tt.name, b.audit, b.events)
		}
	}
}

// TestRefusals run nothing, and leave nothing in the audit log.
func TestRefusals(t *testing.T) {
	other := pannier.DigestOf([]byte("other"))
	for _, tt := range []struct {
		name   string
		change func(*bench)
		call   pannier.ToolRequest
		want   string
	}{
		{"off", func(b *bench) { b.options.Enabled = false }, request("skill.a.run", ""), pannier.ToolDisabled},
		{"unknown", nil, request("skill.a.no", ""), pannier.ToolNotFound},
		{"kept back", func(b *bench) { b.entry().Policy.ToolsOff = true }, request("skill.a.run", ""), pannier.ToolDisabled},
		{"trust", func(b *bench) {
			b.entry().TrustLevel, b.entry().Policy.ToolsAllowed = pannier.TrustCommunity, pannier.Digest{}
		}, request("skill.a.run", ""), pannier.ToolTrustLevelTooLow},
		{"trust, allowed before", func(b *bench) {
			b.entry().TrustLevel, b.entry().Policy.ToolsAllowed = pannier.TrustCommunity, other
		}, request("skill.a.run", ""), pannier.ToolNotAllowed},
		{"trust of a proxy, allowed before", func(b *bench) {
			b.entry().TrustLevel, b.entry().Policy.ToolsAllowed = pannier.TrustUntrusted, other
		}, request("skill.a.read", ""), pannier.ToolNotAllowed},
		{"state lost", func(b *bench) { b.unusable(pannier.ReasonStateLost) }, request("skill.a.run", ""), "state.lost"},
		{"dependency", func(b *bench) { b.unusable(pannier.ReasonMissingBinary) }, request("skill.a.run", ""), pannier.ToolDependencyMissing},
		{"blocked skill", func(b *bench) { b.unusable(pannier.ReasonSecurityBlocked) }, request("skill.a.run", ""), pannier.ToolUnscanned},
		{"disabled skill", func(b *bench) { b.unusable(pannier.ReasonDisabled) }, request("skill.a.run", ""), pannier.ToolDisabled},
		{"not allowed", func(b *bench) { b.entry().Policy.ToolsAllowed = pannier.Digest{} }, request("skill.a.run", ""), pannier.ToolNotAllowed},
		{"allowed before", func(b *bench) { b.entry().Policy.ToolsAllowed = other }, request("skill.a.add", ""), pannier.ToolNotAllowed},
		{"request not allowed", func(b *bench) { b.entry().Policy.ToolsAllowed = pannier.Digest{} }, request("skill.a.get", ""), pannier.ToolNotAllowed},
		{"request allowed before", func(b *bench) { b.entry().Policy.ToolsAllowed = other }, request("skill.a.get", ""), pannier.ToolNotAllowed},
		{"secret of another skill", func(b *bench) {
			b.options.Secrets = func(string, json.RawMessage) (bool, error) { return true, errors.New("there is no secret") }
		}, request("skill.a.get", ""), pannier.ToolNotAllowed},
		{"secret not allowed, internal", func(b *bench) {
			b.options.Secrets = func(string, json.RawMessage) (bool, error) { return true, nil }
			b.entry().TrustLevel, b.entry().Policy.ToolsAllowed = pannier.TrustInternal, pannier.Digest{}
		}, request("skill.a.get", ""), pannier.ToolNotAllowed},
		{"not allowed, and invalid arguments", func(b *bench) { b.entry().Policy.ToolsAllowed = pannier.Digest{} }, request("skill.a.run", `{"x":"1"}`), pannier.ToolNotAllowed},
		{"unscanned", func(b *bench) { b.scan = nil }, request("skill.a.run", ""), pannier.ToolUnscanned},
		{"scan blocks", func(b *bench) { b.scan.Decision = pannier.ScanBlock }, request("skill.a.get", ""), pannier.ToolUnscanned},
		{"SKILL.md changed", func(b *bench) { b.files[0].SHA256 = other }, request("skill.a.run", ""), pannier.ToolChanged},
		{"SKILL.md is a link", func(b *bench) { b.linked = true }, request("skill.a.run", ""), pannier.ToolChanged},
		{"SKILL.md is gone", func(b *bench) { b.files = b.files[1:] }, request("skill.a.run", ""), pannier.ToolChanged},
		{"another file changed", func(b *bench) { b.known, b.entry().Policy.ToolsAllowed = other, other }, request("skill.a.run", ""), pannier.ToolChanged},
		{"changing", func(b *bench) {
			b.options.Read = func(context.Context, *pannier.Skill) (tools.Files, error) {
				return tools.Files{}, pannier.ErrChanged
			}
		}, request("skill.a.run", ""), pannier.ToolChanged},
		{"no runner", func(b *bench) { b.options.Runner = nil }, request("skill.a.run", ""), pannier.ToolNoRunner},
		{"runner away", func(b *bench) { b.report.Connected = false }, request("skill.a.run", ""), pannier.ToolNoRunner},
		{"hosts without namespaces", func(b *bench) { b.options.Hosts, b.report.Loopback = []string{"api.example"}, false }, request("skill.a.run", ""), pannier.ToolSandboxUnavailable},
		{"weak sandbox", func(b *bench) { b.report.Level = pannier.SandboxBestEffort }, request("skill.a.run", ""), pannier.ToolSandboxUnavailable},
		{"no python", func(b *bench) { b.report.Python = "" }, request("skill.a.add", ""), pannier.ToolDependencyMissing},
		{"schema", nil, request("skill.a.run", `{"x":"1"}`), pannier.ToolArgumentsInvalid},
		{"argv", nil, request("skill.a.go-sh", `{"argv":"-rf /"}`), pannier.ToolArgumentsInvalid},
		{"argv of typed", nil, request("skill.a.fill-py", `{"argv":"-rf /"}`), pannier.ToolArgumentsInvalid},
		{"typed", nil, request("skill.a.fill-py", `{"file":1}`), pannier.ToolArgumentsInvalid},
		{"required", nil, request("skill.a.fill-py", `{"n":1}`), pannier.ToolArgumentsInvalid},
		{"project", nil, pannier.ToolRequest{Name: "skill.a.run", ToolCall: pannier.ToolCall{ProjectDir: "/etc"}}, pannier.ToolNotAllowed},
		{"call id", nil, pannier.ToolRequest{Name: "skill.a.run", ToolCall: pannier.ToolCall{CallID: "a b"}}, pannier.ToolArgumentsInvalid},
		{"session", nil, pannier.ToolRequest{Name: "skill.a.run", ToolCall: pannier.ToolCall{Session: strings.Repeat("s", 257)}}, pannier.ToolArgumentsInvalid},
	} {
		b := newBench()
		if tt.change != nil {
			tt.change(b)
		}
		s := tools.New(b.options)
		_, err := s.Call(t.Context(), tt.call)
		r, ok := errors.AsType[*pannier.Refusal](err)
		if !ok || r.Code != tt.want || r.Message == "" || r.Hint == "" || len(b.jobs)+len(b.audit)+len(b.events) > 0 {
			t.Errorf("%s: %+v, want %s; jobs %v, audit %v", tt.name, err, tt.want, b.jobs, b.audit)
		}
	}
}

// TestPrepare hands the files of scripts and functions to the runner, between two entries of the audit log.
func TestPrepare(t *testing.T) {
	b := newBench()
	b.carry = func(_ context.Context, job pannier.ToolJob, _ func([]byte)) (pannier.ToolResult, error) {
		return pannier.ToolResult{OK: true, Output: "ready hunter2", DurationMS: 3}, nil
	}
	got, err := tools.New(b.options).Prepare(t.Context(), pannier.Actor{Kind: "socket"}, "a")
	if err != nil || !got.OK || got.Output != "ready [masked]" || !slices.Equal(got.Files, []string{"tools/calc.py", "scripts/go.sh"}) || got.DurationMS != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if j := b.jobs[0]; j.Kind != pannier.JobPrepare || !slices.Equal(j.Command, got.Files) || j.Skill != "a" || len(j.Files) != 2 || j.Network {
		t.Errorf("%+v", j)
	}
	if len(b.audit) != 2 || b.audit[0].Action != pannier.ActionPrepareTools || b.audit[0].Slug != "a" || b.audit[1].Intent != 1 || b.audit[1].Error != "" {
		t.Errorf("audit %+v", b.audit)
	}
	b.carry = func(context.Context, pannier.ToolJob, func([]byte)) (pannier.ToolResult, error) {
		return pannier.ToolResult{Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: "no network", Hint: "h"}}, nil
	}
	got, err = tools.New(b.options).Prepare(t.Context(), pannier.Actor{}, "a")
	if err != nil || got.OK || got.Error.Message != "no network" || b.audit[3].Error != "runtime.failed: no network" {
		t.Errorf("%+v, %v, audit %+v", got, err, b.audit)
	}
}

// TestPrepareIsRefused as calls are, and leaves nothing in the audit log.
func TestPrepareIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*bench)
		skill  string
		want   string
	}{
		"off":         {func(b *bench) { b.options.Enabled = false }, "a", pannier.ToolDisabled},
		"unknown":     {func(*bench) {}, "b", pannier.ToolNotFound},
		"not allowed": {func(b *bench) { b.entry().Policy.ToolsAllowed = pannier.Digest{} }, "a", pannier.ToolNotAllowed},
		"unscanned":   {func(b *bench) { b.scan = nil }, "a", pannier.ToolUnscanned},
		"changed":     {func(b *bench) { b.files = b.files[1:] }, "a", pannier.ToolChanged},
		"no runner":   {func(b *bench) { b.report.Connected = false }, "a", pannier.ToolNoRunner},
		"no files":    {func(b *bench) { b.entry().FileTools = nil }, "a", pannier.ToolNotFound},
		"switched":    {func(b *bench) { b.entry().Policy.ToolsOff = true }, "a", pannier.ToolDisabled},
		"unusable":    {func(b *bench) { b.unusable(pannier.ReasonDisabled) }, "a", pannier.ToolDisabled},
	} {
		b := newBench()
		tt.change(b)
		_, err := tools.New(b.options).Prepare(t.Context(), pannier.Actor{}, tt.skill)
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != tt.want || r.Hint == "" || len(b.jobs)+len(b.audit) > 0 {
			t.Errorf("%s: %v, want %s; jobs %v, audit %v", name, err, tt.want, b.jobs, b.audit)
		}
	}
	b := newBench()
	b.auditErr = pannier.ErrNotAudited
	if _, err := tools.New(b.options).Prepare(t.Context(), pannier.Actor{}, "a"); !errors.Is(err, pannier.ErrNotAudited) || len(b.jobs) > 0 {
		t.Errorf("without an audit log: %v, jobs %v", err, b.jobs)
	}
}

func (b *bench) unusable(reason string) {
	e := b.entry()
	e.Usable, e.State, e.Reasons = false, pannier.StateIneligible, []pannier.Reason{{Code: reason, Subject: "x", Remedy: "do y"}}
}

// TestListAgrees with calls about what can be called now.
func TestListAgrees(t *testing.T) {
	b := newBench()
	b.known = b.print
	callable := func() (names []string) {
		for _, tool := range tools.New(b.options).List(b.snapshot).Tools {
			if tool.Callable != (tool.Why == nil) {
				t.Errorf("%+v", tool)
			}
			if tool.Callable {
				names = append(names, strings.TrimPrefix(tool.Name, "skill.a."))
			}
		}
		return names
	}
	if got := strings.Join(callable(), " "); got != "add alone fill-py get go-sh read run session" {
		t.Errorf("allowed: %s", got)
	}
	b.linked = true
	if got := callable(); len(got) > 0 {
		t.Errorf("SKILL.md is a link: %s", got)
	}
	b.linked = false
	b.entry().Policy.ToolsAllowed = pannier.Digest{}
	if got := strings.Join(callable(), " "); got != "read" {
		t.Errorf("not allowed: %s", got)
	}
	b.entry().TrustLevel = pannier.TrustInternal
	b.report.Connected = false
	if got := strings.Join(callable(), " "); got != "get read" {
		t.Errorf("without a runner: %s", got)
	}
	b.known = pannier.Digest{}
	if got := callable(); len(got) > 0 {
		t.Errorf("files not read: %s", got)
	}
}

// TestNotAudited runs nothing.
func TestNotAudited(t *testing.T) {
	b := newBench()
	b.auditErr = fmt.Errorf("%w: disk full", pannier.ErrNotAudited)
	_, err := tools.New(b.options).Call(t.Context(), request("skill.a.run", ""))
	if !errors.Is(err, pannier.ErrNotAudited) || len(b.jobs) > 0 {
		t.Errorf("%v, jobs %v", err, b.jobs)
	}
}

// TestSecrets are replaced in everything that is returned or kept.
func TestSecrets(t *testing.T) {
	b := newBench()
	b.options.RecordArguments = true
	b.carry = func(_ context.Context, _ pannier.ToolJob, out func([]byte)) (pannier.ToolResult, error) {
		return pannier.ToolResult{Output: "it is hunter2\n", Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: "hunter2", Hint: "hunter2"}}, nil
	}
	result, err := tools.New(b.options).Call(t.Context(), request("skill.a.alone", `{"p":"hunter2"}`))
	text, _ := json.Marshal([]any{result, b.audit, b.events})
	if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "[masked]") || b.events[0].Arguments == nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestOutputPolicy decides what each reader gets.
func TestOutputPolicy(t *testing.T) {
	long := strings.Repeat("é", 3000)
	b := newBench()
	declare := func(policy string) *tools.Service {
		b.entry().RuntimeTools = []pannier.Tool{{Name: "run", Kind: pannier.RuntimeShell, Declaration: json.RawMessage(`{"kind":"shell","config":{"command":["x"]},"output_policy":` + policy + `}`)}}
		b.snapshot = &pannier.Snapshot{Entries: b.snapshot.Entries}
		b.audit, b.events = nil, nil
		return tools.New(b.options)
	}
	b.carry = func(context.Context, pannier.ToolJob, func([]byte)) (pannier.ToolResult, error) {
		return pannier.ToolResult{ExitCode: new(3), Output: long, Error: &pannier.ToolError{Code: pannier.ToolFailed, Message: "exit code 3", Hint: "h"}}, nil
	}
	for _, tt := range []struct {
		policy                   string
		llm, timeline, storage   int // characters
		stored, hidden, evidence bool
	}{
		{`{}`, 3000, 2000, 0, false, false, true},
		{`{"llm":{"mode":"summary_only"},"timeline":{"mode":"metadata_only"},"recovery":{"mode":"none"}}`, 2000, 0, 0, false, false, false},
		{`{"llm":{"mode":"full","max_bytes":7},"timeline":{"mode":"full","max_bytes":5},"storage":{"mode":"full"}}`, 3, 2, 3000, true, false, true},
		{`{"timeline":{"mode":"hidden"},"storage":{"mode":"summary","max_chars":9}}`, 3000, 0, 9, true, true, true},
	} {
		result, err := declare(tt.policy).Call(t.Context(), request("skill.a.run", ""))
		if err != nil {
			t.Fatal(err)
		}
		runes := func(text string) int { return len([]rune(text)) }
		detail, _ := json.Marshal(b.audit[1].Detail)
		var kept struct {
			Output  string
			Failure *struct {
				Exit *int `json:"exit_status"`
			}
		}
		if err := json.Unmarshal(detail, &kept); err != nil {
			t.Fatal(err)
		}
		if runes(result.Output) != tt.llm || runes(b.events[0].Output) != tt.timeline || runes(kept.Output) != tt.storage || (kept.Failure != nil) != tt.evidence || (b.events[0].ExitCode == nil) != tt.hidden {
			t.Errorf("%s: %d, %d, %d, %+v, %v", tt.policy, runes(result.Output), runes(b.events[0].Output), runes(kept.Output), kept.Failure, b.events[0].ExitCode)
		}
		if result.Truncated != (tt.llm < 3000) {
			t.Errorf("%s: truncated %t", tt.policy, result.Truncated)
		}
	}
}

func TestStructured(t *testing.T) {
	b := newBench()
	for output, want := range map[string]string{` {"a": [1]} `: `{"a":[1]}`, "[1]\n": "[1]", "7": "", `{"a"`: "", "": ""} {
		b.carry = func(context.Context, pannier.ToolJob, func([]byte)) (pannier.ToolResult, error) {
			return pannier.ToolResult{OK: true, Output: output}, nil
		}
		result, err := tools.New(b.options).Call(t.Context(), request("skill.a.run", ""))
		if err != nil || string(result.Structured) != want || result.Output != output {
			t.Errorf("%q: %q %q, %v", output, result.Structured, result.Output, err)
		}
	}
	b.carry = func(context.Context, pannier.ToolJob, func([]byte)) (pannier.ToolResult, error) {
		return pannier.ToolResult{OK: true, Output: "printed\n{\"a\": 1}", Structured: json.RawMessage(`{"a": 1}`)}, nil
	}
	if result, err := tools.New(b.options).Call(t.Context(), request("skill.a.run", "")); err != nil || string(result.Structured) != `{"a":1}` {
		t.Errorf("of a function that prints: %q, %v", result.Structured, err)
	}
}

// TestDeltas arrive as far as the policy streams them, with no secret cut in two.
func TestDeltas(t *testing.T) {
	b := newBench()
	b.carry = func(_ context.Context, _ pannier.ToolJob, out func([]byte)) (pannier.ToolResult, error) {
		for _, piece := range []string{"one\nit is hun", "ter2\ntail", ""} {
			out([]byte(piece))
		}
		return pannier.ToolResult{OK: true}, nil
	}
	for policy, want := range map[string]string{
		`{"deltas":{"mode":"persist_and_display"}}`:                     "one\n|it is [masked]\n|tail|",
		`{"deltas":{"mode":"persist_and_display","max_total_bytes":5}}`: "one\n|i|",
		`{"deltas":{"mode":"progress_only"}}`:                           "13|22|22|",
		`{"deltas":{"mode":"disabled"}}`:                                "",
	} {
		b.entry().RuntimeTools = []pannier.Tool{{Name: "run", Kind: pannier.RuntimeShell, Declaration: json.RawMessage(`{"kind":"shell","config":{"command":["x"]},"output_policy":` + policy + `}`)}}
		b.snapshot = &pannier.Snapshot{Entries: b.snapshot.Entries}
		got := ""
		r := request("skill.a.run", "")
		r.Out = func(d pannier.ToolDelta) {
			if d.Text == "" {
				got += fmt.Sprint(d.Bytes)
			}
			got += d.Text + "|"
		}
		if _, err := tools.New(b.options).Call(t.Context(), r); err != nil || got != want {
			t.Errorf("%s: %q, want %q, %v", policy, got, want, err)
		}
	}
}

// TestSchedule runs calls one at a time where their class says so, bounds the others, and refuses what would wait for ever.
func TestSchedule(t *testing.T) {
	b := newBench()
	begun, goOn := make(chan string, 100), make(chan struct{})
	b.carry = func(ctx context.Context, job pannier.ToolJob, _ func([]byte)) (pannier.ToolResult, error) {
		begun <- job.Name
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return pannier.ToolResult{OK: true}, nil
	}
	s := tools.New(b.options) // two at a time, sixteen wait
	var calls sync.WaitGroup
	results := make(chan string, 100)
	start := func(name, id string) {
		calls.Go(func() {
			r := request(name, "")
			r.CallID = id
			result, err := s.Call(t.Context(), r)
			if err != nil {
				results <- id + " " + codeOf(err)
			} else if result.Error != nil {
				results <- id + " " + result.Error.Code
			} else {
				results <- id + " ok"
			}
		})
	}
	start("skill.a.alone", "1")
	if got := <-begun; got != "skill.a.alone" {
		t.Fatal(got)
	}
	start("skill.a.alone", "2") // waits for the first
	waitUntil(t, func() bool { return s.Cancel("uid:7", "2") })
	if got := <-results; got != "2 "+pannier.ToolCanceled {
		t.Errorf("a canceled call that waits: %s", got)
	}
	start("skill.a.run", "3") // passes those of the other tool
	if got := <-begun; got != "skill.a.run" {
		t.Fatal(got)
	}
	if s.Cancel("uid:8", "3") || s.Cancel("uid:7", "no") {
		t.Error("another client cancels")
	}
	for i := range 18 {
		start("skill.a.session", fmt.Sprint("w", i))
	}
	busy := 0
	for range 2 { // of 18, two find the queue full
		if got := <-results; strings.HasSuffix(got, pannier.ToolBusy) {
			busy++
		}
	}
	if busy != 2 {
		t.Errorf("%d calls are refused as busy", busy)
	}
	if _, err := s.Call(t.Context(), pannier.ToolRequest{Name: "skill.a.run", Owner: "uid:7", ToolCall: pannier.ToolCall{CallID: "3"}}); codeOf(err) != pannier.ToolArgumentsInvalid {
		t.Errorf("a call_id that goes on: %v", err)
	}
	if !s.Cancel("uid:7", "3") {
		t.Error("the running call cannot be canceled")
	}
	close(goOn)
	calls.Wait()
	for range 18 {
		if got := <-results; !strings.HasSuffix(got, "ok") && got != "3 "+pannier.ToolCanceled {
			t.Errorf("%s", got)
		}
	}
}

func waitUntil(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not hold")
		}
	}
}

// TestProxy tells the agent what to call, or has a client that registered the tool carry it out.
func TestProxy(t *testing.T) {
	b := newBench()
	s := tools.New(b.options)
	for arguments, want := range map[string]string{`{"path":"a"}`: `{"path":"a"}`, `{"arguments":{"path":"b"},"x":1}`: `{"path":"b"}`, "": "{}"} {
		result, err := s.Call(t.Context(), request("skill.a.read", arguments))
		if err != nil || !result.OK || result.Proxy == nil || result.Proxy.Tool != "read_file" || string(result.Proxy.Arguments) != want {
			t.Errorf("%s: %+v, %v", arguments, result, err)
		}
	}
	for _, name := range []string{"skill.a.run", "skill__a__run"} {
		if _, err := s.Register("c", name, nil); err == nil {
			t.Errorf("%s, a tool of a skill, is registered as one of the agent", name)
		}
	}
	nested := 0
	remove, err := s.Register("uid:7", "read_file", func(ctx context.Context, arguments json.RawMessage) (pannier.ToolResult, error) {
		nested++
		inner, err := s.Call(ctx, request("skill.a.read", string(arguments))) // a cycle through the agent
		if err != nil {
			return pannier.ToolResult{}, err
		}
		return inner, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Register("d", "read_file", nil); codeOf(err) != pannier.ToolBusy {
		t.Errorf("a second client: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	result, err := s.Call(ctx, request("skill.a.read", ""))
	if err != nil || result.OK || result.Error == nil || nested > 8 {
		t.Errorf("a cycle: %+v, %v after %d", result, err, nested)
	}
	before, other := nested, request("skill.a.read", "")
	other.Owner = "uid:8"
	if result, err := s.Call(ctx, other); err != nil || result.Proxy == nil || nested != before {
		t.Errorf("a call of another client: %+v, %v", result, err)
	}
	remove()
	if result, err := s.Call(t.Context(), request("skill.a.read", "")); err != nil || result.Proxy == nil {
		t.Errorf("after the client has left: %+v, %v", result, err)
	}
}

// TestRunnerErrors are results with a code: the intent was audited, so the outcome is too.
func TestRunnerErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&pannier.ToolError{Code: pannier.ToolRunnerGone, Message: "m", Hint: "h"}, pannier.ToolRunnerGone},
		{errors.New("x"), pannier.ToolFailed},
	} {
		b := newBench()
		b.carry = func(context.Context, pannier.ToolJob, func([]byte)) (pannier.ToolResult, error) {
			return pannier.ToolResult{OK: true}, tt.err
		}
		result, err := tools.New(b.options).Call(t.Context(), request("skill.a.run", ""))
		if err != nil || result.OK || result.Error.Code != tt.want || len(b.audit) != 2 || !strings.HasPrefix(b.audit[1].Error, tt.want) || b.events[0].Code != tt.want {
			t.Errorf("%v: %+v, %v, audit %+v", tt.err, result, err, b.audit)
		}
	}
}
