package resolve

import (
	"encoding/json"
	"fmt"
	"slices"

	"pannier"
)

// The caps of an output policy, and what a part has that does not say.
const (
	capModelBytes      = 2 << 20
	capFullBytes       = 4 << 20 // of a timeline, and of what is stored
	capSummaryChars    = 2000
	capDiagnosticChars = 4000
	capChunkBytes      = 64 << 10
	capDeltaBytes      = 4 << 20
)

// The modes of the parts.
const (
	modeFull         = "full"
	modeStructured   = "structured"
	modeSummaryOnly  = "summary_only"
	modeUntilEnd     = "until_turn_terminal"
	modeSummary      = "summary"
	modeMetadata     = "metadata_only"
	modeEvidence     = "evidence"
	modeErrorsOnly   = "errors_only"
	modeOutput       = "output"
	modeDisabled     = "disabled"
	modePersist      = "persist_and_display"
	modeProgress     = "progress_only"
	modeHidden       = "hidden"
	modeNone         = "none"
	modeDoNotRetain  = "do_not_retain"
	shellPersistence = pannier.TrustVerified // what it takes to keep the whole output of a command
)

// The codes of diagnostics.
const (
	codeInvalid       = "invalid_declaration"
	codeClamped       = "limit_clamped"
	codeHTTPBody      = "kind_narrowed_http_body"
	codeBlob          = "kind_narrowed_blob_output"
	codeShell         = "shell_persistence_not_allowed"
	codeTimeline      = "trust_narrowed_timeline"
	codeStorage       = "trust_narrowed_storage"
	codeDeltas        = "trust_narrowed_deltas"
	codeTarget        = "function_proxy_target_narrowed"
	codeTargetMissing = "function_proxy_target_missing"
)

// How much a mode gives away, from the least.
var (
	shown   = []string{modeHidden, modeNone, modeMetadata, modeSummary, modeFull}
	streams = []string{modeDisabled, modeProgress, modePersist}
)

// policyRequest is an output policy as a skill writes it: what is nil is left to the default.
type policyRequest struct {
	LLM          *pannier.OutputPart `json:"llm"`
	LLMRetention *pannier.OutputPart `json:"llm_retention"`
	Timeline     *pannier.OutputPart `json:"timeline"`
	Storage      *pannier.OutputPart `json:"storage"`
	Recovery     *recoveryRequest    `json:"recovery"`
	Deltas       *pannier.OutputPart `json:"deltas"`
}

type recoveryRequest struct {
	Mode                string              `json:"mode"`
	IncludeExitStatus   *bool               `json:"include_exit_status"`
	IncludeErrorClass   *bool               `json:"include_error_class"`
	IncludeRetryHint    *bool               `json:"include_retry_hint"`
	IncludeFingerprints *bool               `json:"include_fingerprints"`
	DiagnosticExcerpt   *pannier.OutputPart `json:"diagnostic_excerpt"`
}

// output narrows one policy, and notes where it does.
type output struct {
	pannier.OutputPolicy
	trust pannier.Trust
	notes []pannier.ToolDiagnostic
}

// outputPolicy returns what becomes of the output of a tool: the default of its kind, then what the skill asks for, within
// the caps, narrowed to what the kind and the trust of the skill allow. A skill can only ask for less than that.
func outputPolicy(d *declaration, trust pannier.Trust) (pannier.OutputPolicy, []pannier.ToolDiagnostic) {
	o := output{OutputPolicy: defaultOutput(d.Kind), trust: trust}
	target := ""
	if d.Kind == pannier.RuntimeProxy {
		target = o.startProxy(d.Config)
	}
	allowed := o.OutputPolicy
	o.request(d.OutputPolicy)
	switch {
	case d.Kind == pannier.RuntimeHTTP:
		o.narrowHTTP()
	case isProgram(d.Kind):
		o.narrowShell()
	default:
		o.narrowToTarget(allowed)
		if slices.Contains(shellTargets, target) {
			o.narrowShell()
		} else {
			o.narrowGeneric()
		}
	}
	return o.OutputPolicy, o.notes
}

// isProgram reports whether a tool of a kind is a program that runs.
func isProgram(kind pannier.RuntimeToolKind) bool {
	return kind == pannier.RuntimeShell || kind == pannier.RuntimePython || kind == pannier.RuntimeScript
}

// note tells of a narrowing, once for each code and message.
func (o *output) note(code, message string) {
	d := pannier.ToolDiagnostic{Code: code, Message: message}
	if !slices.Contains(o.notes, d) {
		o.notes = append(o.notes, d)
	}
}

func defaultOutput(kind pannier.RuntimeToolKind) pannier.OutputPolicy {
	p := pannier.OutputPolicy{
		LLM:          pannier.OutputPart{Mode: modeStructured, MaxBytes: capModelBytes},
		LLMRetention: pannier.OutputPart{Mode: modeUntilEnd, MaxBytes: capModelBytes},
		Timeline:     pannier.OutputPart{Mode: modeMetadata},
		Storage:      pannier.OutputPart{Mode: modeMetadata},
		Recovery:     pannier.RecoveryPart{Mode: modeMetadata},
		Deltas:       pannier.OutputPart{Mode: modeProgress},
	}
	if kind == pannier.RuntimeProxy {
		return p
	}
	p.Timeline = pannier.OutputPart{Mode: modeSummary, MaxChars: capSummaryChars}
	p.Recovery = evidence()
	if isProgram(kind) {
		p.LLM.Mode = modeFull
	}
	return p
}

func evidence() pannier.RecoveryPart {
	return pannier.RecoveryPart{
		Mode: modeEvidence, IncludeExitStatus: true, IncludeErrorClass: true, IncludeRetryHint: true, IncludeFingerprints: true,
		DiagnosticExcerpt: pannier.OutputPart{Mode: modeDisabled},
	}
}

// The tools of an agent that proxies are known to stand for. What becomes of the output of any other is unknown.
var (
	shellTargets = []string{"exec_command", "write_stdin"}
	plainTargets = []string{
		"read_file", "read_skill", "list_dir", "grep_files", "apply_patch", "tool_search", "tool_suggest", "web_fetch", "web_search",
		"download_url", "download", "computer_use",
	}
)

// startProxy sets what a proxy begins with, and returns the tool that it stands for.
func (o *output) startProxy(config json.RawMessage) string {
	var c struct {
		Target string `json:"target_tool"`
	}
	if err := json.Unmarshal(config, &c); err != nil {
		c.Target = ""
	}
	switch {
	case slices.Contains(shellTargets, c.Target):
		o.OutputPolicy = defaultOutput(pannier.RuntimeShell)
	case !slices.Contains(plainTargets, c.Target):
		o.note(codeTargetMissing, "what becomes of the output of its target tool is unknown, so it gets the least")
	}
	return c.Target
}

// request applies what the skill asks for.
func (o *output) request(text json.RawMessage) {
	if !isObject(text) {
		return
	}
	var q policyRequest
	if err := json.Unmarshal(text, &q); err != nil {
		o.note(codeInvalid, "the output policy has values of a wrong kind, so the default of the tool's kind counts")
		return
	}
	o.take(&o.LLM, q.LLM, "llm", capModelBytes)
	o.take(&o.LLMRetention, q.LLMRetention, "llm_retention", capModelBytes)
	o.take(&o.Timeline, q.Timeline, "timeline", capFullBytes)
	o.take(&o.Storage, q.Storage, "storage", capFullBytes)
	o.take(&o.Deltas, q.Deltas, "deltas", capDeltaBytes)
	if q.Recovery != nil {
		o.recovery(q.Recovery)
	}
}

// take sets a part to what is asked for, within the caps. A bound that the mode has and the skill omits is the cap.
func (o *output) take(part, asked *pannier.OutputPart, name string, bytes int64) {
	if asked == nil {
		return
	}
	*part = pannier.OutputPart{Mode: asked.Mode}
	switch asked.Mode {
	case modeFull, modeStructured, modeUntilEnd:
		part.MaxBytes = o.clamp(name+".max_bytes", asked.MaxBytes, bytes)
	case modeSummary:
		part.MaxChars = o.clamp(name+".max_chars", asked.MaxChars, capSummaryChars)
	case modeErrorsOnly, modeOutput:
		part.MaxChars = o.clamp(name+".max_chars", asked.MaxChars, capDiagnosticChars)
	case modePersist:
		part.MaxTotalBytes = o.clamp(name+".max_total_bytes", asked.MaxTotalBytes, bytes)
		part.MaxChunkBytes = o.clamp(name+".max_chunk_bytes", asked.MaxChunkBytes, min(capChunkBytes, part.MaxTotalBytes))
	case modeSummaryOnly, modeDoNotRetain, modeMetadata, modeHidden, modeNone, modeProgress, modeDisabled:
	default:
		*part = pannier.OutputPart{Mode: modeMetadata}
		o.note("unsupported_mode", fmt.Sprintf("%s has a mode that is not known", name))
	}
}

// clamp returns a bound within its cap; 0 is none, and the cap.
func (o *output) clamp(name string, asked, limit int64) int64 {
	if asked >= 0 && asked <= limit {
		if asked == 0 {
			return limit
		}
		return asked
	}
	o.note(codeClamped, fmt.Sprintf("%s is %d, and %d here", name, asked, limit))
	return limit
}

func (o *output) recovery(q *recoveryRequest) {
	o.Recovery = pannier.RecoveryPart{Mode: q.Mode}
	if q.Mode != modeEvidence {
		return
	}
	o.Recovery = evidence()
	r := &o.Recovery
	for _, flag := range []struct{ to, from *bool }{
		{&r.IncludeExitStatus, q.IncludeExitStatus},
		{&r.IncludeErrorClass, q.IncludeErrorClass},
		{&r.IncludeRetryHint, q.IncludeRetryHint},
		{&r.IncludeFingerprints, q.IncludeFingerprints},
	} {
		if flag.from != nil {
			*flag.to = *flag.from
		}
	}
	o.take(&r.DiagnosticExcerpt, q.DiagnosticExcerpt, "recovery.diagnostic_excerpt", capDiagnosticChars)
}
