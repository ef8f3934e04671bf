package main

import (
	"io"

	"github.com/hashicorp/go-hclog"

	"pannier/config"
)

// logger returns the log of a command that changes a directory, which writes each line at once.
func (p *program) logger(s config.Settings) hclog.Logger { return hclog.New(logOptions(s, p.err)) }

func logOptions(s config.Settings, to io.Writer) *hclog.LoggerOptions {
	return &hclog.LoggerOptions{Name: "pannier", Level: hclog.LevelFromString(s.LogLevel), Output: to, JSONFormat: s.LogFormat == "json"}
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
