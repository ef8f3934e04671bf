package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pannier"
)

// TestProbeAsksWhateverTheSettings: settings that somebody breaks while the sidecar runs must not have it restarted.
func TestProbeAsksWhateverTheSettings(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	broken := filepath.Join(t.TempDir(), "p.yaml")
	need(t, os.WriteFile(broken, []byte("settle: [\n"), 0o600))
	sound := filepath.Join(t.TempDir(), "p.yaml")
	need(t, os.WriteFile(sound, []byte("socket: "+s.socket+"\nsettle: rubbish\n"), 0o600))
	for _, tt := range []struct {
		name    string
		environ []string
		flags   []string
		code    int
	}{
		{"a broken file", []string{"PANNIER_CONFIG=" + broken}, []string{"--socket", s.socket}, exitYes},
		{"no file", []string{"PANNIER_CONFIG=" + broken + "-not"}, []string{"--socket", s.socket}, exitYes},
		{"the socket in a variable", []string{"PANNIER_CONFIG=" + broken, "PANNIER_SOCKET=" + s.socket}, nil, exitYes},
		{"another setting", []string{"PANNIER_SETTLE=rubbish", "PANNIER_RUBBISH=1"}, []string{"--socket", s.socket}, exitYes},
		{"the socket in the file", []string{"PANNIER_CONFIG=" + sound}, nil, exitYes},
		{"nobody names the socket", []string{"PANNIER_CONFIG=" + broken}, nil, exitUnknown},
	} {
		cmd := exec.Command(binary, append([]string{"probe", "--live"}, tt.flags...)...)
		cmd.Env = append(cleanEnviron(), tt.environ...)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code {
			t.Errorf("%s: exit code %d, want %d: %v\n%s", tt.name, code, tt.code, err, out)
		}
	}
}

// TestUploadsThatCanNotBeUsed: nothing can be installed, and skills are served.
func TestUploadsThatCanNotBeUsed(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"mkfifo uploads", "touch uploads", "mkdir uploads; chmod 0 uploads", "mkdir -p rehearsals/kept/x; chmod 0 rehearsals/kept"} {
		stateDir := t.TempDir()
		t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwX", stateDir).Run() })
		writeIn(t, stateDir, "mkdir -m 700 "+testWorkspaceID+"; cd "+testWorkspaceID+"; "+script)
		w := workspaceWith(t, skillScript("one", "number 1"))
		s := startUnprivileged(t, w, "--state-dir", stateDir)
		s.serves(t, "one", number(1))
		if c := s.tellsOf(t, "installs_unavailable"); c.Severity != pannier.SeverityWarning {
			t.Errorf("%s: condition %+v", script, c)
		}
		cmd := command("install", filepath.Join(w, "skills/one"), "--socket", s.socket, "--workspace", w)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "the directory for uploads cannot be used") || !strings.Contains(string(out), "hint: make what lies there a directory") {
			t.Errorf("%s: install: %v\n%s", script, err, out)
		}
		if code := s.terminate(t); code != exitYes {
			t.Errorf("%s: exit code %d", script, code)
		}
	}
}

// TestWebConfigThatIsNoFile is told, not waited for.
func TestWebConfigThatIsNoFile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "web.yml")
	need(t, syscall.Mkfifo(fifo, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "run", "--workspace", newWorkspace(t), "--socket", filepath.Join(shortDir(t), "s"),
		"--state-dir", "none", "--platform-url", "off", "--listen", "127.0.0.1:0", "--web-config", fifo)
	cmd.Env = cleanEnviron()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUnknown || !strings.Contains(string(out), "not a regular file") || !strings.Contains(string(out), "hint: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSocketHints has a hint for each way in which there can be no socket.
func TestSocketHints(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	writeIn(t, dir, "touch file; mkdir left closed; chmod 0555 closed; touch left/s.lock; chmod 0 left/s.lock")
	for _, tt := range []struct{ name, socket, hint string }{
		{"a file on the way", dir + "/file/s", "a part of the path is a file"},
		{"a file that is no socket", dir + "/file", "remove " + dir + "/file"},
		{"read-only", "/proc/sys/none/s", ""},
		{"a lock of another user", dir + "/left/s", "remove it"},
		{"a directory of another user", dir + "/closed/s", "make " + dir + "/closed/s writable"},
	} {
		args := unprivileged(t, binary, "run", "--workspace", newWorkspace(t), "--socket", tt.socket, "--state-dir", "none", "--platform-url", "off")
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = cleanEnviron()
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUnknown || tt.hint != "" && !strings.Contains(string(out), tt.hint) {
			t.Errorf("%s: %v, want %q\n%s", tt.name, err, tt.hint, out)
		}
	}
	try := exec.Command("unshare", "-Urm", "sh", "-euc", fmt.Sprintf(
		`mount -t tmpfs -o ro none %[1]s/closed; exec %[2]s run --workspace / --socket %[1]s/closed/s --state-dir none --platform-url off`, dir, binary))
	try.Env = cleanEnviron()
	out, err := try.CombinedOutput()
	if code := try.ProcessState.ExitCode(); code != exitUnknown {
		t.Skipf("nothing can be mounted here: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "hint: the file system can only be read") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUmaskThatTakesEverything leaves the lock such that a second process can tell whose it is.
func TestUmaskThatTakesEverything(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(shortDir(t), "s")
	args := unprivileged(t, "sh", "-c", `umask 0777; exec "$0" "$@"`,
		binary, "run", "--workspace", newWorkspace(t), "--socket", socket, "--state-dir", "none", "--platform-url", "off")
	startCommand(t, "/", args[0], args[1:]...)
	eventually(t, "the sidecar listens", func() error {
		_, err := os.Lstat(socket)
		return err
	})
	second := exec.Command(args[0], args[1:]...)
	second.Env = cleanEnviron()
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another process is listening there") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFrontBeforeTheSidecar answers what can be answered, and refuses the rest as it does before the first look.
func TestFrontBeforeTheSidecar(t *testing.T) {
	t.Parallel()
	d := diskWithSkill(t)
	d.hang(t)
	s := startHanging(t, d)
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/livez": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/metrics": http.StatusOK, "/v1/health": http.StatusOK,
		"/v1/skills": http.StatusServiceUnavailable, "/v1/skills/one?path=x": http.StatusServiceUnavailable, "/v1/rpc": http.StatusServiceUnavailable,
		"/v1/events?follow=1": http.StatusServiceUnavailable, "/nothing": http.StatusServiceUnavailable,
	} {
		if status := s.status(t, path); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

// TestSigtermDuringTheStart ends a sidecar that waits for a disk to look at what is installed, and has the disk answer then.
func TestSigtermDuringTheStart(t *testing.T) {
	t.Parallel()
	d := diskWithSkill(t)
	d.hang(t)
	s := startHanging(t, d)
	eventually(t, "the start waits for the disk", d.waitedFor)
	need(t, s.cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, "the end has begun", func() error {
		conn, err := net.Dial("unix", s.socket)
		if err != nil {
			return nil
		}
		conn.Close()
		return errors.New("the socket answers")
	})
	d.answer()
	s.endedWell(t, "while a disk was waited for")
}

// waitedFor fails unless a goroutine waits for the disk.
func (d *hangingDisk) waitedFor() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) == 0 {
		return errors.New("no goroutine asks it")
	}
	return nil
}

// lookedInto fails unless a goroutine waits for a name on the disk. To list the directory that it is mounted in takes the
// attributes of its root only.
func (d *hangingDisk) lookedInto() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.ContainsFunc(d.kept, func(request []byte) bool { return native.Uint32(request[4:]) == fuseLookup }) {
		return errors.New("nobody asks for a name on it")
	}
	return nil
}

// endedWell waits for the end of a process that was told to end.
func (p *process) endedWell(t *testing.T, when string) {
	t.Helper()
	select {
	case <-p.done:
		p.done <- nil
	case <-time.After(patience):
		t.Fatalf("%s: the process does not stop", when)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != exitYes || strings.Contains(p.log.String(), "canceled") {
		t.Errorf("%s: exit code %d\n%s", when, code, p.log)
	}
}

// TestSigtermAtAnyMomentOfTheStart ends sidecars from the moment of their socket on, a little later each time.
func TestSigtermAtAnyMomentOfTheStart(t *testing.T) {
	t.Parallel()
	w, stateDir, dir := newWorkspace(t), t.TempDir(), shortDir(t)
	writeIn(t, w, skillScript("one", "Is read at the start."))
	tries := 60
	if testing.Short() {
		tries = 20
	}
	for n := range tries {
		socket := filepath.Join(dir, "s")
		p := start(t, "run", "--workspace", w, "--workspace-id", testWorkspaceID, "--socket", socket, "--state-dir", stateDir, "--platform-url", "off")
		eventually(t, "there is a socket", func() error {
			_, err := os.Lstat(socket)
			return err
		})
		later := time.Duration(n%20) * time.Millisecond
		<-time.After(later)
		need(t, p.cmd.Process.Signal(syscall.SIGTERM))
		p.endedWell(t, later.String()+" after the socket")
	}
}
