package pannier

import (
	"encoding/json"
	"time"
)

// ToolResult is the answer to a call of a tool.
type ToolResult struct {
	Name      string          `json:"name"`
	ModelName string          `json:"model_name"`
	CallID    string          `json:"call_id"`
	OK        bool            `json:"ok"`
	Kind      RuntimeToolKind `json:"kind"`
	// ExitCode is that of a program that ended by itself, StatusCode that of an HTTP answer.
	ExitCode   *int   `json:"exit_code,omitempty"`
	StatusCode *int   `json:"status_code,omitempty"`
	Output     string `json:"output"`
	// Structured is the output as JSON, where it is JSON.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Proxy is what the client has to call in place of a function_proxy that no connection carries out.
	Proxy *ToolProxy `json:"proxy,omitempty"`
	// Network are the hosts that a program asked for, in that sequence.
	Network []ToolHost `json:"network,omitempty"`
	// Artifacts are files that the program left, ArtifactsLeftOut how many others it left, by the reason why they are none.
	Artifacts        []Artifact     `json:"artifacts,omitempty"`
	ArtifactsLeftOut map[string]int `json:"artifacts_left_out,omitempty"`
	// Truncated says that there was more output than Output holds.
	Truncated  bool       `json:"truncated"`
	TimedOut   bool       `json:"timed_out"`
	DurationMS int64      `json:"duration_ms"`
	Error      *ToolError `json:"error,omitempty"`
}

// ToolHost is a host that the program of a call asked the proxy of its sandbox for.
type ToolHost struct {
	Host     string `json:"host"` // with the port
	Requests int    `json:"requests"`
	// Refused is one of the constants below, and empty for requests that reached the host.
	Refused string `json:"refused,omitempty"`
}

// The values of [ToolHost].Refused.
const (
	HostRefusedOff       = "off"        // the settings give programs no network
	HostRefusedNotListed = "not_listed" // the settings do not list the host with that port
	HostRefusedPrivate   = "private"    // its address is not public
	HostUnreachable      = "unreachable"
)

// MaxToolHosts bounds the hosts of a result.
const MaxToolHosts = 64

// ToolError says why a call has no result.
type ToolError struct {
	// Code is one of the constants below. Message says what is wrong, Hint what to do.
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Error implements error.
func (e *ToolError) Error() string { return e.Message }

// The codes of a [ToolError].
const (
	ToolDisabled           = "runtime.disabled"
	ToolNotFound           = "runtime.not_found"
	ToolNoRunner           = "runtime.no_runner"
	ToolRunnerGone         = "runtime.runner_gone"
	ToolChanged            = "runtime.changed"
	ToolUnscanned          = "runtime.unscanned"
	ToolNotAllowed         = "runtime.not_allowed"
	ToolTrustLevelTooLow   = "runtime.trust_level_too_low"
	ToolDependencyMissing  = "runtime.dependency_missing"
	ToolArgumentsInvalid   = "runtime.arguments_invalid"
	ToolBusy               = "runtime.busy"
	ToolTimedOut           = "runtime.timed_out"
	ToolCanceled           = "runtime.canceled"
	ToolSandboxUnavailable = "runtime.sandbox_unavailable"
	ToolFailed             = "runtime.failed"
	ToolSignal             = "runtime.signal"
	ToolHTTPRefused        = "runtime.http_refused"
	ToolHTTPFailed         = "runtime.http_failed"
	ToolOutputLimit        = "runtime.output_limit"
	ToolCopyFailed         = "runtime.copy_failed"
	ToolArtifactMissing    = "runtime.artifact_missing"
)

// The values of [ToolJob].Sandbox and of the setting tools.sandbox.
const (
	SandboxRequired   = "required"
	SandboxBestEffort = "best_effort"
)

// ToolJob is a call as a runner carries it out. It has values only, so it crosses a connection as JSON.
type ToolJob struct {
	ID   string          `json:"id"` // unique for a sidecar, and the CallID of the result
	Name string          `json:"name"`
	Kind RuntimeToolKind `json:"kind"`
	// Skill is the slug, SkillDir the absolute directory of the skill as the runner sees it.
	Skill    string `json:"skill"`
	SkillDir string `json:"skill_dir"`
	// Files is the manifest that the runner's copy is verified against, Fingerprint the fingerprint of the skill.
	Files       []ToolFile `json:"files"`
	Fingerprint Digest     `json:"fingerprint"`
	// Command is the argument vector of a shell tool. The runner replaces ${skill_dir} and ${skill_asset_root} in it. A job
	// of kind [JobPrepare] has the files there whose needs are installed.
	Command []string `json:"command,omitempty"`
	// PythonFile and Function name a Python function, Script an executable; paths are below the skill directory.
	PythonFile string `json:"python_file,omitempty"`
	Function   string `json:"function,omitempty"`
	Script     string `json:"script,omitempty"`
	// Config is what the skill says of an http tool. Runners that start programs get none.
	Config json.RawMessage `json:"config,omitempty"`
	// Arguments is a JSON object.
	Arguments  json.RawMessage `json:"arguments"`
	ProjectDir string          `json:"project_dir,omitempty"`
	// Env are the names of variables that the tool gets; their values are the runner's own.
	Env     []string      `json:"env,omitempty"`
	Timeout time.Duration `json:"timeout_ns"`
	Bounds  ToolBounds    `json:"bounds"`
	// Network says that the tool may use IPv4 and IPv6. Without it, a tool reaches the hosts of Hosts through a proxy of the runner, where
	// there are some: "host", which is its ports 80 and 443, or "host:port". PrivateHosts are those whose address need not be public.
	Network      bool     `json:"network"`
	Hosts        []string `json:"hosts,omitempty"`
	PrivateHosts []string `json:"private_hosts,omitempty"`
	Sandbox      string   `json:"sandbox"` // SandboxRequired or SandboxBestEffort
}

// JobPrepare is the kind of a job that installs what scripts declare to need. No tool is of that kind.
const JobPrepare = "prepare"

// PreparedSkill says how an installation of the packages that scripts of a skill declare has ended.
type PreparedSkill struct {
	Slug string `json:"slug"`
	OK   bool   `json:"ok"`
	// Files are the scripts and the files of Python functions whose declarations were read.
	Files []string `json:"files"`
	// Output is what the installers have written, and a line for each declaration that is ready.
	Output     string     `json:"output"`
	Truncated  bool       `json:"truncated,omitempty"`
	DurationMS int64      `json:"duration_ms"`
	Error      *ToolError `json:"error,omitempty"`
}

// ToolFile is a file of a skill that a runner copies.
type ToolFile struct {
	// Path is below the skill directory, with slashes, as the bytes that the file system has.
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	SHA256     Digest `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
}

// ToolBounds are the resources of one call; 0 is the default of the runner.
type ToolBounds struct {
	OutputBytes int64 `json:"output_bytes"`
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	Processes   int   `json:"processes,omitempty"`
	CPUSeconds  int   `json:"cpu_seconds,omitempty"`
	FileBytes   int64 `json:"file_bytes,omitempty"`
}

// RunnerReport is what a runner tells of itself. The report of a runner in another container is a claim.
type RunnerReport struct {
	// Connected says that calls reach the runner now.
	Connected bool   `json:"connected"`
	Version   string `json:"version,omitempty"`
	// UID is that of the runner, ToolUID that of the tools.
	UID     int `json:"uid"`
	ToolUID int `json:"tool_uid"`
	// Level is required or best_effort: the strictest one that the kernel fulfils; empty where it fulfils none.
	Level      string   `json:"level"`
	Landlock   int      `json:"landlock"` // ABI, 0 where there is none
	Seccomp    bool     `json:"seccomp"`
	Namespaces []string `json:"namespaces,omitempty"`
	// Loopback says that a tool has a loopback interface of its own, which a network by hosts needs.
	Loopback bool `json:"loopback"`
	// Cgroup are the bounds that a control group has for a whole call: memory, processes, processor_time. NoCgroup says why one of them
	// is missing, so that only each process is bounded.
	Cgroup   []string `json:"cgroup,omitempty"`
	NoCgroup string   `json:"no_cgroup,omitempty"`
	// Python is the path of the interpreter for tools of kind python; empty where there is none.
	Python string `json:"python,omitempty"`
	// Missing are sentences about what the sandbox lacks.
	Missing []string `json:"missing,omitempty"`
	// Exposed says what every tool could read, so that none runs; empty is nothing.
	Exposed string `json:"exposed,omitempty"`
	// Running counts the calls of now, MaxCalls bounds them.
	Running  int `json:"running"`
	MaxCalls int `json:"max_calls"`
}

// ToolCall is what a client asks for when it calls a tool.
type ToolCall struct {
	// Arguments is a JSON object; nothing is an empty one.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// CallID names the call to cancel it; empty lets the sidecar choose one.
	CallID string `json:"call_id,omitempty"`
	// Session is what tools of the class session_scoped run one at a time for; empty is the client.
	Session string `json:"session,omitempty"`
	// ProjectDir is a directory, as the runner sees it, that the tool may write to; the settings have to allow it.
	ProjectDir string `json:"project_dir,omitempty"`
	// Skills are the slugs of those that the turn of the call chose. Where the settings apply overrides, their aliases and defaults
	// count.
	Skills []string `json:"skills,omitempty"`
}

// ToolRequest is a call with who asks for it.
type ToolRequest struct {
	ToolCall
	// Name is that of the tool, or its model name.
	Name  string
	Actor Actor
	// Owner tells clients apart: a client can cancel only its own calls.
	Owner string
	// Out receives the output as it is written, as far as the output policy streams it; nil receives none.
	Out func(ToolDelta)
}

// ToolDelta is a part of the output of a call that goes on.
type ToolDelta struct {
	// Text is empty where the output policy lets only the progress through.
	Text string `json:"text,omitempty"`
	// Bytes counts the output so far.
	Bytes int64 `json:"bytes"`
}

// ToolList is every tool of the usable skills: those that can be planned for a turn, and those that are kept back.
type ToolList struct {
	SnapshotVersion uint64 `json:"snapshot_version"`
	Digest          Digest `json:"digest"`
	// Enabled says that the settings let tools be called.
	Enabled bool `json:"enabled"`
	// Kinds are the accepted kinds. Without script, scripts of skills are neither tools nor excluded ones.
	Kinds []RuntimeToolKind `json:"kinds"`
	// Runner is none, agent or self; Report is what the runner told of itself, nil where there is none.
	Runner   string         `json:"runner"`
	Report   *RunnerReport  `json:"report,omitempty"`
	Tools    []ListedTool   `json:"tools"`
	Excluded []ExcludedTool `json:"excluded_tools"`
}

// ListedTool is an accepted tool, and whether it can be called now.
type ListedTool struct {
	RuntimeTool
	Callable bool `json:"callable"`
	// Why says why it cannot be called; nil where it can.
	Why *ToolError `json:"why,omitempty"`
}

// ToolProxy is the structured result of a function_proxy: the tool of the agent that it stands for, and what to call it with.
type ToolProxy struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// CanceledToolCall answers a cancellation.
type CanceledToolCall struct {
	CallID   string `json:"call_id"`
	Canceled bool   `json:"canceled"`
}

// MayCall reports whether the operator allows a tool of a skill whose files have a fingerprint. The skill of a tool that sends a
// secret needs permission whatever its trust is, and so does one that is trusted too little for the kind of the tool. A
// function_proxy of another skill needs none: the agent decides about its own tools.
func (e *Entry) MayCall(tool *RuntimeTool, sendsSecret bool, fingerprint Digest) bool {
	if !tool.ByPermission && (tool.Kind == RuntimeProxy || !sendsSecret && e.TrustLevel.AtLeast(TrustInternal)) {
		return true
	}
	return !fingerprint.IsZero() && e.Policy.ToolsAllowed == fingerprint
}

// SkillToolCalled tells that a tool of a skill was called. What it has of the output is what the output policy has for the
// timeline.
type SkillToolCalled struct {
	Name      string          `json:"name"`
	ModelName string          `json:"model_name"`
	Slug      string          `json:"slug"`
	Kind      RuntimeToolKind `json:"kind"`
	CallID    string          `json:"call_id"`
	OK        bool            `json:"ok"`
	// Code is that of the error; empty where there is none.
	Code       string `json:"code,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	StatusCode *int   `json:"status_code,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// Fingerprint is that of the skill when it was checked. ArgumentsDigest is that of the arguments as the tool got them.
	Fingerprint     Digest `json:"fingerprint,omitzero"`
	ArgumentsDigest Digest `json:"arguments_digest,omitzero"`
	// Arguments are there only where the settings record texts, without secrets.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Output    string          `json:"output,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	// Network are the hosts that the program asked for.
	Network []ToolHost `json:"network,omitempty"`
	// Artifacts are the files that the program left.
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// OutputDigest is that of the output that the client got.
	OutputDigest Digest `json:"output_digest,omitzero"`
}
