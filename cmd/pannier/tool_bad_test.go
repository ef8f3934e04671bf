package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"

	"pannier"
)

// badScript is what tools that go wrong run. MARK is an argument of the processes that they leave.
const badScript = `#!/bin/sh
case $1 in
hold) sleep MARK;;
stubborn) trap '' TERM INT HUP; while :; do sleep MARK; done;;
bomb) while :; do sleep MARK & done;;
endless) yes;;
files) cd "$TMPDIR"; seq 10200 | xargs touch; sleep MARK;;
escapes) printf 'a\033[31mb\033]0;title\007c\rd\000e ghp'; printf '_%036d' 7;;
signal) kill -SEGV $$;;
children) (trap '' TERM HUP; setsid sleep MARK &); sleep MARK & (setsid sh -c 'sleep MARK & sleep MARK' &); echo left;;
*) for a; do echo "<$a>"; done;;
esac
`

// badSkill declares the tools. Those that never end have a short timeout, and the others one that fits a slow machine.
func badSkill(mark string) string {
	declared := "    - {tool_slug: strict, kind: shell, config: {command: [cat]}, parameters: {type: object, additionalProperties: false, required: [days], properties: {days: {type: integer}, text: {type: string}}}}\n" +
		"    - {tool_slug: queued, kind: shell, execution_class: exclusive, config: {command: [scripts/bad.sh, hold]}}\n"
	for _, name := range []string{"hold", "stubborn", "bomb", "endless", "files", "escapes", "signal", "children"} {
		timeout := 120_000
		if name == "stubborn" || name == "endless" {
			timeout = 1000
		}
		declared += fmt.Sprintf("    - {tool_slug: %[1]s, kind: shell, config: {timeout_ms: %[2]d, command: [scripts/bad.sh, %[1]s]}, output_policy: {storage: {mode: full}, timeline: {mode: full}}}\n", name, timeout)
	}
	return "mkdir -p skills/bad/scripts; cd skills/bad\ncat > SKILL.md <<'END'\n---\nname: bad\ndescription: Has tools that go wrong.\nruntime:\n  tools:\n" +
		declared + "---\nText\nEND\ncat > scripts/bad.sh <<'END'\n" + strings.ReplaceAll(badScript, "MARK", mark) + "END\nchmod 755 scripts/bad.sh\n"
}

// badCalls are calls that go wrong. One that is refused is not audited; a result is.
var badCalls = []struct {
	name, tool, arguments string
	code, says            string // of the error, or the output of a call without one
	refused, outlives     bool
}{
	{name: "missing", tool: "strict", arguments: `{}`, code: pannier.ToolArgumentsInvalid, says: "missing property 'days'", refused: true},
	{name: "type", tool: "strict", arguments: `{"days":"1"}`, code: pannier.ToolArgumentsInvalid, says: "/days: got string, want integer", refused: true},
	{name: "option", tool: "strict", arguments: `{"days":1,"--flag":1}`, code: pannier.ToolArgumentsInvalid, says: "additional properties '--flag'", refused: true},
	{name: "list", tool: "strict", arguments: `[1]`, code: pannier.ToolArgumentsInvalid, says: "not a JSON object", refused: true},
	{name: "large", tool: "strict", arguments: `{"days":1,"text":"` + strings.Repeat("a", 10<<20) + `"}`, code: "body_too_large", says: "more than 1048576 bytes", refused: true},
	{name: "deep", tool: "strict", arguments: `{"days":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, code: pannier.ToolArgumentsInvalid, says: "deeper than 64", refused: true},
	{name: "commands", tool: "strict", arguments: `{"days":1,"text":"--flag $(id);id\n\u0000"}`, says: `{"days":1,"text":"--flag $(id);id\n\u0000"}`},
	{name: "argv", tool: "bad-sh", arguments: `{"argv":["--flag","$(id)",";id","a\nb"]}`, says: "<--flag>\n<$(id)>\n<;id>\n<a\nb>\n"},
	{name: "nul", tool: "bad-sh", arguments: `{"argv":["a\u0000b"]}`, code: pannier.ToolArgumentsInvalid, says: "NUL"},
	{name: "stubborn", tool: "stubborn", code: pannier.ToolTimedOut, says: "was ended after 1s", outlives: true},
	{name: "endless", tool: "endless", code: pannier.ToolTimedOut, says: "was ended after 1s"},
	{name: "files", tool: "files", code: pannier.ToolOutputLimit, says: "more files than it may"},
	{name: "escapes", tool: "escapes", says: "abc\nde [masked]"},
	{name: "signal", tool: "signal", code: pannier.ToolSignal, says: "SIGSEGV"},
	{name: "children", tool: "children", says: "left\n", outlives: true},
	{name: "bomb", tool: "bomb", code: pannier.ToolFailed, says: "exited with code", outlives: true},
}

var marks atomic.Int64

// newMark returns a text that no other process has as an argument.
func newMark() string { return strconv.FormatInt(1_000_000*int64(os.Getpid())+marks.Add(1), 10) }

// onKernelWithout runs a function in a thread for which, and for whose children, the kernel refuses calls.
func onKernelWithout(t *testing.T, refused seccomp.SyscallGroup, run func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good, so that the thread ends with the goroutine
		filter := seccomp.Filter{NoNewPrivs: true, Policy: seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{refused}}}
		if err := seccomp.LoadFilter(filter); err != nil {
			t.Error(err)
			return
		}
		run()
	}()
	<-done
	if t.Failed() {
		t.FailNow()
	}
}

// noNamespaces and noLandlock are what a kernel, or the profile of a container, refuses.
var (
	noNamespaces = seccomp.SyscallGroup{Action: refusedAs(unix.EPERM), NamesWithCondtions: []seccomp.NameWithConditions{{
		Name: "clone", Conditions: seccomp.ArgumentConditions{{Operation: seccomp.BitsSet, Value: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID}},
	}}}
	noLandlock = seccomp.SyscallGroup{Action: refusedAs(unix.ENOSYS), Names: []string{"landlock_create_ruleset"}}
)

func refusedAs(errno unix.Errno) seccomp.Action { return seccomp.ActionErrno | seccomp.Action(errno) }

// calls calls a tool of the skill, by a name that the audit log has.
func (s *sidecarUnderTest) calls(ctx context.Context, tool, id, arguments string) (pannier.ToolResult, error) {
	return s.CallTool(ctx, "skill.bad."+tool, pannier.ToolCall{CallID: id, Arguments: json.RawMessage(arguments)})
}

// auditOf returns the phases that the audit log has of a call, oldest first, and the code of its outcome.
func (s *sidecarUnderTest) auditOf(t *testing.T, id string) (phases []pannier.AuditPhase, code string) {
	t.Helper()
	list, err := s.Audit(t.Context(), "bad", 100)
	if err != nil {
		t.Error(err)
	}
	for _, e := range slices.Backward(list.Entries) {
		var detail struct {
			CallID string `json:"call_id"`
			Code   string `json:"code"`
		}
		if text, err := json.Marshal(e.Detail); err != nil || json.Unmarshal(text, &detail) != nil || detail.CallID != id || e.Action != pannier.ActionCallTool {
			continue
		}
		phases, code = append(phases, e.Phase), detail.Code
	}
	return phases, code
}

// audited checks what the audit log has of a call: an intent and an outcome with a code, or nothing.
func (s *sidecarUnderTest) audited(t *testing.T, id, code string, refused bool) {
	t.Helper()
	var want []pannier.AuditPhase
	if !refused {
		want = []pannier.AuditPhase{pannier.AuditIntent, pannier.AuditOutcome}
	}
	if phases, got := s.auditOf(t, id); !slices.Equal(phases, want) || !refused && got != code {
		t.Errorf("%s: the audit log has %v with %q, want %v with %q", id, phases, got, want, code)
	}
}

// begun waits until a call runs.
func (s *sidecarUnderTest) begun(t *testing.T, id, mark string) {
	t.Helper()
	eventually(t, "the call runs", func() error {
		if phases, _ := s.auditOf(t, id); len(phases) != 1 || len(processesWith(mark)) == 0 {
			return fmt.Errorf("%v, %v", phases, processesWith(mark))
		}
		return nil
	})
}

// TestBadCalls makes the calls while one that never ends runs, as root and not, with namespaces and without.
func TestBadCalls(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	for name, as := range users() {
		for _, namespaces := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, namespaces %v", name, namespaces), func(t *testing.T) {
				mark := newMark()
				base, program := kindsWorkspace(t, badSkill(mark))
				var s *sidecarUnderTest
				begin := func() {
					s = startTools(t, base, program, as, "--tools-runner=self", "--tools-timeout=2m", "--tools-uid", fmt.Sprint(100_000+os.Getpid()))
				}
				if namespaces {
					begin()
				} else {
					onKernelWithout(t, noNamespaces, begin)
					if list, err := s.Tools(t.Context()); err != nil || len(list.Report.Namespaces) > 0 {
						t.Errorf("%+v, %v", list.Report, err)
					}
				}
				s.allow(t, "bad", "skill.bad.hold")
				s.tryBadCalls(t, mark, name == "own" && namespaces)
				isGone(t, mark)
			})
		}
	}
}

// tryBadCalls makes the calls; where not all are asked for, those that leave processes.
func (s *sidecarUnderTest) tryBadCalls(t *testing.T, mark string, all bool) {
	t.Helper()
	gone, leave := context.WithCancel(t.Context())
	defer leave()
	var held sync.WaitGroup
	for id, ctx := range map[string]context.Context{"canceled": t.Context(), "left": gone} {
		held.Go(func() {
			got, err := s.calls(ctx, "hold", id, `{}`)
			if code, hint := codeOfCall(got, err); id == "canceled" && (code != pannier.ToolCanceled || hint == "") {
				t.Errorf("canceled: %q, %q, %+v, %v", code, hint, got, err)
			}
		})
	}
	s.begun(t, "canceled", mark)
	s.begun(t, "left", mark)
	var tried sync.WaitGroup
	for _, tt := range badCalls {
		if !all && !tt.outlives {
			continue
		}
		if tt.tool == "bomb" { // without namespaces, it takes the processes of others with its user
			tried.Wait()
		}
		tried.Go(func() {
			got, err := s.calls(t.Context(), tt.tool, tt.name, tt.arguments)
			code, hint := codeOfCall(got, err)
			said := got.Output
			if err != nil {
				said = err.Error()
			} else if got.Error != nil {
				said = got.Error.Message
			}
			if code != tt.code || code != "" && hint == "" || (err != nil) != tt.refused || !strings.Contains(said, tt.says) || strings.ContainsRune(got.Output, 0x1b) {
				t.Errorf("%s: %q, %q, %.300q, %.300v", tt.name, code, hint, said, err)
			}
			s.audited(t, tt.name, tt.code, tt.refused)
		})
	}
	if _, err := s.Health(t.Context()); err != nil { // while they run
		t.Error(err)
	}
	if list, err := s.Tools(t.Context()); err != nil || len(list.Tools) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
	tried.Wait()
	if phases, _ := s.auditOf(t, "canceled"); len(phases) != 1 {
		t.Errorf("the call that never ends has ended: %v", phases)
	}
	if err := s.CancelTool(t.Context(), "canceled"); err != nil {
		t.Error(err)
	}
	leave()
	held.Wait()
	eventually(t, "the call whose caller has left is audited", func() error {
		if phases, _ := s.auditOf(t, "left"); len(phases) != 2 {
			return fmt.Errorf("%v", phases)
		}
		return nil
	})
	s.audited(t, "canceled", pannier.ToolCanceled, false)
	s.audited(t, "left", pannier.ToolCanceled, false)
	list, err := s.Audit(t.Context(), "bad", 100)
	text, _ := json.Marshal(list)
	if err != nil || strings.Contains(string(text), "ghp_") || strings.Contains(string(text), "u001b") {
		t.Errorf("the audit log has a secret or an escape: %s, %v", text, err)
	}
}

// TestCallsThatAreRefused waits: policy is changed, or the skill, while a call waits for another one.
func TestCallsThatAreRefused(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	mark := newMark()
	base, program := kindsWorkspace(t, badSkill(mark))
	s := startTools(t, base, program, users()["own"], "--tools-runner=self", "--tools-timeout=5m")
	s.allow(t, "bad", "skill.bad.queued")
	for name, tt := range map[string]struct {
		change, back func()
		codes        []string
	}{
		"policy": {
			func() { s.runs(t, exitYes, "", "policy", "set", "bad", "--tools=false") },
			func() { s.runs(t, exitYes, "", "policy", "set", "bad", "--tools=true") },
			[]string{pannier.ToolDisabled},
		},
		"skill": {
			func() { s.write(t, "echo '# changed' >> skills/bad/scripts/bad.sh") },
			func() {},
			[]string{pannier.ToolChanged, pannier.ToolNotAllowed, pannier.ToolUnscanned},
		},
	} {
		s.allow(t, "bad", "skill.bad.queued")
		var running, waiting sync.WaitGroup
		running.Go(func() { _, _ = s.calls(t.Context(), "queued", name+"-first", `{}`) })
		s.begun(t, name+"-first", mark)
		waiting.Go(func() {
			got, err := s.calls(t.Context(), "queued", name+"-second", `{}`)
			if code, hint := codeOfCall(got, err); !slices.Contains(tt.codes, code) || hint == "" {
				t.Errorf("%s: %q, %q, %+v, %v", name, code, hint, got, err)
			}
		})
		tt.change()
		if err := s.CancelTool(t.Context(), name+"-first"); err != nil {
			t.Error(err)
		}
		running.Wait()
		waiting.Wait()
		s.audited(t, name+"-first", pannier.ToolCanceled, false)
		s.audited(t, name+"-second", "", true)
		tt.back()
	}
	isGone(t, mark)
}

// TestCallsWithoutRecord are refused: the audit log cannot be written, or the state was lost.
func TestCallsWithoutRecord(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	mark := newMark()
	base, program := kindsWorkspace(t, badSkill(mark))
	begin := func() *sidecarUnderTest {
		return startTools(t, base, program, users()["own"], "--workspace-id", testWorkspaceID, "--tools-runner=self")
	}
	s := begin()
	s.allow(t, "bad", "skill.bad.hold")
	for _, tt := range []struct{ damage, code, says string }{
		{"mv */audit kept; : > */audit", "not_audited", "nothing was changed"},
		{"rm -r " + testWorkspaceID + "; : > " + testWorkspaceID, "state.lost", "state_lost"},
	} {
		s.terminate(t)
		writeIn(t, filepath.Join(base, "state"), strings.ReplaceAll(tt.damage, "*", testWorkspaceID))
		s = begin()
		eventually(t, "calls are refused with "+tt.code, func() error { // once the files have been read
			got, err := s.calls(t.Context(), "hold", "refused", `{}`)
			if code, hint := codeOfCall(got, err); code != tt.code || hint == "" || !strings.Contains(err.Error(), tt.says) {
				return fmt.Errorf("%q, %q, %+v, %v", code, hint, got, err)
			}
			return nil
		})
	}
	isGone(t, mark)
}

// TestCallsWithoutLandlock are refused, and the list says so.
func TestCallsWithoutLandlock(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	base, program := kindsWorkspace(t, badSkill(newMark()))
	var s *sidecarUnderTest
	onKernelWithout(t, noLandlock, func() { s = startTools(t, base, program, users()["own"], "--tools-runner=self") })
	eventually(t, "the list says what is missing", func() error {
		if out, code := s.run("tool", "allow", "bad"); code != exitYes {
			return fmt.Errorf("%s", out)
		}
		if out, _ := s.run("tool", "list"); !strings.Contains(out, pannier.ToolSandboxUnavailable) {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	got, err := s.calls(t.Context(), "hold", "refused", `{}`)
	if code, hint := codeOfCall(got, err); code != pannier.ToolSandboxUnavailable || hint == "" || !strings.Contains(err.Error(), "Landlock") {
		t.Errorf("%q, %q, %+v, %v", code, hint, got, err)
	}
	s.audited(t, "refused", "", true)
}

// TestCallsThatAreKilled with the runner, and then with the sidecar, leave no process and a true record.
func TestCallsThatAreKilled(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	mark := newMark()
	base, program := kindsWorkspace(t, badSkill(mark))
	args := []string{"--tools-runner=agent", "--tools-timeout=5m", "--tools-runner-uids", fmt.Sprint(os.Geteuid())}
	s := startTools(t, base, program, users()["own"], args...)
	runner := func() *process {
		return startProcess(t, exec.Command(program, "runner", "--socket", s.socket, "--dir", filepath.Join(base, "copies")))
	}
	r := runner()
	s.allow(t, "bad", "skill.bad.hold")
	var called sync.WaitGroup
	called.Go(func() {
		got, err := s.calls(t.Context(), "hold", "runner", `{}`)
		if code, hint := codeOfCall(got, err); code != pannier.ToolRunnerGone || hint == "" {
			t.Errorf("%q, %q, %+v, %v", code, hint, got, err)
		}
	})
	s.begun(t, "runner", mark)
	r.kill()
	called.Wait()
	s.audited(t, "runner", pannier.ToolRunnerGone, false)
	isGone(t, mark)
	runner()
	s.allow(t, "bad", "skill.bad.hold")
	called.Go(func() {
		if got, err := s.calls(t.Context(), "hold", "sidecar", `{}`); err == nil {
			t.Errorf("%+v", got)
		}
	})
	s.begun(t, "sidecar", mark)
	s.process.kill()
	called.Wait()
	isGone(t, mark)
	s = startTools(t, base, program, users()["own"], args...)
	s.audited(t, "sidecar", "", false)
}
