package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/publish/client"
)

// needy is a skill that needs a binary which no container has.
const needy = "mkdir -p skills/needy; printf -- '---\\nname: needy\\ndescription: Needs one.\\nmetadata: {openclaw: {requires: {bins: [no-such-binary-here], env: [NO_SUCH_VARIABLE]}}}\\n---\\nDo it.\\n' > skills/needy/SKILL.md\n"

// run runs a command of the binary against the sidecar and returns what it printed and its exit code.
func (s *sidecarUnderTest) run(args ...string) (out string, code int) { return s.runWith(nil, args...) }

// runWith is run with further variables.
func (s *sidecarUnderTest) runWith(environ []string, args ...string) (out string, code int) {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(append(cleanEnviron(), "PANNIER_WORKSPACE="+s.workspace, "PANNIER_SOCKET="+s.socket), environ...)
	text, _ := cmd.CombinedOutput()
	return string(text), cmd.ProcessState.ExitCode()
}

// judged waits until a skill has a state, judged by the environment of a source.
func (s *sidecarUnderTest) judged(t *testing.T, slug string, state pannier.State, by pannier.EnvironmentSource) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %s by the environment of the %s", slug, state, by), func() error {
		list, err := s.Skills(t.Context(), "", false)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list.Skills, func(e *pannier.Entry) bool { return e.Slug == slug })
		if i < 0 || list.Skills[i].State != state || list.EnvironmentSource != by {
			return fmt.Errorf("by %s: %+v", list.EnvironmentSource, list.Skills)
		}
		return nil
	})
}

func TestEnvironmentOfTheAgent(t *testing.T) {
	t.Parallel()
	w, stateDir := workspaceWith(t, needy), t.TempDir()
	args := []string{"--platform-url", "off", "--state-dir", stateDir}
	s := startSidecar(t, w, args...)
	s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentSidecar)

	bin := t.TempDir()
	writeIn(t, bin, "printf '#!/bin/sh\n' > no-such-binary-here; chmod +x no-such-binary-here; : > not-executable")
	put := exec.Command(binary, "environment", "--put", "--mcp", "files", "--workspace", w, "--socket", s.socket)
	put.Env = append(cleanEnviron(), "PATH="+bin, "NO_SUCH_VARIABLE="+testToken)
	if out, err := put.CombinedOutput(); err != nil || !strings.Contains(string(out), "environment of the agent") || !strings.Contains(string(out), " 1 executables") {
		t.Fatalf("%v: %s", err, out)
	}
	s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentAgent)

	out, code := s.run("environment", "--show")
	var env pannier.Environment
	if err := json.Unmarshal([]byte(out), &env); err != nil || code != 0 || !slices.Equal(env.Bins, []string{"no-such-binary-here"}) || !slices.Equal(env.MCP, []string{"files"}) || strings.Contains(out, testToken) {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}

	s.kill()
	s = startSidecar(t, w, args...) // what the agent put is kept
	s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentAgent)
	s.hasEvent(t, pannier.EventEnvironmentChanged, `"source":"agent"`)
	s.hasEvent(t, pannier.EventSkillStateChanged, `"from":"ineligible","to":"eligible"`)
	audit, err := s.Audit(t.Context(), "", 10)
	if err != nil || len(audit.Entries) != 2 || audit.Entries[0].Phase != pannier.AuditOutcome || audit.Entries[1].Action != pannier.ActionPutEnvironment || audit.Entries[1].Actor.UID == nil {
		t.Errorf("audit %+v, %v", audit, err)
	}
}

// hasEvent waits for an event whose data holds a text.
func (s *sidecarUnderTest) hasEvent(t *testing.T, kind pannier.EventType, part string) {
	t.Helper()
	eventually(t, fmt.Sprintf("there is an event %s with %s", kind, part), func() error {
		var seen []string
		err := s.Events(t.Context(), client.EventQuery{Types: []string{string(kind)}}, func(e pannier.Event) error {
			text, err := compactJSON(e.Data)
			seen = append(seen, string(text))
			return err
		})
		if err != nil || !slices.ContainsFunc(seen, func(data string) bool { return strings.Contains(data, part) }) {
			return fmt.Errorf("events %q, %v", seen, err)
		}
		return nil
	})
}

// TestEnvironmentFile has the file come, break, and go while the sidecar runs, without a resync: it is watched.
func TestEnvironmentFile(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, needy)
	file := filepath.Join(t.TempDir(), "environment.json")
	s := startSidecar(t, w, "--platform-url", "off", "--environment-file", file)
	s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentSidecar)
	s.tellsOf(t, "environment_missing")

	text := must(json.Marshal(pannier.Environment{OS: "linux", Bins: []string{"no-such-binary-here"}, Env: []string{"NO_SUCH_VARIABLE"}}))(t)
	writeIn(t, filepath.Dir(file), "printf '%s' '"+string(text)+"' > new; mv new environment.json")
	s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)

	writeIn(t, filepath.Dir(file), "printf '{' > environment.json")
	s.tellsOf(t, "environment_syntax")
	s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)

	s.runs(t, exitYes, "", "environment", "--to", file)
	s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	writeIn(t, filepath.Dir(file), "rm environment.json")
	s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentSidecar)
}

// TestEnvironmentFileWhoseDirectoryComesLater has the directories above the file come, go, and come back changed, in each
// mode.
func TestEnvironmentFileWhoseDirectoryComesLater(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "poll"} {
		t.Run(mode, func(t *testing.T) {
			w, base := workspaceWith(t, needy), t.TempDir()
			s := startSidecar(t, w, "--platform-url", "off", "--watch", mode, "--environment-file", filepath.Join(base, "envd", "x", "env.json"))
			s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentSidecar)
			s.tellsOf(t, "environment_missing")

			const has, hasNot = `{"os":"linux","bins":["no-such-binary-here"],"env":["NO_SUCH_VARIABLE"]}`, `{"os":"linux"}`
			writeIn(t, base, "mkdir -p envd/x; printf '%s' '"+has+"' > envd/x/env.json")
			s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)
			for _, dir := range []string{"envd", "envd/x"} {
				writeIn(t, base, "mv "+dir+" away")
				s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentSidecar)
				writeIn(t, base, "mv away "+dir)
				s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)
				writeIn(t, base, "printf '%s' '"+hasNot+"' > envd/x/env.json")
				s.judged(t, "needy", pannier.StateIneligible, pannier.EnvironmentFile)
				writeIn(t, base, "printf '%s' '"+has+"' > envd/x/env.json")
				s.judged(t, "needy", pannier.StateEligible, pannier.EnvironmentFile)
			}
		})
	}
}

// TestWorkspaceChanges edits config.yaml and the files of the system prompt while the sidecar runs, without a resync.
func TestWorkspaceChanges(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("pdf", "Reads it.")+"printf 'You are a desk.\n' > system-prompt.md")
	s := startSidecar(t, w, "--platform-url", "off")

	s.write(t, `printf 'name: Other desk\nversion: "1.0"\nruntime: crewai\ntier: 4\nsomething: new\nprompt_files: [prompts/one.md, system-prompt.md]\n' > new; mv new config.yaml`)
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
	w := workspaceWith(t, `printf 'name: Desk\nruntime: langgraph\n' > config.yaml; for runtime in langgraph crewai; do mkdir -p skills/$runtime; printf -- '---\nname: %s\ndescription: Is one.\nruntime: %s\n---\nDo it.\n' $runtime $runtime > skills/$runtime/SKILL.md; done`)
	report := filepath.Join(shortDir(t), "environment.json")
	s := startSidecar(t, w, "--platform-url", "off", "--environment-file", report)
	runs := func(fits, other string) {
		t.Helper()
		s.standsAt(t, fits, pannier.StateEligible)
		s.standsAt(t, other, pannier.StateIneligible, pannier.ReasonRuntimeIncompatible)
	}
	runs("langgraph", "crewai")
	s.write(t, `printf 'name: Desk\nruntime: crewai\n' > new; mv new config.yaml`)
	s.tellsOf(t, "config_restart_needed")
	runs("langgraph", "crewai")
	must(s.PutEnvironment(t.Context(), pannier.Environment{OS: "linux", Arch: "amd64"}))(t)
	runs("crewai", "langgraph")
	if h, err := s.Health(t.Context()); err != nil || slices.ContainsFunc(h.Conditions, func(c pannier.Condition) bool { return c.Code == "config_restart_needed" }) {
		t.Errorf("health after the report: %+v, %v", h.Conditions, err)
	}
	s.write(t, `printf 'name: Desk\nruntime: langgraph\n' > new; mv new config.yaml`)
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
			w := workspaceWith(t, "mkdir -p q/r n/r; printf 'Old.\n' > q/r/b.md; printf 'New.\n' > n/r/b.md; printf 'prompt_files: [q/r/b.md]\n' >> config.yaml")
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
