package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pannier"
	"pannier/loader/fingerprint"
	"pannier/tools/runner"
)

// hubUnderTest is a sidecar's side of the connection of a runner, within the test.
type hubUnderTest struct {
	*runner.Hub
	socket, dir string
}

func startHub(t testing.TB) *hubUnderTest {
	t.Helper()
	dir := must(os.MkdirTemp("", "run"))(t)
	h := &hubUnderTest{Hub: runner.NewHub("", nil), socket: filepath.Join(dir, "s"), dir: dir}
	ln, err := net.Listen("unix", h.socket)
	if err == nil {
		err = errors.Join(os.Chmod(h.socket, 0o777), os.Chmod(dir, 0o777))
	}
	need(t, err)
	stop, cancel := context.WithCancel(context.Background())
	var open sync.WaitGroup
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		if err := h.Accept(w, r, stop); err != nil {
			w.WriteHeader(http.StatusConflict)
		}
	})}
	go server.Serve(ln)
	t.Cleanup(func() {
		cancel()
		server.Close()
		open.Wait()
		os.RemoveAll(dir)
	})
	return h
}

// runnerArgs starts a runner whose private directory is below that of the hub.
func (h *hubUnderTest) runnerCommand(args ...string) *exec.Cmd {
	return exec.Command(binary, append([]string{"runner", "--socket", h.socket, "--dir", h.dir}, args...)...)
}

func (h *hubUnderTest) await(t testing.TB) {
	t.Helper()
	until(t, "the runner connects", func() bool { return h.Report().Connected })
}

// shellJob is a call of a tool that runs a command in a new skill.
func (h *hubUnderTest) shellJob(t testing.TB, command ...string) pannier.ToolJob {
	t.Helper()
	dir := filepath.Join(h.dir, "skill")
	need(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("text"), 0o644)))
	root := must(os.OpenRoot(dir))(t)
	defer root.Close()
	p := must(fingerprint.Of(t.Context(), root, ".", fingerprint.Options{Manifest: true}))(t)
	return pannier.ToolJob{
		ID: "c", Name: "skill.a.b", Kind: pannier.RuntimeShell, Skill: "a", SkillDir: dir, Files: p.Manifest, Fingerprint: p.Digest, Command: command,
		Arguments: json.RawMessage(`{}`), Timeout: time.Minute, Sandbox: pannier.SandboxRequired,
	}
}

// needsSandbox skips a test where the kernel has no sandbox.
func needsSandbox(t testing.TB) pannier.RunnerReport {
	t.Helper()
	check := command("runner", "--check", "--json")
	out, err := check.Output()
	var report pannier.RunnerReport
	if bad := json.Unmarshal(out, &report); bad != nil {
		t.Fatalf("%s, %v, %v", out, bad, err)
	}
	if err != nil {
		t.Skipf("this kernel has no sandbox: %v", report.Missing)
	}
	return report
}

// users are root, if this is root, and an ordinary user.
func users() map[string]func(*exec.Cmd) *exec.Cmd {
	all := map[string]func(*exec.Cmd) *exec.Cmd{"own": func(cmd *exec.Cmd) *exec.Cmd { return cmd }}
	if os.Geteuid() == 0 {
		all["ordinary"] = func(cmd *exec.Cmd) *exec.Cmd {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
			return cmd
		}
	}
	return all
}

// TestRunner carries calls out in the built binary, and ends cleanly.
func TestRunner(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	for name, as := range users() {
		h := startHub(t)
		p := startProcess(t, as(h.runnerCommand()))
		h.await(t)
		var streamed bytes.Buffer
		got, err := h.Run(t.Context(), h.shellJob(t, "sh", "-c", "id -u; cat SKILL.md"), func(b []byte) { streamed.Write(b) })
		report := h.Report()
		if err != nil || !got.OK || got.Output != fmt.Sprintf("%d\ntext", report.ToolUID) || streamed.String() != got.Output || report.ToolUID == 0 || report.MaxCalls != 8 {
			t.Errorf("%s: %+v, %+v, %v, %+v", name, got, got.Error, err, report)
		}
		if code := p.terminate(t); code != 0 {
			t.Errorf("%s: it exits with %d", name, code)
		}
		if left, _ := filepath.Glob(filepath.Join(h.dir, "pannier-tools-*")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// TestRunnerIsKilled in the midst of a call: the call fails, the tool ends with the runner, and the next runner removes what is left.
func TestRunnerIsKilled(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	for name, as := range users() {
		h := startHub(t)
		p := startProcess(t, as(h.runnerCommand()))
		h.await(t)
		marker := strconv.Itoa(900_000 + os.Getpid()%90_000)
		started := sync.OnceFunc(p.kill)
		job := h.shellJob(t, "sh", "-c", "trap '' TERM HUP INT; (sleep "+marker+" &); echo started; sleep "+marker)
		got, err := h.Run(t.Context(), job, func([]byte) { started() })
		if err != nil || got.Error == nil || got.Error.Code != pannier.ToolRunnerGone {
			t.Errorf("%s: %+v, %+v, %v", name, got, got.Error, err)
		}
		isGone(t, marker)
		if left, _ := filepath.Glob(filepath.Join(h.dir, "pannier-tools-*")); len(left) != 1 {
			t.Errorf("%s: left %v", name, left)
		}
		next := startProcess(t, as(h.runnerCommand()))
		h.await(t)
		if left, _ := filepath.Glob(filepath.Join(h.dir, "pannier-tools-*")); len(left) != 1 {
			t.Errorf("%s: the next runner leaves %v", name, left)
		}
		next.terminate(t)
	}
}

// isGone waits until no process has an argument.
func isGone(t *testing.T, mark string) {
	t.Helper()
	eventually(t, "all processes of tools have ended", func() error {
		if left := processesWith(mark); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}

// processesWith returns the command lines of processes that have an argument.
func processesWith(argument string) (found []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		if args := strings.Split(string(text), "\x00"); slices.Contains(args, argument) {
			found = append(found, strings.Join(args, " "))
		}
	}
	return found
}

// TestIdleRunnerIsSmall measures the memory of a runner that has nothing to do.
func TestIdleRunnerIsSmall(t *testing.T) {
	needsSandbox(t)
	if detecting {
		t.Skip("the race detector takes memory")
	}
	h := startHub(t)
	p := startProcess(t, h.runnerCommand())
	h.await(t)
	if got, err := h.Run(t.Context(), h.shellJob(t, "true"), nil); err != nil || !got.OK {
		t.Fatalf("%+v, %+v, %v", got, got.Error, err)
	}
	eventually(t, "the memory of an idle runner is at most 12 MB", func() error {
		if size := residentMemory(t, p.cmd.Process.Pid); size > 12<<20 {
			return fmt.Errorf("%d bytes", size)
		}
		return nil
	})
	eventually(t, "the processes that wait for the next call have at most 4 MB", func() error {
		waiting := below(t, p.cmd.Process.Pid)
		if size := ownMemory(waiting); size > 4<<20 || size == 0 {
			return fmt.Errorf("%d bytes in %v", size, waiting)
		}
		return nil
	})
}

// below returns the processes below another one.
func below(t testing.TB, pid int) (found []int) {
	t.Helper()
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for _, child := range strings.Fields(string(text)) {
			pid := must(strconv.Atoi(child))(t)
			found = append(append(found, pid), below(t, pid)...)
		}
	}
	return found
}

// ownMemory is what processes have for themselves, their share of what several have, and nothing of files.
func ownMemory(pids []int) (size int) {
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); fields[0] == "Pss_Anon:" {
				kB, _ := strconv.Atoi(fields[1])
				size += kB << 10
			}
		}
	}
	return size
}

func residentMemory(t testing.TB, pid int) int {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)))(t)
	pages := must(strconv.Atoi(strings.Fields(string(text))[1]))(t)
	return pages * os.Getpagesize()
}

// TestSupervisorStartsEarly, before the tables of other packages are initialized. The supervisor of this test has no order and exits.
func TestSupervisorStartsEarly(t *testing.T) {
	t.Parallel()
	trace := func(command string) string {
		cmd := exec.Command(binary, command)
		cmd.Env = append(cleanEnviron(), "GODEBUG=inittrace=1")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	late := []string{"init main @", "init regexp @", "init net/http @"}
	whole, supervisor := trace("version"), trace("sandbox-exec")
	for _, line := range late {
		if !strings.Contains(whole, line) {
			t.Errorf("pannier version does not trace %q: %s", line, whole)
		}
		if strings.Contains(supervisor, line) {
			t.Errorf("the supervisor traces %q: %s", line, supervisor)
		}
	}
	if !strings.Contains(supervisor, "init syscall @") {
		t.Errorf("the supervisor traces %s", supervisor)
	}
}

func TestRunnerCheck(t *testing.T) {
	t.Parallel()
	report := needsSandbox(t)
	check := func(args ...string) *exec.Cmd {
		cmd := command(append([]string{"runner", "--check"}, args...)...)
		return cmd
	}
	out, err := check().CombinedOutput()
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("ABI %d", report.Landlock)) || !strings.Contains(string(out), "required") {
		t.Errorf("%s, %v", out, err)
	}
	shims := t.TempDir() // out of the sandbox
	need(t, os.WriteFile(filepath.Join(shims, "python3"), []byte("#!/bin/sh\n"), 0o755))
	cmd := check()
	cmd.Env = append(cmd.Env, "PATH="+shims+":/usr/bin:/bin")
	if out, err = cmd.CombinedOutput(); err != nil || strings.Contains(string(out), shims) {
		t.Errorf("%s, %v", out, err)
	}
	cmd = check("--dir", "/proc")
	out, err = cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUnknown || !strings.Contains(string(out), "hint: name a directory") {
		t.Errorf("%s, %v", out, err)
	}
}

// BenchmarkRunnerCall measures a call of a program that does nothing, from the sidecar's side of the connection to the result.
func BenchmarkRunnerCall(b *testing.B) {
	needsSandbox(b)
	for _, atOnce := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d at once", atOnce), func(b *testing.B) {
			h := startHub(b)
			defer startProcess(b, h.runnerCommand()).terminate(b)
			h.await(b)
			job := h.shellJob(b, "true")
			if got, err := h.Run(b.Context(), job, nil); err != nil || !got.OK { // with the copy
				b.Fatalf("%+v, %v", got.Error, err)
			}
			var mu sync.Mutex
			var took []time.Duration
			for b.Loop() {
				var all sync.WaitGroup
				for range atOnce {
					all.Go(func() {
						began := time.Now()
						got, err := h.Run(b.Context(), job, nil)
						if err != nil || !got.OK {
							b.Errorf("%+v, %v", got.Error, err)
						}
						mu.Lock()
						took = append(took, time.Since(began))
						mu.Unlock()
					})
				}
				all.Wait()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50/call")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99/call")
		})
	}
}
