package config

import "github.com/spf13/pflag"

// SocketPath returns the socket that flags, variables and the settings file give, or its default; see [Load]. It reads
// nothing else: whether a sidecar that runs is alive must not depend on settings that were changed since. The settings
// file is opened only where neither a flag nor a variable names the socket. The error joins a [*Fault] for each thing wrong
// with the socket, or with a file that says nothing at all.
func SocketPath(flags *pflag.FlagSet, environ []string) (string, error) {
	l := &loader{flags: flags, variables: variablesOf(environ), from: map[string]given{}, bad: map[string]bool{}}
	s, _ := settingOf("socket")
	_, byFlag := flagGiven(flags, s)
	_, byVariable := l.variables.given(s.variable(), s.split)
	if !byFlag && !byVariable {
		l.openFile()
		l.faults = nil // those of other settings are of no concern
		if l.file != nil && l.file.values == nil {
			l.faults = l.file.faults
		}
	}
	l.set(s)
	l.completeSocket()
	return l.draft.Socket, joined(l.faults)
}
