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
	w, stateDir := newWorkspace(t), t.TempDir()
	writeIn(t, w, needy)
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
	w := newWorkspace(t)
	writeIn(t, w, needy)
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
			w, base := newWorkspace(t), t.TempDir()
			writeIn(t, w, needy)
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
