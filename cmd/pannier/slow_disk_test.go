package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pannier"
	"pannier/publish/client"
)

// diskDelay is how long each fsync and each fdatasync takes on a slow disk.
const diskDelay = 8 * time.Second

// promptly is how long an answer may take that must not wait for the disk. It is below diskDelay, and leaves room for a machine
// that does other work.
const promptly = 6 * time.Second

// startOnSlowDisk runs a sidecar whose every fsync and fdatasync is delayed by strace. It does not wait for anything.
func startOnSlowDisk(t *testing.T, workspace string, args ...string) *sidecarUnderTest {
	t.Helper()
	return startDelayed(t, "fsync,fdatasync", diskDelay, workspace, args...)
}

// startDelayed runs a sidecar whose every call of some system calls is delayed by strace. It does not wait for anything.
func startDelayed(t *testing.T, calls string, by time.Duration, workspace string, args ...string) *sidecarUnderTest {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("delaying calls needs strace")
	}
	// What -D traces is ended by SIGALRM where its tracer is not there within three seconds: a busy machine takes longer.
	delay := []string{
		"-c", `trap "" ALRM; exec "$@"`, "sh", strace, "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=" + calls,
		"-e", fmt.Sprintf("inject=%s:delay_enter=%d", calls, by.Microseconds()),
	}
	if out, err := exec.Command("sh", append(delay, "true")...).CombinedOutput(); err != nil {
		t.Skipf("strace cannot delay calls here: %v: %s", err, out)
	}
	s := atSocket(t, workspace)
	s.process = startBinary(t, "sh", append(append(delay, binary,
		"run", "--workspace", workspace, "--workspace-id", testWorkspaceID, "--socket", s.socket,
		"--environment-own", "block", "--resync", "0", "--debounce", "100ms", "--delete-grace", "0", "--log-level", "debug",
	), args...)...)
	return s
}

// delayStats delays each stat of the state directory and what is in it from now on.
func (s *sidecarUnderTest) delayStats(t *testing.T, stateDir string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("delaying stat needs strace")
	}
	const calls = "newfstatat,statx,fstat"
	args := []string{
		"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + calls, "-e", fmt.Sprintf("inject=%s:delay_enter=%d", calls, diskDelay.Microseconds()),
		"-p", strconv.Itoa(s.process.cmd.Process.Pid),
	}
	err = filepath.WalkDir(stateDir, func(path string, _ fs.DirEntry, err error) error {
		args = append(args, "-P", path)
		return err
	})
	need(t, err)
	tracer := startBinary(t, strace, args...)
	eventually(t, "strace is attached", func() error {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.cmd.Process.Pid))
		if err == nil && strings.Contains(string(status), "TracerPid:\t0\n") {
			err = errors.New("it is not")
		}
		select {
		case <-tracer.done:
			tracer.done <- nil
			t.Skipf("strace cannot attach here: %s", tracer.log)
		default:
		}
		return err
	})
	time.Sleep(200 * time.Millisecond) // to the other threads
}

// within fails the test where do does not succeed in time.
func (s *sidecarUnderTest) within(t *testing.T, limit time.Duration, what string, do func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begun := time.Now()
	err := do(ctx)
	for ; err != nil && ctx.Err() == nil; err = do(ctx) {
		time.Sleep(20 * time.Millisecond)
	}
	if took := time.Since(begun); err != nil || took > limit {
		t.Errorf("%s: %v after %s", what, err, took)
	}
}

// get succeeds where the answer of the socket does.
func (s *sidecarUnderTest) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier"+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := s.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

// answersPromptly asks what clients, monitoring and probes ask, and fails the test where an answer waits for the disk.
func (s *sidecarUnderTest) answersPromptly(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/v1/health", "/metrics", "/v1/skills", "/readyz", "/livez", "/healthz", "/v1/environment"} {
		s.within(t, promptly, path, func(ctx context.Context) error { return s.get(ctx, path) })
	}
	for _, command := range []string{"list", "probe"} {
		s.within(t, promptly, command, func(ctx context.Context) error {
			cmd := exec.CommandContext(ctx, binary, command, "--socket", s.socket)
			cmd.Env = cleanEnviron()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}
}

// goesLive writes a skill and fails the test where it is not served, told of and pushed promptly.
func (s *sidecarUnderTest) goesLive(t *testing.T, platform *recorder, name string) {
	t.Helper()
	s.write(t, skillScript(name, "Does not wait for the disk."))
	s.within(t, promptly, name+" is served", func(context.Context) error {
		_, err := s.entry(t, name)
		return err
	})
	s.within(t, promptly, name+" is pushed", func(context.Context) error {
		if cards := platform.received(); len(cards) == 0 || !strings.Contains(cards[len(cards)-1], name) {
			return fmt.Errorf("the platform received %d cards", len(cards))
		}
		return nil
	})
	s.within(t, promptly, "an event tells of "+name, func(ctx context.Context) error {
		found := false
		err := s.Events(ctx, client.EventQuery{}, func(e pannier.Event) error {
			found = found || strings.Contains(fmt.Sprintf("%s", e.Data), name)
			return nil
		})
		if err == nil && !found {
			err = errors.New("no event")
		}
		return err
	})
	s.within(t, promptly, "rescan", s.Rescan)
}

// TestSlowDisk delays each fsync and each fdatasync by eight seconds: the sidecar starts, answers, serves and pushes new
// skills without waiting for one, also while a policy change waits for the disk.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	stateDir := shortDir(t)
	w := workspaceWith(t, skillScript("first", "Is there before."))
	args := []string{"--state-dir", stateDir, "--platform-url", "http://" + platform.addr, "--platform-token-file", tokenFile(t)}
	for _, start := range []string{"new", "again"} {
		s := startOnSlowDisk(t, w, args...)
		s.within(t, promptly, "a "+start+" state directory: the sidecar is ready", func(ctx context.Context) error {
			_, err := s.Skills(ctx, "", false)
			return err
		})
		s.answersPromptly(t)
		s.goesLive(t, platform, start+"-one")
		changed := make(chan error, 1)
		go func() {
			_, err := s.SetPolicy(t.Context(), "first", "", pannier.PolicyChange{AllowImplicit: pannier.Toggle{Given: true, To: new(false)}})
			changed <- err
		}()
		time.Sleep(200 * time.Millisecond)
		s.answersPromptly(t)
		s.goesLive(t, platform, start+"-two")
		select {
		case err := <-changed:
			t.Errorf("a policy change was acknowledged before it reached the disk: %v", err)
		default:
		}
		s.process.kill()
		<-changed
	}
}

// TestSlowStats delays each stat of the state directory by eight seconds: the sidecar answers, serves and pushes new skills
// without waiting for one, also while a policy change waits for the disk.
func TestSlowStats(t *testing.T) {
	t.Parallel()
	platform := newRecorder(t)
	platform.up(t)
	stateDir := shortDir(t)
	w := workspaceWith(t, skillScript("first", "Is there before."))
	s := startSidecar(t, w, "--state-dir", stateDir, "--scan", "report", "--platform-url", "http://"+platform.addr, "--platform-token-file", tokenFile(t))
	s.goesLive(t, platform, "before")
	s.delayStats(t, stateDir)
	s.answersPromptly(t)
	s.goesLive(t, platform, "one")
	changed := make(chan error, 1)
	go func() {
		_, err := s.SetPolicy(t.Context(), "first", "", pannier.PolicyChange{AllowImplicit: pannier.Toggle{Given: true, To: new(false)}})
		changed <- err
	}()
	time.Sleep(200 * time.Millisecond)
	s.answersPromptly(t)
	s.goesLive(t, platform, "two")
	select {
	case err := <-changed:
		t.Errorf("a policy change was acknowledged before the place of its file was known: %v", err)
	default:
	}
	s.process.kill()
	<-changed
}

// TestSlowArming delays each arming of a directory: the first look does not wait for it, /readyz does, and what changes between
// the two is found without an event. It runs alone: what it asks has to be answered before everything is armed.
func TestSlowArming(t *testing.T) {
	w := workspaceWith(t, skillScript("first", "Is there before."))
	s := startDelayed(t, "inotify_add_watch", 2*time.Second, w, "--platform-url", "off", "--state-dir", "none")
	s.within(t, promptly, "the first look is served", func(context.Context) error {
		_, err := s.entry(t, "first")
		return err
	})
	if err := s.get(t.Context(), "/readyz"); err == nil {
		t.Error("ready before everything is watched")
	}
	h, err := s.Health(t.Context())
	if err != nil || len(h.Conditions) != 1 || h.Conditions[0].Code != "starting" || !strings.Contains(h.Conditions[0].Message, "watched") {
		t.Errorf("health while directories are armed: %+v, %v", h.Conditions, err)
	}
	writeIn(t, w, skillScript("first", "Changed meanwhile.")+skillScript("second", "Came meanwhile."))
	s.within(t, time.Minute, "ready", func(ctx context.Context) error { return s.get(ctx, "/readyz") })
	s.within(t, time.Minute, "what changed meanwhile is served", func(context.Context) error {
		if e, err := s.entry(t, "first"); err != nil || e.Description != "Changed meanwhile." {
			return fmt.Errorf("description %q, error %v", e.Description, err)
		}
		_, err := s.entry(t, "second")
		return err
	})
}

// TestSlowArmingOfFiles changes a file that no scan reads after the fingerprint and before the directory is armed.
func TestSlowArmingOfFiles(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("one", "Keeps its text."))
	s := startDelayed(t, "inotify_add_watch", 2*time.Second, w, "--platform-url", "off", "--state-dir", "none")
	s.hasFingerprint(t, "one")
	writeIn(t, w, "printf x > skills/one/notes")
	s.hasFingerprint(t, "one")
}
