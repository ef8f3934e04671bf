package sidecar

import (
	"bytes"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier/internal/logpipe"
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

func openLog(to io.Writer, newLogger func(io.Writer) hclog.Logger) *sidecarLog {
	out := logpipe.New(logpipe.Options{To: to, MaxBytes: maxLogBacklog, Told: func(dropped uint64) []byte {
		var line bytes.Buffer
		newLogger(&line).Warn("log lines were dropped because the reader of the log is too slow", "lines", dropped)
		return line.Bytes()
	}})
	return &sidecarLog{Logger: newLogger(out), lines: out}
}

// register adds the metric of what was dropped.
func (l *sidecarLog) register(reg prometheus.Registerer) {
	reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "pannier_log_dropped_lines_total", Help: "Log lines that were dropped because the reader of the log was too slow, or that could not be written.",
	}, func() float64 { return float64(l.lines.Dropped()) }))
}

// end flushes the log and returns err. If the log cannot be flushed in time, the error has no message: its reader would not
// see it either, and writing it could block forever.
func (l *sidecarLog) end(err error) error {
	if l.lines.Close(logFlushTimeout) || err == nil {
		return err
	}
	return &Error{}
}
