package config

import (
	"cmp"
	"time"
)

// SettingName is a setting in its spellings, for tests that go through all of them.
type SettingName struct{ Key, Flag, Variable, Agent, Fallback string }

// SettingNames returns every setting, in the order of the table.
func SettingNames() []SettingName {
	all := make([]SettingName, len(table))
	for i := range table {
		s := &table[i]
		all[i] = SettingName{Key: s.key, Flag: "--" + s.flag(), Variable: s.variable(), Agent: s.agent, Fallback: s.fallback}
	}
	return all
}

// DefaultSocket is the socket of a user with these variables.
func DefaultSocket(uid int, environ ...string) string {
	return defaultSocket(uid, variablesOf(environ))
}

// DefaultState is where the state of a user with these variables is.
func DefaultState(uid int, environ ...string) string {
	return cmp.Or(defaultState(uid, variablesOf(environ)), StateNone)
}

var ReadStill = readStill

// SetClock makes a reader take looks for later ones.
func (r *WorkspaceReader) SetClock(now func() time.Time) { r.now = now }

// TellReads makes a reader tell of each prompt file that it reads.
func (r *WorkspaceReader) TellReads(read func(path string)) { r.prompts.read = read }

// Effects returns the fields whose effect is known, in the order of the table, each with the reason.
func Effects() (keys, reasons []string) {
	for _, f := range fieldEffects {
		keys, reasons = append(keys, f.key), append(reasons, f.why)
	}
	return keys, reasons
}
