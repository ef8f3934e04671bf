package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/config"
	"pannier/internal/journal"
	"pannier/internal/plain"
	"pannier/sidecar"
)

// terminalLog prints the records of a log as short lines for people. It implements [hclog.SinkAdapter].
type terminalLog struct {
	to    io.Writer
	level hclog.Level
	paint palette

	mu sync.Mutex
	// reported are the problems that a record told, with their places, until the event of the same problem follows.
	reported map[string]bool
}

// Accept implements [hclog.SinkAdapter].
func (l *terminalLog) Accept(name string, level hclog.Level, message string, fields ...any) {
	if message == sidecar.LogReady || message == sidecar.LogChanged {
		level = hclog.Info
	}
	if level < l.level {
		return
	}
	text := l.record(name, level, message, fields)
	if text == "" {
		return
	}
	// One call of Write is one line of the pipe, so the lines of a record stay together.
	fmt.Fprintf(l.to, "%s %s\n", l.paint.quiet(time.Now().Format(time.TimeOnly)), text)
}

// record returns the text of a record, empty where another record says the same.
func (l *terminalLog) record(name string, level hclog.Level, message string, fields []any) string {
	_, module, _ := strings.Cut(name, ".")
	switch {
	case module == "event" && level == hclog.Info:
		return l.event(pannier.EventType(message), fields)
	case message == sidecar.LogServing:
		return l.paint.head("pannier "+version()) + " " + plain.Text(fmt.Sprint(fieldOf(fields, "workspace")))
	case message == sidecar.LogReady:
		return l.ready(fields)
	case message == sidecar.LogChanged:
		slugs, _ := fieldOf(fields, "slugs").([]string)
		return l.paint.summary(eventSummary{subject: someOf(slugs), text: "changed"}, 0)
	case message == sidecar.LogBroken || message == sidecar.LogMalformed:
		l.report(fmt.Sprint(fieldOf(fields, "at")) + ": " + fmt.Sprint(fieldOf(fields, "problem")))
	case level == hclog.Info && (module == "devplatform" ||
		strings.HasPrefix(message, "serving ") || strings.HasPrefix(message, sidecar.EmbeddedPlatform)):
		return "" // the ready line and card_pushed have it
	}
	return l.generic(level, message, fields)
}

// event returns the summary of an event, empty for those that another record explains better.
func (l *terminalLog) event(kind pannier.EventType, fields []any) string {
	data := map[string]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		value := fields[i+1]
		if text, ok := value.(journal.JSONText); ok {
			value = json.RawMessage(text)
		}
		if name := fmt.Sprint(fields[i]); name != "seq" && name != "snapshot_version" {
			data[name] = value
		}
	}
	text, err := json.Marshal(data)
	switch kind {
	case pannier.EventCatalogUpdated, pannier.EventCardRejected: // see sidecar.LogChanged, the state changes, and the warning with its hint
		return ""
	case pannier.EventSkillWarning:
		if detail, _ := data["detail"].(string); l.wasReported(plain.Text(detail)) {
			return ""
		}
	case pannier.EventSkillScanned:
		if data["decision"] == string(pannier.ScanAllow) {
			return ""
		}
	}
	if err != nil {
		return ""
	}
	s := summarize(kind, text)
	line := l.paint.summary(s, 0)
	if kind == pannier.EventSkillWarning && s.subject != "" {
		line += l.detail("hint:", "run `pannier health "+s.subject+"` to see what to do")
	}
	return line
}

// report records that a record told a problem.
func (l *terminalLog) report(problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reported == nil || len(l.reported) >= 2*sidecar.MaxSkillLines {
		l.reported = map[string]bool{}
	}
	l.reported[problem] = true
}

// wasReported reports whether a record told the problem of an event, once for each record.
func (l *terminalLog) wasReported(problem string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.reported[problem]
	delete(l.reported, problem)
	return was
}

func (l *terminalLog) ready(fields []any) string {
	skills, _ := fieldOf(fields, "skills").(int)
	usable, _ := fieldOf(fields, "usable").(int)
	took, _ := fieldOf(fields, "took").(time.Duration)
	text := l.paint.good("ready") + fmt.Sprintf(" in %d ms: %s, %d usable", max(1, took.Milliseconds()), plain.Count(skills, "skill"), usable)
	if usable < skills {
		text += l.paint.quiet(" (`pannier list` says why)")
	}
	for i := 0; i+1 < len(fields); i += 2 {
		if name, ok := fields[i].(string); ok && slices.Contains([]string{"socket", "metrics", "api", "platform"}, name) {
			text += l.detail(fmt.Sprintf("%-9s", name), fmt.Sprint(fields[i+1]))
		}
	}
	return text
}

// generic returns a record as a sentence: its message, its error, its other fields in brackets, and its hint on a line of its own.
func (l *terminalLog) generic(level hclog.Level, message string, fields []any) string {
	var hint string
	var others []string
	for i := 0; i+1 < len(fields); i += 2 {
		switch name, value := fmt.Sprint(fields[i]), fmt.Sprint(fields[i+1]); {
		case value == "" || name == "code":
		case name == "error":
			message += ": " + value
		case name == "at" || name == "problem":
			message += ": " + value
		case name == "hint":
			hint = value
		default:
			others = append(others, name+" "+value)
		}
	}
	text := l.paint.clean(message)
	if len(others) > 0 {
		text += " " + l.paint.quiet("("+l.paint.clean(strings.Join(others, ", "))+")")
	}
	switch level {
	case hclog.Error:
		text = l.paint.bad("error:") + " " + text
	case hclog.Warn:
		text = l.paint.in(yellow, "warning:") + " " + text
	case hclog.Debug, hclog.Trace:
		text = l.paint.quiet(level.String()+":") + " " + text
	}
	if hint != "" {
		text += l.detail("hint:", hint)
	}
	return text
}

func (l *terminalLog) detail(name, value string) string {
	return "\n         " + l.paint.quiet(name) + " " + l.paint.clean(value)
}

// fieldOf returns a field of a record, nil where it has none of the name.
func fieldOf(fields []any, name string) any {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == name {
			return fields[i+1]
		}
	}
	return nil
}

const maxLineText = 400

// clean returns a text on one line without what a terminal obeys, with short digests.
func (palette) clean(text string) string {
	return plain.Shorten(digests.ReplaceAllString(plain.Text(text), "$1"), maxLineText)
}

// summary returns an event in colour, cut to a width if that is positive.
func (p palette) summary(s eventSummary, width int) string {
	subject, text := p.clean(s.subject), p.clean(s.text)
	if width > 0 {
		subject = plain.Shorten(subject, max(10, width))
		text = plain.Shorten(text, max(10, width-plain.Cells(subject)-1))
	}
	if s.colour != "" {
		text = p.in(s.colour, text)
	}
	return strings.TrimSpace(p.head(subject) + " " + text)
}

func logOptions(s config.Settings, to io.Writer) *hclog.LoggerOptions {
	return &hclog.LoggerOptions{Name: "pannier", Level: hclog.LevelFromString(s.Log.Level), Output: to, JSONFormat: s.Log.Format == "json"}
}

// newLogger returns the log of a sidecar: short lines where err is a terminal and the settings do not say otherwise.
func (p *program) newLogger(s config.Settings, to io.Writer) hclog.Logger {
	if s.Log.Format != "auto" || !p.errTerminal {
		return hclog.New(logOptions(s, to))
	}
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "pannier", Level: hclog.Off, Output: io.Discard})
	log.RegisterSink(&terminalLog{to: to, level: hclog.LevelFromString(s.Log.Level), paint: p.complain})
	return log
}
