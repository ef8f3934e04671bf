package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"pannier"
)

// The bounds of output where the policy has none, or one that is too large for the place.
const (
	summaryChars    = 2000
	maxKeptBytes    = 64 << 10 // in an event, and in the audit log
	maxHeldLine     = 8 << 10
	defaultChunk    = 64 << 10
	defaultStreamed = 4 << 20
)

// cutBytes returns the beginning of a text, whole characters of it, and whether something is missing.
func cutBytes(text string, limit int64) (string, bool) {
	if int64(len(text)) <= limit {
		return text, false
	}
	return strings.ToValidUTF8(text[:limit], ""), true
}

// part returns what one part of an output policy lets through of an output; bound is the most.
func part(p pannier.OutputPart, output string, bound int64) (kept string, cut bool) {
	switch p.Mode {
	case "full", "structured":
		if p.MaxBytes > 0 {
			bound = min(bound, p.MaxBytes)
		}
		return cutBytes(output, bound)
	case "summary", "summary_only":
		limit := int64(summaryChars)
		if p.MaxChars > 0 {
			limit = min(limit, p.MaxChars)
		}
		kept = pannier.Truncate(output, int(limit))
		return kept, kept != output
	}
	return "", output != ""
}

// masked makes text without secrets of all that a runner has said. It is the one place that does, because it takes time.
func (c *call) masked(result pannier.ToolResult) pannier.ToolResult {
	result.Output = c.s.Mask(strings.ToValidUTF8(result.Output, "\uFFFD"))
	if result.Structured != nil {
		result.Structured = json.RawMessage(c.s.Mask(string(result.Structured)))
	}
	result.Artifacts = c.withTypes(result.Artifacts)
	result.Network = slices.Clone(result.Network)
	for i := range result.Network {
		result.Network[i].Host = c.s.Mask(result.Network[i].Host)
	}
	if result.Error != nil {
		failed := *result.Error
		failed.Message, failed.Hint = c.s.Mask(failed.Message), c.s.Mask(failed.Hint)
		result.Error = &failed
	}
	return result
}

// shape makes the result that a client gets of one that is masked.
func (c *call) shape(result pannier.ToolResult) pannier.ToolResult {
	policy := c.tool.OutputPolicy.LLM
	value := string(result.Structured) // what a function returned, apart from what it printed
	if value == "" {
		value = result.Output
	}
	var cut bool
	result.Output, cut = part(policy, result.Output, c.s.Bounds.OutputBytes)
	result.Truncated = result.Truncated || cut
	result.Structured = nil
	if kept, cut := part(policy, value, c.s.Bounds.OutputBytes); policy.Mode != "summary_only" && !cut && !result.Truncated {
		result.Structured = compactValue(kept)
	}
	return result
}

// compactValue returns a JSON object or list without blanks, nil for any other text.
func compactValue(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	var line bytes.Buffer
	if text == "" || text[0] != '{' && text[0] != '[' || json.Compact(&line, []byte(text)) != nil {
		return nil
	}
	return line.Bytes()
}

// intent is what the audit log has of a call before it runs.
type intent struct {
	Tool            string                  `json:"tool"`
	Kind            pannier.RuntimeToolKind `json:"kind"`
	CallID          string                  `json:"call_id"`
	Fingerprint     pannier.Digest          `json:"fingerprint,omitzero"`
	ArgumentsDigest pannier.Digest          `json:"arguments_digest"`
	ProjectDir      string                  `json:"project_dir,omitempty"`
	Runner          string                  `json:"runner,omitempty"`
}

// outcome is what the audit log has of a call after it.
type outcome struct {
	Tool       string `json:"tool"`
	CallID     string `json:"call_id"`
	OK         bool   `json:"ok"`
	Code       string `json:"code,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"`
	StatusCode *int   `json:"status_code,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	// Output is what the output policy stores, Failure what it keeps for the next attempt.
	Output  string   `json:"output,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

type failure struct {
	ExitStatus  *int           `json:"exit_status,omitempty"`
	ErrorClass  string         `json:"error_class,omitempty"`
	RetryHint   string         `json:"retry_hint,omitempty"`
	Fingerprint pannier.Digest `json:"fingerprint,omitzero"`
	Excerpt     string         `json:"excerpt,omitempty"`
}

func (c *call) outcomeOf(result pannier.ToolResult) outcome {
	o := outcome{
		Tool: c.tool.Name, CallID: c.CallID, OK: result.OK, ExitCode: result.ExitCode, StatusCode: result.StatusCode, TimedOut: result.TimedOut, DurationMS: result.DurationMS,
	}
	o.Output, _ = part(c.tool.OutputPolicy.Storage, result.Output, maxKeptBytes)
	if result.Error == nil {
		return o
	}
	o.Code = result.Error.Code
	r := c.tool.OutputPolicy.Recovery
	if r.Mode != "evidence" {
		return o
	}
	f := &failure{}
	if r.IncludeExitStatus {
		f.ExitStatus = result.ExitCode
	}
	if r.IncludeErrorClass {
		f.ErrorClass = result.Error.Code
	}
	if r.IncludeRetryHint {
		f.RetryHint = result.Error.Hint
	}
	if r.IncludeFingerprints {
		f.Fingerprint = c.files.Fingerprint
	}
	if mode := r.DiagnosticExcerpt.Mode; mode == "output" || mode == "errors_only" {
		f.Excerpt = pannier.Truncate(result.Output, int(max(1, r.DiagnosticExcerpt.MaxChars)))
	}
	o.Failure = f
	return o
}

// event returns what the timeline has of a call. shaped is the result that the client gets.
func (c *call) event(result, shaped pannier.ToolResult) pannier.SkillToolCalled {
	e := pannier.SkillToolCalled{
		Name: c.tool.Name, ModelName: c.tool.ModelName, Slug: c.tool.Skill, Kind: c.tool.Kind, CallID: c.CallID, OK: result.OK, DurationMS: result.DurationMS,
	}
	if result.Error != nil {
		e.Code = result.Error.Code
	}
	timeline := c.tool.OutputPolicy.Timeline
	if timeline.Mode == "hidden" {
		return e
	}
	e.ExitCode, e.StatusCode, e.Fingerprint, e.ArgumentsDigest = result.ExitCode, result.StatusCode, c.files.Fingerprint, pannier.DigestOf(c.arguments)
	e.Network, e.Artifacts = result.Network, result.Artifacts
	e.OutputDigest, e.Truncated = pannier.DigestOf([]byte(shaped.Output)), shaped.Truncated
	e.Output, _ = part(timeline, result.Output, maxKeptBytes)
	if timeline.Mode == "metadata_only" {
		e.Output = ""
	}
	if masked := c.s.Mask(string(c.arguments)); c.s.RecordArguments && len(masked) <= maxKeptBytes && json.Valid([]byte(masked)) {
		e.Arguments = json.RawMessage(masked)
	}
	return e
}

// audited runs the call between its two entries of the audit log.
func (c *call) audited(ctx context.Context) (pannier.ToolResult, error) {
	entry := pannier.AuditEntry{
		Phase: pannier.AuditIntent, Action: pannier.ActionCallTool, Actor: c.Actor, Slug: c.tool.Skill,
		Detail: intent{c.tool.Name, c.tool.Kind, c.CallID, c.files.Fingerprint, pannier.DigestOf(c.arguments), c.ProjectDir, c.s.Where},
	}
	written, err := c.s.Audit.Append(entry)
	if err != nil {
		return pannier.ToolResult{}, err
	}
	result := c.masked(c.run(ctx))
	c.keep(result.Artifacts)
	shaped := c.shape(result)
	o := c.outcomeOf(result)
	entry.Phase, entry.Intent, entry.Detail = pannier.AuditOutcome, written.Seq, o
	if result.Error != nil {
		entry.Error = result.Error.Code + ": " + result.Error.Message
	}
	if _, err := c.s.Audit.Append(entry); err != nil {
		c.s.Logger.Error("the outcome of a call of a tool could not be audited", "tool", c.tool.Name, "call", c.CallID, "intent", written.Seq, "error", err)
	}
	c.s.Emit(pannier.EventSkillToolCalled, c.event(result, shaped))
	return shaped, nil
}

// stream gives output to a client as it is written, within the policy. Whole lines are masked, so that no secret is cut in two.
type stream struct {
	mode         string
	chunk, limit int64
	mask         func(string) string
	out          func(pannier.ToolDelta)
	held         []byte
	bytes, given int64
}

func newStream(p pannier.OutputPart, mask func(string) string, out func(pannier.ToolDelta)) *stream {
	s := &stream{mode: p.Mode, chunk: p.MaxChunkBytes, limit: p.MaxTotalBytes, mask: mask, out: out}
	if s.chunk <= 0 {
		s.chunk = defaultChunk
	}
	if s.limit <= 0 {
		s.limit = defaultStreamed
	}
	if p.Mode == "disabled" {
		s.out = nil
	}
	return s
}

func (s *stream) write(b []byte) {
	s.bytes += int64(len(b))
	switch {
	case s.out == nil:
	case s.mode != "persist_and_display":
		s.out(pannier.ToolDelta{Bytes: s.bytes})
	default:
		s.held = append(s.held, b...)
		end := bytes.LastIndexByte(s.held, '\n') + 1
		if end == 0 && len(s.held) > maxHeldLine {
			end = len(s.held)
		}
		s.flush(end)
	}
}

func (s *stream) close() {
	if s.out != nil && s.mode == "persist_and_display" {
		s.flush(len(s.held))
	}
}

func (s *stream) flush(end int) {
	text := s.mask(strings.ToValidUTF8(string(s.held[:end]), "\uFFFD"))
	s.held = append(s.held[:0], s.held[end:]...)
	for text != "" && s.given < s.limit {
		piece, _ := cutBytes(text, min(s.chunk, s.limit-s.given))
		if piece == "" { // the bound is within a character
			s.given = s.limit
			return
		}
		text = text[len(piece):]
		s.given += int64(len(piece))
		s.out(pannier.ToolDelta{Text: piece, Bytes: s.bytes})
	}
}
