package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
)

// TestWorkspaceChanges edits config.yaml and the files of the system prompt while the sidecar runs, without a resync.
func TestWorkspaceChanges(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it.")+"printf 'You are a desk.\n' > system-prompt.md")
	s := startSidecar(t, w, "--platform-url", "off")

	s.write(t, `printf 'name: Other desk\nversion: "1.0"\nruntime: crewai\ntier: 4\nsomething: new\nprompt_files: [prompts/one.md, system-prompt.md]\n' > config.yaml`)
	s.hasEvent(t, pannier.EventWorkspaceChanged, `{"files":["config.yaml"],"fields":{"hot":["name","prompt_files"],"restart":["runtime"],"ignored":["something","tier"]}}`)
	s.tellsOf(t, "config_restart_needed")
	s.tellsOf(t, "config_prompt_missing")

	s.write(t, "mkdir prompts; printf 'Be brief.\n' > prompts/one.md")
	s.hasEvent(t, pannier.EventWorkspaceChanged, `{"files":["prompts/one.md"],"fields":{"hot":[],"restart":[],"ignored":[]}}`)
	s.promptIs(t, "Be brief.\nYou are a desk.\n\n## Your Skills\n")

	s.write(t, "printf 'Be kind.\n' > prompts/new; mv prompts/new prompts/one.md; printf 'The user likes tea.\n' > USER.md")
	s.promptIs(t, "Be kind.\nYou are a desk.\nThe user likes tea.\n\n## Your Skills\n")
	s.hasEvent(t, pannier.EventWorkspaceChanged, `"USER.md"`)
}

// TestRuntimeOfTheRunningAgent edits the runtime in config.yaml: skills fit the adapter that the agent runs with until the agent reports
// its environment, over the socket or in the file.
func TestRuntimeOfTheRunningAgent(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	writeIn(t, w, `printf 'name: Desk\nruntime: langgraph\n' > config.yaml; for runtime in langgraph crewai; do mkdir -p skills/$runtime; printf -- '---\nname: %s\ndescription: Is one.\nruntime: %s\n---\nDo it.\n' $runtime $runtime > skills/$runtime/SKILL.md; done`)
	report := filepath.Join(shortDir(t), "environment.json")
	s := startSidecar(t, w, "--platform-url", "off", "--environment-file", report)
	runs := func(fits, other string) {
		t.Helper()
		s.standsAt(t, fits, pannier.StateEligible)
		s.standsAt(t, other, pannier.StateIneligible, pannier.ReasonRuntimeIncompatible)
	}
	runs("langgraph", "crewai")
	s.write(t, `printf 'name: Desk\nruntime: crewai\n' > config.yaml`)
	s.tellsOf(t, "config_restart_needed")
	runs("langgraph", "crewai")
	must(s.PutEnvironment(t.Context(), pannier.Environment{OS: "linux", Arch: "amd64"}))(t)
	runs("crewai", "langgraph")
	if h, err := s.Health(t.Context()); err != nil || slices.ContainsFunc(h.Conditions, func(c pannier.Condition) bool { return c.Code == "config_restart_needed" }) {
		t.Errorf("health after the report: %+v, %v", h.Conditions, err)
	}
	s.write(t, `printf 'name: Desk\nruntime: langgraph\n' > config.yaml`)
	s.tellsOf(t, "config_restart_needed")
	runs("crewai", "langgraph")
	need(t, os.WriteFile(report, []byte(`{"os":"linux","arch":"amd64"}`), 0o600))
	runs("langgraph", "crewai")
}

// TestPromptDirectoryIsSwapped has another directory take the place of one on the way to a prompt file, in each mode.
func TestPromptDirectoryIsSwapped(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "poll"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorkspace(t)
			writeIn(t, w, "mkdir -p q/r n/r; printf 'Old.\n' > q/r/b.md; printf 'New.\n' > n/r/b.md; printf 'prompt_files: [q/r/b.md]\n' >> config.yaml")
			s := startSidecar(t, w, "--platform-url", "off", "--watch", mode)
			s.promptIs(t, "Old.")
			s.write(t, "mv q old; mv n q")
			s.promptIs(t, "New.")
			s.write(t, "printf 'Newer.\n' > q/r/b.md")
			s.promptIs(t, "Newer.")
			s.write(t, "mv q q2; mv q2 q")
			s.promptIs(t, "Newer.")
			s.write(t, "printf 'Newest.\n' > q/r/new; mv q/r/new q/r/b.md")
			s.promptIs(t, "Newest.")
		})
	}
}

// promptIs waits until the whole system prompt begins with a text.
func (s *sidecarUnderTest) promptIs(t *testing.T, start string) {
	t.Helper()
	eventually(t, "the system prompt begins with the prompt files", func() error {
		p, err := s.Prompt(t.Context(), pannier.Turn{Format: "molecule_system"})
		if err != nil {
			return err
		}
		if !strings.HasPrefix(p.Text, start) {
			return &exitError{message: "it is " + p.Text}
		}
		return nil
	})
}
