package main

import (
	"bytes"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier/config"
	"pannier/internal/logpipe"
)

const (
	// maxLogBacklog bounds the lines that wait for whoever reads the log, in bytes.
	maxLogBacklog = 1 << 20
	// logPatience is how long the end of the process waits for them.
	logPatience = time.Second
)

// logger returns the log of a command that changes a directory, which writes each line at once.
func (p *program) logger(s config.Settings) hclog.Logger { return hclog.New(logOptions(s, p.err)) }

func logOptions(s config.Settings, to io.Writer) *hclog.LoggerOptions {
	return &hclog.LoggerOptions{Name: "pannier", Level: hclog.LevelFromString(s.LogLevel), Output: to, JSONFormat: s.LogFormat == "json"}
}

// sidecarLog is the log of a sidecar. Whoever logs never waits for whoever reads the log: a collector that hangs must not
// hold up the skills.
type sidecarLog struct {
	hclog.Logger
	lines *logpipe.Writer
}

// newLogger returns the log of a sidecar: short lines where err is a terminal and the settings do not say otherwise.
func (p *program) newLogger(s config.Settings, to io.Writer) hclog.Logger {
	if s.LogFormat != "auto" || !p.errTerminal {
		return hclog.New(logOptions(s, to))
	}
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "pannier", Level: hclog.Off, Output: io.Discard})
	log.RegisterSink(&terminalLog{to: to, level: hclog.LevelFromString(s.LogLevel), paint: p.complain})
	return log
}

func (p *program) openLog(s config.Settings) *sidecarLog {
	out := logpipe.New(logpipe.Options{To: p.err, MaxBytes: maxLogBacklog, Told: func(dropped uint64) []byte {
		var line bytes.Buffer
		p.newLogger(s, &line).Warn("lines of the log were dropped, because nobody read it", "lines", dropped)
		return line.Bytes()
	}})
	return &sidecarLog{Logger: p.newLogger(s, out), lines: out}
}

// register adds the metric of what was dropped.
func (l *sidecarLog) register(reg prometheus.Registerer) {
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "pannier_log_dropped_lines_total", Help: "Lines of the log that nobody read in time, or that could not be written.",
	}, func() float64 { return float64(l.lines.Dropped()) }))
}

// end writes what waits and returns err as the process can tell it: where nobody reads the log, nobody reads that either,
// and waiting to tell it would be waiting for ever.
func (l *sidecarLog) end(err error) error {
	if l.lines.Close(logPatience) || err == nil {
		return err
	}
	return &exitError{code: exitCode(err)}
}
