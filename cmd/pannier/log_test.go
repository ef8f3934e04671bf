package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// startLoggingTo runs a sidecar whose log goes to a file of this process.
func startLoggingTo(t *testing.T, to *os.File, workspace string, args ...string) *sidecarUnderTest {
	t.Helper()
	s := atSocket(t, workspace)
	s.process = &process{cmd: exec.Command(binary, append([]string{
		"run", "--workspace", workspace, "--workspace-id", testWorkspaceID, "--socket", s.socket, "--state-dir", "none",
		"--environment-own", "block", "--settle", "50ms", "--debounce", "100ms", "--resync", "200ms",
	}, args...)...), done: make(chan error, 1), log: &lockedBuffer{}}
	s.cmd.Env, s.cmd.Stderr = cleanEnviron(), to
	need(t, s.cmd.Start())
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(s.process.kill)
	awaitReady(t, s.Client)
	return s
}

// pipeOf returns a pipe that holds as much as the kernel lets it hold at least.
func pipeOf(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	need(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	must(unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096))(t)
	return r, w
}

// flood has a sidecar log far more than its backlog holds.
func (s *sidecarUnderTest) flood(t *testing.T) {
	t.Helper()
	long := "/" + strings.Repeat("a-path-that-the-log-repeats-", 150)
	eventually(t, "lines are dropped", func() error {
		for range 200 {
			if err := s.ask(t, long); err != nil {
				return err
			}
		}
		if n := s.metric(t, "pannier_log_dropped_lines_total"); n == 0 {
			return fmt.Errorf("%v lines are dropped", n)
		}
		return nil
	})
}

// TestLogThatNobodyReads holds up nothing: skills are served, their card is pushed, and SIGTERM ends the process.
func TestLogThatNobodyReads(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	w := newWorkspace(t)
	_, to := pipeOf(t)
	s := startLoggingTo(t, to, w, "--log-level", "debug", "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t))
	s.flood(t)
	for i := range 40 {
		writeIn(t, w, skillScript(fmt.Sprintf("s%d", i), "One of many."))
	}
	s.servesCount(t, 40)
	s.acknowledged(t)
	if got := platform.received(); strings.Count(got[len(got)-1], "One of many.") != 40 {
		t.Errorf("the platform has %s", got[len(got)-1])
	}
	s.stops(t)
}

// TestLogThatIsReadAgain tells where lines are missing, and how many.
func TestLogThatIsReadAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ format, told string }{
		{"text", "[WARN]  pannier: log lines were dropped because the reader of the log is too slow: lines="},
		{"json", `"@message":"log lines were dropped because the reader of the log is too slow"`},
	} {
		r, to := pipeOf(t)
		s := startLoggingTo(t, to, newWorkspace(t), "--log-level", "debug", "--log-format", tt.format, "--platform-url", "off")
		to.Close()
		s.flood(t)
		read := &lockedBuffer{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			io.Copy(read, r)
		}()
		seen(t, read, tt.told)
		s.stops(t)
		<-ended
		if !strings.Contains(read.String(), "stopped") || !strings.HasSuffix(read.String(), "\n") {
			t.Error("the log does not go on to the end")
		}
	}
}

// TestLogWhoseReaderIsGone: a collector that ends is no reason to end.
func TestLogWhoseReaderIsGone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	r, to := pipeOf(t)
	s := startLoggingTo(t, to, w, "--platform-url", "off")
	to.Close()
	r.Close()
	writeIn(t, w, skillScript("one", "number 1"))
	s.serves(t, "one", number(1))
	writeIn(t, w, skillScript("one", "number 2"))
	s.serves(t, "one", number(2))
	if n := s.metric(t, "pannier_log_dropped_lines_total"); n == 0 {
		t.Error("no lines are counted, and nobody can read them")
	}
	s.stops(t)
}

// TestOutputWhoseReaderIsGone: other commands do end.
func TestOutputWhoseReaderIsGone(t *testing.T) {
	t.Parallel()
	r, to := pipeOf(t)
	r.Close()
	w := workspaceWith(t, skillScript("one", "number 1"))
	cmd := exec.Command(binary, "list", "--workspace", w)
	cmd.Env, cmd.Stdout = append(cleanEnviron(), "XDG_RUNTIME_DIR="+t.TempDir()), to
	err := cmd.Run()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGPIPE {
		t.Errorf("it ended with %v", err)
	}
}

// TestFatalErrorIsTold: what ends the process stands behind what was logged before it.
func TestFatalErrorIsTold(t *testing.T) {
	t.Parallel()
	w, stateDir := newWorkspace(t), t.TempDir()
	startSidecar(t, w, "--platform-url", "off", "--state-dir", stateDir)
	cmd := exec.Command(binary, "run", "--workspace", w, "--workspace-id", testWorkspaceID, "--state-dir", stateDir,
		"--socket", filepath.Join(shortDir(t), "s"), "--platform-url", "off")
	cmd.Env = cleanEnviron()
	out, err := cmd.CombinedOutput()
	stopped, told := bytes.Index(out, []byte("stopped")), bytes.Index(out, []byte("pannier: another sidecar keeps the state"))
	if err == nil || stopped < 0 || told < stopped {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestLogWhilePlatformIsDown has the hint once, however many requests fail for the same reason, and addresses as texts.
func TestLogWhilePlatformIsDown(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("pdf", "Reads it."))
	s := startSidecar(t, w, "--platform-url", "http://127.0.0.1:1", "--log-format", "json", "--log-level", "info", "--listen", "127.0.0.1:0")
	eventually(t, "the push fails for the fifth time, and the event stream is not followed", func() error {
		if log := s.log.String(); !strings.Contains(log, `"failures":5`) || !strings.Contains(log, "event stream not followed") {
			return errors.New("not yet")
		}
		return nil
	})
	log := s.log.String()
	if n := strings.Count(log, `"hint":"check the platform's url`); n != 1 {
		t.Errorf("the hint is in the log %d times:\n%s", n, log)
	}
	if !strings.Contains(log, `"address":"127.0.0.1:`) {
		t.Errorf("no address in the log:\n%s", log)
	}
}

// TestSkillLogOfARun logs each line once, however often the workspace is scanned.
func TestSkillLogOfARun(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	writeIn(t, dir, skillScript("one", "One.")+skillScript("other", "Other.")+skillScript("odd", "Odd.")+`
		sed -i 's/^description: Other.$/&\nruntime: hermes/' skills/other/SKILL.md
		sed -i 's/^description: Odd.$/&\nruntime: 123/' skills/odd/SKILL.md`)
	s := startSidecar(t, dir)
	s.settled(t)
	need(t, s.Rescan(t.Context()))
	s.write(t, skillScript("one", "Changed."))
	s.settled(t)
	s.logs(t, "skipping skill: skill=other") // the last line on the first snapshot
	s.loggedOnce(t, "[WARN]", "runtime of a skill is malformed: skill=odd", "skills/odd/SKILL.md:4")
	s.loggedOnce(t, "[INFO]", "skipping skill: skill=other", "runtime=[hermes] not compatible with current=langgraph")
	s.write(t, `printf -- '---\nname: [one\n---\nDo it.\n' > skills/broken; mkdir skills/two; mv skills/broken skills/two/SKILL.md`)
	s.logs(t, "skill is broken: skill=two")
	s.loggedOnce(t, "[WARN]", "skill is broken: skill=two", "hint=")
}
