package config

import "cmp"

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
