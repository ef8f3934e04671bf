package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

// waitedFor fails unless somebody waits for the disk.
func (d *hangingDisk) waitedFor() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept) == 0 {
		return errors.New("nobody asks it")
	}
	return nil
}

// lookedInto fails unless somebody waits for a name on the disk. Whoever lists the directory that it is mounted in asks for the
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
