package config

import (
	"cmp"
	"os"
	"time"

	"github.com/spf13/pflag"

	"pannier"
)

type draft struct {
	Settings
	roots []writtenRoot
	// platform is the one that is being read.
	platform Platform
}

// settingsLoader puts the settings together from where they are given.
type settingsLoader struct {
	draft     draft
	flags     *pflag.FlagSet
	variables variables
	file      *settingsFile // nil where there is none
	defaults  Defaults

	from   map[string]given // the source of a setting, by key; none where the default counts
	bad    map[string]bool  // settings with a fault, by key: they hold their default meanwhile
	faults []*Fault
}

// What no setting changes: the longest wait of a change, how deep directories of a root lie, and the bytes of a SKILL.md and of
// its frontmatter.
const (
	maxWait             = 3 * time.Second
	maxDepth            = 6
	maxSkillBytes       = 1 << 20
	maxFrontmatterBytes = 64 << 10
)

// Load returns the settings that flags, variables and the settings file give, over their defaults. flags are those of
// [AddFlags], already parsed; a flag that is not among them, or all with nil, is not given. environ is what [os.Environ]
// returns. The error joins a [*Fault] for each thing wrong, one line each.
func Load(flags *pflag.FlagSet, environ []string) (Settings, error) {
	s, _, err := LoadOver(nil, flags, environ)
	return s, err
}

// Defaults are values of settings by their keys, as a flag would give them.
type Defaults map[string]string

// LoadOver is [Load] with other defaults. It returns those of them that count, because the setting is not given.
func LoadOver(defaults Defaults, flags *pflag.FlagSet, environ []string) (Settings, Defaults, error) {
	l := &settingsLoader{
		flags: flags, variables: variablesOf(environ), defaults: defaults, from: map[string]given{}, bad: map[string]bool{},
	}
	counting := Defaults{}
	l.openFile()
	l.faults = append(l.faults, l.variables.unknown()...)
	for i := range table {
		l.set(&table[i])
		if value, ok := defaults[table[i].key]; ok && l.from[table[i].key].name == "" {
			counting[table[i].key] = value
		}
	}
	l.draft.MaxDepth, l.draft.MaxSkillBytes, l.draft.MaxFrontmatterBytes = maxDepth, maxSkillBytes, maxFrontmatterBytes
	l.completeWorkspace()
	seen := map[string]bool{}
	for _, written := range l.draft.roots {
		root := written.in(l.draft.Workspace)
		if seen[root.Path] && !l.bad["workspace"] {
			l.faults = append(l.faults, written.fault(shown(written.path)+" is a root already", "remove one of the two"))
		}
		seen[root.Path] = true
		l.draft.Roots = append(l.draft.Roots, root)
	}
	if d := &l.draft; d.StateDir == "" { // where a user has no place for it, nothing is kept
		d.StateDir = cmp.Or(defaultState(os.Geteuid(), l.variables), StateNone)
	}
	l.completeSocket()
	l.completePlatforms()
	l.draft.Watch.MaxWait = max(maxWait, l.draft.Watch.Debounce)
	// Tools do not run in the sidecar's container without the whole sandbox.
	if t := &l.draft.Tools; t.Runner == RunnerSelf && t.Sandbox != pannier.SandboxRequired {
		l.faults = append(l.faults, l.place("tools.sandbox").fault("tools.runner is self, which takes the whole sandbox", "write required, or run pannier runner in the agent's container and write tools.runner: agent"))
	}
	if err := joined(l.faults); err != nil {
		return Settings{}, nil, err
	}
	return l.draft.Settings, counting, nil
}

func (l *settingsLoader) openFile() {
	g, ok := flagGiven(l.flags, &configFile)
	if !ok {
		g, ok = l.variables.given(configFile.variable(), nil)
	}
	if path, _ := g.text(); ok && path != "" {
		l.file = openSettings(path)
		l.faults = append(l.faults, l.file.faults...)
	}
}

func (l *settingsLoader) set(s *setting) {
	if g, ok := l.given(s); ok {
		l.from[s.key] = g
		faults := s.read(&l.draft, g)
		if len(faults) == 0 {
			return
		}
		l.bad[s.key] = true
		l.faults = append(l.faults, faults...)
	}
	if fallback := cmp.Or(l.defaults[s.key], s.fallback); fallback != "" {
		s.read(&l.draft, given{name: s.key, texts: []string{fallback}})
	}
}

// given returns what the first of those says who give a setting.
func (l *settingsLoader) given(s *setting) (given, bool) {
	if g, ok := flagGiven(l.flags, s); ok {
		return g, true
	}
	if g, ok := l.variables.given(s.variable(), s.split); ok {
		return g, true
	}
	if g, ok := l.file.given(s.key); ok {
		return g, true
	}
	return l.variables.given(s.agent, nil)
}

// place returns who decided a setting, to tell a fault that shows only when settings are put together.
func (l *settingsLoader) place(key string) given {
	if g, ok := l.from[key]; ok {
		return g
	}
	return given{name: key}
}

// SocketPath returns the socket that flags, variables and the settings file give, or its default; see [Load]. It reads
// nothing else: whether a sidecar that runs is alive must not depend on settings that were changed since. The settings
// file is opened only where neither a flag nor a variable names the socket. The error joins a [*Fault] for each thing wrong
// with the socket, or with a file that says nothing at all.
func SocketPath(flags *pflag.FlagSet, environ []string) (string, error) {
	l := &settingsLoader{flags: flags, variables: variablesOf(environ), from: map[string]given{}, bad: map[string]bool{}}
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
	return l.draft.Socket.Path, joined(l.faults)
}
