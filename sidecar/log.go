package sidecar

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/logpipe"
	"pannier/internal/plain"
	"pannier/registry"
)

const (
	// maxLogBacklog bounds the lines that wait to be written, in bytes.
	maxLogBacklog = 1 << 20
	// logFlushTimeout is how long the end of the process waits for them.
	logFlushTimeout = time.Second
)

// sidecarLog is the log of a sidecar. Writing to it never blocks, so that a log collector that hangs does not delay skills.
type sidecarLog struct {
	hclog.Logger
	lines *logpipe.Writer
}

func openLog(to io.Writer, reg prometheus.Registerer, newLogger func(io.Writer) hclog.Logger) *sidecarLog {
	out := logpipe.New(logpipe.Options{To: to, MaxBytes: maxLogBacklog, Told: func(dropped uint64) []byte {
		var line bytes.Buffer
		newLogger(&line).Warn("log lines were dropped because the reader of the log is too slow", "lines", dropped)
		return line.Bytes()
	}})
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "pannier_log_dropped_lines_total", Help: "Log lines that were dropped because the reader of the log was too slow, or that could not be written.",
	}, func() float64 { return float64(out.Dropped()) }))
	return &sidecarLog{Logger: newLogger(out), lines: out}
}

// end flushes the log and returns err. If the log cannot be flushed in time, the error has no message: its reader would not
// see it either, and writing it could block forever.
func (l *sidecarLog) end(err error) error {
	if l.lines.Close(logFlushTimeout) || err == nil {
		return err
	}
	return &Error{}
}

// Messages of log records that a printer for people may want to distinguish.
const (
	LogServing   = "serving"        // at the start; has the workspace
	LogReady     = "ready"          // after the first scan; has counts and addresses
	LogChanged   = "skills changed" // skills whose content changed while their state did not
	LogBroken    = "skill is broken"
	LogMalformed = "runtime of a skill is malformed"
)

// logReport logs what no event says: that the sidecar is ready, with its addresses, and which skills changed without a change of
// their state.
func (c *core) logReport(before, s *pannier.Snapshot, changed []string, transitions []pannier.SkillStateChanged) {
	if before == nil {
		counts := countStates(s)
		fields := []any{"skills", len(s.Entries), "usable", counts[pannier.StateEligible], "took", time.Since(startedAt), "socket", c.settings.Socket.Path}
		if c.listeners.probes != nil {
			fields = append(fields, "metrics", fmt.Sprintf("http://%s/metrics", c.listeners.probes.Addr()))
		}
		if c.listeners.tcp != nil {
			fields = append(fields, "api", c.listeners.tcp.Addr().String())
		}
		pushes, _ := c.platforms.health()
		for _, push := range pushes {
			fields = append(fields, "platform", push.Platform)
		}
		c.log.Debug(LogReady, fields...)
		return
	}
	changed = slices.DeleteFunc(slices.Clone(changed), func(slug string) bool {
		return slices.ContainsFunc(transitions, func(t pannier.SkillStateChanged) bool { return t.Slug == slug })
	})
	if len(changed) > 0 {
		c.log.Debug(LogChanged, "slugs", changed)
	}
}

// MaxSkillLines bounds the lines that the log has on the skills of one snapshot, for faults and for skipped skills each.
const MaxSkillLines = 100

type skillLine struct {
	level                    hclog.Level
	message                  string
	skill, place, what, hint string
}

// logSkills logs what is new in a snapshot: broken skills and malformed runtimes, which a person should mend, then the skills
// that the runtime of the workspace skips. before is nil for the first snapshot.
func logSkills(log hclog.Logger, before, after *pannier.Snapshot) {
	var lines []skillLine
	for old, now := range registry.Changes(before, after) {
		known := skillLines(old)
		for _, line := range skillLines(now) {
			if !slices.Contains(known, line) {
				lines = append(lines, line)
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b skillLine) int { return int(b.level) - int(a.level) })
	skipped := slices.IndexFunc(lines, func(line skillLine) bool { return line.level == hclog.Info })
	if skipped < 0 {
		skipped = len(lines)
	}
	logLines(log, lines[:skipped], "more skills are broken")
	logLines(log, lines[skipped:], "more skills are skipped")
}

// logLines logs at most [MaxSkillLines] lines of one level and the number of the others.
func logLines(log hclog.Logger, lines []skillLine, others string) {
	for _, line := range lines[:min(len(lines), MaxSkillLines)] {
		log.Log(line.level, line.message, "skill", line.skill, "at", line.place, "problem", line.what, "hint", line.hint)
	}
	if more := len(lines) - MaxSkillLines; more > 0 {
		log.Log(lines[0].level, others, "lines", more, "hint", `run "pannier list" to see all skills`)
	}
}

// skillLines returns the lines on a skill; e may be nil. One that is not in use by choice has none.
func skillLines(e *pannier.Entry) (lines []skillLine) {
	if e == nil || e.State != pannier.StateEligible && e.State != pannier.StateIneligible {
		return nil
	}
	if at := slices.IndexFunc(e.Problems, func(p pannier.Problem) bool { return p.Severity == pannier.SeverityError }); at >= 0 {
		lines = append(lines, problemLine(LogBroken, e, e.Problems[at]))
	}
	if at := slices.IndexFunc(e.Problems, func(p pannier.Problem) bool { return p.Code == pannier.CodeRuntimeValue }); at >= 0 {
		lines = append(lines, problemLine(LogMalformed, e, e.Problems[at]))
	}
	for _, r := range e.Reasons {
		if r.Code == pannier.ReasonRuntimeIncompatible {
			lines = append(lines, skillLine{
				hclog.Info, "skipping skill", e.Slug, plain.Text(e.Path),
				plain.Text("runtime=[" + strings.Join(e.Runtimes, ", ") + "] not compatible with current=" + r.Subject), plain.Text(r.Remedy),
			})
		}
	}
	return lines
}

func problemLine(message string, e *pannier.Entry, p pannier.Problem) skillLine {
	return skillLine{hclog.Warn, message, e.Slug, plain.Text(p.Place()), plain.Text(p.Message), plain.Text(p.Hint)}
}
