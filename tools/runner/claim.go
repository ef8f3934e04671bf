package runner

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"pannier"
	"pannier/tools/output"
)

// The bounds of what a runner says.
const (
	maxMessage    = 1000
	maxSentences  = 32
	defaultOutput = 2 << 20
	defaultTime   = 20 * time.Second
)

func outputOf(job *pannier.ToolJob) int64 { return cmp.Or(job.Bounds.OutputBytes, defaultOutput) }

// runnerCodes are the codes that only a runner knows of. Any other is a failure.
var runnerCodes = map[string]bool{
	pannier.ToolChanged: true, pannier.ToolDependencyMissing: true, pannier.ToolArgumentsInvalid: true, pannier.ToolBusy: true,
	pannier.ToolTimedOut: true, pannier.ToolCanceled: true, pannier.ToolSandboxUnavailable: true, pannier.ToolFailed: true,
	pannier.ToolSignal: true, pannier.ToolOutputLimit: true, pannier.ToolCopyFailed: true, pannier.ToolNotAllowed: true,
}

// cleanResult returns what a result says within its bounds. Which call it is of, and how long it took, the sidecar knows itself.
func cleanResult(job *pannier.ToolJob, claimed *pannier.ToolResult) pannier.ToolResult {
	sink := output.NewSink(outputOf(job), nil, nil)
	_, _ = sink.Write([]byte(claimed.Output))
	sink.Close()
	result := pannier.ToolResult{
		Name: job.Name, CallID: job.ID, Kind: job.Kind, Output: sink.Text(), Truncated: claimed.Truncated || sink.Truncated(), ExitCode: claimed.ExitCode,
	}
	if result.ExitCode != nil && (*result.ExitCode < 0 || *result.ExitCode > 255) {
		result.ExitCode = nil
	}
	if int64(len(claimed.Structured)) <= outputOf(job) && json.Valid(claimed.Structured) {
		result.Structured = claimed.Structured
	}
	result.Artifacts, result.ArtifactsLeftOut = cleanArtifacts(claimed)
	for _, h := range claimed.Network[:min(len(claimed.Network), pannier.MaxToolHosts)] {
		result.Network = append(result.Network, pannier.ToolHost{Host: cleanText(h.Host), Requests: max(0, h.Requests), Refused: cleanText(h.Refused)})
	}
	switch e := claimed.Error; {
	case e != nil && runnerCodes[e.Code]:
		result.Error = &pannier.ToolError{Code: e.Code, Message: cleanText(e.Message), Hint: cleanText(e.Hint)}
		result.TimedOut = e.Code == pannier.ToolTimedOut
	case e != nil || !claimed.OK:
		result.Error = &pannier.ToolError{Code: pannier.ToolFailed, Message: "the tool failed", Hint: "look at the log of the runner"}
	default:
		result.OK = true
	}
	return result
}

// cleanArtifacts returns the artifacts that a result claims, without those that a sidecar could not hand on.
func cleanArtifacts(claimed *pannier.ToolResult) (artifacts []pannier.Artifact, leftOut map[string]int) {
	var bytes int64
	for _, a := range claimed.Artifacts[:min(len(claimed.Artifacts), pannier.MaxArtifacts)] {
		bytes += max(0, a.Bytes)
		same := func(b pannier.Artifact) bool { return a.Name == b.Name }
		if pannier.IsArtifactName(a.Name) && a.Bytes >= 0 && bytes <= pannier.MaxArtifactBytes && !slices.ContainsFunc(artifacts, same) {
			artifacts = append(artifacts, a)
		}
	}
	for _, reason := range pannier.ArtifactReasons() {
		if n := claimed.ArtifactsLeftOut[reason]; n > 0 {
			if leftOut == nil {
				leftOut = map[string]int{}
			}
			leftOut[reason] = n
		}
	}
	return artifacts, leftOut
}

func cleanText(text string) string {
	if len(text) > 4*maxMessage {
		text = text[:4*maxMessage]
	}
	return pannier.Truncate(pannier.CleanLine(text), maxMessage)
}

// cleanReport bounds the texts of a report.
func cleanReport(r pannier.RunnerReport) pannier.RunnerReport {
	r.Version, r.Python, r.Exposed = cleanText(r.Version), cleanText(r.Python), cleanText(r.Exposed)
	switch r.Level {
	case pannier.SandboxRequired, pannier.SandboxBestEffort:
	default:
		r.Level = ""
	}
	r.Missing, r.Namespaces, r.Cgroup, r.NoCgroup = cleanTexts(r.Missing), cleanTexts(r.Namespaces), cleanTexts(r.Cgroup), cleanText(r.NoCgroup)
	r.MaxCalls = max(0, min(r.MaxCalls, maxCalls))
	return r
}

func cleanTexts(texts []string) (clean []string) {
	for _, text := range texts[:min(len(texts), maxSentences)] {
		clean = append(clean, cleanText(text))
	}
	return clean
}

func failedWith(job *pannier.ToolJob, code, message, hint string) pannier.ToolResult {
	return pannier.ToolResult{Name: job.Name, CallID: job.ID, Kind: job.Kind, Error: &pannier.ToolError{Code: code, Message: message, Hint: hint}}
}

func gone(job *pannier.ToolJob) pannier.ToolResult {
	return failedWith(job, pannier.ToolRunnerGone, "the runner has disconnected during the call; the tool may have run in part", "look at the log of the runner, and call again when it is back")
}
