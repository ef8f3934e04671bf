package pannier

import (
	"encoding/hex"
	"encoding/json"
	"strings"
)

// RuntimeToolKind says how a tool of a skill runs: one that it declares (Pioneer skills architecture, "Runtime tools"), or one in
// its files. pannier runs none unless the settings allow it (tools.enabled).
type RuntimeToolKind string

// The kinds of runtime tool.
const (
	RuntimeShell RuntimeToolKind = "shell"
	RuntimeHTTP  RuntimeToolKind = "http"
	RuntimeProxy RuntimeToolKind = "function_proxy"
	// RuntimePython is a `@tool` function in a Python file, RuntimeScript a script.
	RuntimePython RuntimeToolKind = "python"
	RuntimeScript RuntimeToolKind = "script"
)

// DeclaredToolKinds returns the kinds that a frontmatter can declare.
func DeclaredToolKinds() []RuntimeToolKind {
	return []RuntimeToolKind{RuntimeShell, RuntimeHTTP, RuntimeProxy}
}

// RuntimeToolKinds returns every kind: those of [DeclaredToolKinds], then those of tools in files.
func RuntimeToolKinds() []RuntimeToolKind {
	return append(DeclaredToolKinds(), RuntimePython, RuntimeScript)
}

// ScriptParameters are those of a script whose own are not known, and a call of any other may have them instead of these.
const ScriptParameters = `{"type":"object","properties":{"argv":{"type":"array","items":{"type":"string","maxLength":4096},"maxItems":64,` +
	`"description":"Arguments of the program, as they are."}},"additionalProperties":false}`

// The beginning of the parameters of scripts, and that of scripts that read standard input.
const (
	parametersBegin = `{"type":"object","properties":{`
	stdinBegin      = parametersBegin + `"stdin":{"type":"string","description":"Text for the standard input of the program."},`
)

// WithStdin returns the parameters of a script, or [ScriptParameters] for nil, with the text that it reads from standard
// input.
func WithStdin(parameters json.RawMessage) json.RawMessage {
	if parameters == nil {
		parameters = json.RawMessage(ScriptParameters)
	}
	if rest, ok := strings.CutPrefix(string(parameters), parametersBegin); ok && !HasStdin(parameters) {
		return json.RawMessage(stdinBegin + rest)
	}
	return parameters
}

// HasStdin reports whether the parameters of a script have the text that it reads from standard input.
func HasStdin(parameters json.RawMessage) bool {
	return strings.HasPrefix(string(parameters), stdinBegin)
}

// Why a tool is kept back. The first that fits is told: policy and settings, what is wrong with the declaration, then trust, then
// the bounds. While tools are not enabled, a tool in a file that nothing else is against is kept back by [ToolsDisabled].
const (
	ToolInvalidDeclaration = "invalid_declaration"
	ToolTrustTooLow        = "trust_level_too_low"
	ToolTooMany            = "max_dynamic_tools_per_skill"
	ToolInvalidSlug        = "invalid_tool_slug"
	ToolDuplicateName      = "duplicate_canonical_name"
	ToolsDisabled          = "dynamic_tools_disabled"
	ToolDisabledByConfig   = "disabled_by_config"
)

// maxModelName is the length of names that the APIs of models take; tailBytes of the digest of a name replace what is beyond it.
const (
	maxModelName = 64
	tailBytes    = 8
)

// ModelName returns the name of a tool of a skill, skill.SLUG.TOOL, as the APIs of models take it: skill__SLUG__TOOL, at most 64 of
// a to z, A to Z, 0 to 9, "_" and "-". One that is too long, or has other characters or an underscore, ends with a part of its
// digest. It depends on the name alone, so it stays the same.
func ModelName(name string) string {
	plain := []byte(strings.ReplaceAll(name, ".", "__"))
	exact := len(plain) <= maxModelName && strings.Count(name, ".") == 2 && !strings.Contains(name, "_")
	for i, b := range plain {
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '-' && b != '_' {
			plain[i], exact = '_', false
		}
	}
	if exact {
		return string(plain)
	}
	digest := DigestOf([]byte(name))
	tail := "-" + hex.EncodeToString(digest[:tailBytes])
	return string(plain[:min(len(plain), maxModelName-len(tail))]) + tail
}

// NamesSkillTool reports whether a name, as an agent has it, is one of a tool of a skill.
func NamesSkillTool(name string) bool {
	return strings.HasPrefix(name, "skill.") || strings.HasPrefix(name, "skill__")
}

// RuntimeTool is a tool that an active skill declares, as an agent can offer it to its model.
type RuntimeTool struct {
	// Name is "skill.", the slug of the skill, a dot, and that of the tool. No two in a snapshot are the same.
	Name string `json:"name"`
	// ModelName is [ModelName] of Name, for APIs of models. Whatever takes a name takes either.
	ModelName   string `json:"model_name"`
	Description string `json:"description"`
	// Parameters is a JSON Schema of the arguments, an object.
	Parameters json.RawMessage `json:"parameters"`
	// ExecutionClass is shared, exclusive or session_scoped: a hint to the scheduler of calls.
	ExecutionClass string          `json:"execution_class"`
	Kind           RuntimeToolKind `json:"kind"`
	// Skill is the slug.
	Skill string `json:"skill"`
	// Config is what the skill says of how to run it, an object.
	Config json.RawMessage `json:"config,omitempty"`
	// OutputPolicy is what becomes of its output: what the skill asks for, narrowed to what its kind and its trust allow.
	OutputPolicy OutputPolicy `json:"output_policy"`
	// ByPermission says that the skill is trusted too little for the kind of the tool, so that only the permission of its files lets it
	// run.
	ByPermission bool `json:"-"`
	// Diagnostics tell where the policy is not what the skill asks for.
	Diagnostics []ToolDiagnostic `json:"diagnostics,omitempty"`
}

// ExcludedTool is a tool that is kept back.
type ExcludedTool struct {
	// Name is as of a [RuntimeTool], with nothing behind the last dot where the tool has no name.
	Name        string          `json:"name"`
	ModelName   string          `json:"model_name"`
	Description string          `json:"description"`
	Kind        RuntimeToolKind `json:"kind,omitempty"` // empty where the tool has none that is known
	Skill       string          `json:"skill"`
	// Reason is one of the constants above, Detail a sentence about it. Hint says what to do; empty if nothing can be done.
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// ToolDiagnostic is one place where a tool does not get what it asks for.
type ToolDiagnostic struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// OutputPolicy says who gets to see the output of a tool, how much of it, and what is kept (Pioneer skills architecture,
// "Runtime tools").
type OutputPolicy struct {
	LLM          OutputPart   `json:"llm"`
	LLMRetention OutputPart   `json:"llm_retention"`
	Timeline     OutputPart   `json:"timeline"`
	Storage      OutputPart   `json:"storage"`
	Recovery     RecoveryPart `json:"recovery"`
	Deltas       OutputPart   `json:"deltas"`
}

// OutputPart is one part of an [OutputPolicy]. It has the bounds that its mode knows.
type OutputPart struct {
	Mode          string `json:"mode"`
	MaxBytes      int64  `json:"max_bytes,omitempty"`
	MaxChars      int64  `json:"max_chars,omitempty"`
	MaxChunkBytes int64  `json:"max_chunk_bytes,omitempty"`
	MaxTotalBytes int64  `json:"max_total_bytes,omitempty"`
}

// RecoveryPart says what of a failed call is kept for the next attempt. All but Mode is for the mode "evidence".
type RecoveryPart struct {
	Mode                string     `json:"mode"`
	IncludeExitStatus   bool       `json:"include_exit_status,omitempty"`
	IncludeErrorClass   bool       `json:"include_error_class,omitempty"`
	IncludeRetryHint    bool       `json:"include_retry_hint,omitempty"`
	IncludeFingerprints bool       `json:"include_fingerprints,omitempty"`
	DiagnosticExcerpt   OutputPart `json:"diagnostic_excerpt,omitzero"`
}
