package main

import (
	"strings"
	"testing"

	"pannier"
)

// TestWorkspaceChanges edits config.yaml and the files of the system prompt while the sidecar runs, without a resync.
func TestWorkspaceChanges(t *testing.T) {
	w := newWorkspace(t)
	writeIn(t, w, skillScript("pdf", "Reads it.")+"printf 'You are a desk.\n' > system-prompt.md")
	s := startSidecar(t, w, "--platform-url", "off")

	s.write(t, `printf 'name: Other desk\nversion: "1.0"\nruntime: crewai\ntier: 4\nsomething: new\nprompt_files: [prompts/one.md, system-prompt.md]\n' > config.yaml`)
	s.hasEvent(t, pannier.EventWorkspaceChanged, `{"files":["config.yaml"],"fields":{"hot":["name","prompt_files"],"restart":["runtime"],"ignored":["something","tier"]}}`)
	s.hasCondition(t, "config.restart_needed")
	s.hasCondition(t, "config.prompt_missing")

	s.write(t, "mkdir prompts; printf 'Be brief.\n' > prompts/one.md")
	s.hasEvent(t, pannier.EventWorkspaceChanged, `{"files":["prompts/one.md"],"fields":{"hot":[],"restart":[],"ignored":[]}}`)
	s.promptIs(t, "Be brief.\nYou are a desk.\n\n## Your Skills\n")

	s.write(t, "printf 'Be kind.\n' > prompts/new; mv prompts/new prompts/one.md; printf 'The user likes tea.\n' > USER.md")
	s.promptIs(t, "Be kind.\nYou are a desk.\nThe user likes tea.\n\n## Your Skills\n")
	s.hasEvent(t, pannier.EventWorkspaceChanged, `"USER.md"`)
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
