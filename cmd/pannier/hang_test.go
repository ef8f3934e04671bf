package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"pannier"
)

// TestDiskHangs has the disk of the workspace stop answering: what was read is served, health and /livez tell the same, and
// SIGTERM ends the process although the kernel does not let a thread of it go.
func TestDiskHangs(t *testing.T) {
	t.Parallel()
	d := diskWithSkill(t)
	s := startSidecar(t, d.dir, "--platform-url", "off", "--resync", "200ms", "--state-dir", shortDir(t))
	s.serves(t, "one", number(0))
	if n := s.metric(t, `pannier_health_conditions{code="looks_overdue"}`); n != 0 {
		t.Errorf("%v looks are overdue", n)
	}
	d.hang(t)
	for range 2 { // livenessGrace alone is as long as the patience of a test
		if s.overdue(t) {
			break
		}
	}
	if status := s.status(t, "/livez"); status != http.StatusServiceUnavailable {
		t.Fatalf("/livez: %d", status)
	}
	h, err := s.Health(t.Context())
	if err != nil || h.Status != pannier.HealthFailing || !strings.Contains(fmt.Sprint(h.Conditions), "looks_overdue") {
		t.Errorf("/livez says no, and health %+v, %v", h, err)
	}
	if n := s.metric(t, `pannier_health_conditions{code="looks_overdue"}`); n != 1 {
		t.Errorf("%v looks are overdue", n)
	}
	s.serves(t, "one", number(0))
	s.endsWhileHanging(t, d)
}

// overdue waits until /livez says no, for as long as tests wait, and reports whether it does.
func (s *sidecarUnderTest) overdue(t *testing.T) bool {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		select {
		case <-late:
			return false
		case <-tick.C:
			if s.status(t, "/livez") == http.StatusServiceUnavailable {
				return true
			}
		}
	}
}

// ask has a path answered, whatever the answer is, within the patience of a test.
func (s *sidecarUnderTest) ask(t *testing.T, path string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier"+path, http.NoBody))(t)
	res, err := s.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// endsWhileHanging terminates a sidecar that waits for a disk. What is left of the process then is the thread that the
// kernel does not let go before the disk answers.
func (s *sidecarUnderTest) endsWhileHanging(t *testing.T, d *hangingDisk) {
	t.Helper()
	need(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.logs(t, "stopped: cause=")
	if !strings.Contains(s.log.String(), "ending without it") || !strings.Contains(s.log.String(), "left=") {
		t.Error("the log does not say what has not ended")
	}
	if _, err := os.Lstat(s.socket); err == nil {
		t.Error("the socket is left behind")
	}
	d.answer()
	if err := <-s.done; err != nil {
		t.Errorf("the process ended with %v", err)
	}
	s.done <- nil
}

// startHanging runs a sidecar on a disk that does not answer, and waits until the sidecar does.
func startHanging(t *testing.T, d *hangingDisk) *sidecarUnderTest {
	t.Helper()
	s := atSocket(t, d.dir)
	s.process = start(t, "run", "--workspace", d.dir, "--workspace-id", testWorkspaceID, "--socket", s.socket, "--state-dir", shortDir(t),
		"--environment-own", "block", "--platform-url", "off", "--resync", "1s")
	d.answersAtTheEnd(t)
	eventually(t, "the socket answers", func() error {
		return s.ask(t, "/healthz")
	})
	return s
}

// TestDiskHangsAtTheStart has a sidecar begin on a disk that does not answer: it answers itself, and ends when it is told.
func TestDiskHangsAtTheStart(t *testing.T) {
	t.Parallel()
	d := diskWithSkill(t)
	d.hang(t)
	s := startHanging(t, d)
	socket := s.socket
	checkProbe(t, socket, exitNo, "the first scan of the workspace has not ended", "--startup")
	checkProbe(t, socket, exitYes, "", "--live")
	if c := s.tellsOf(t, "starting"); c.Subject != d.dir {
		t.Errorf("condition %+v", c)
	}
	if text, err := s.Metrics(t.Context()); err != nil || !strings.Contains(text, "\npannier_ready 0\n") {
		t.Errorf("the metrics do not say that it is not ready: %v", err)
	}
	if _, err := s.Skills(t.Context(), "", false); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("a list before the first look: %v", err)
	}
	s.endsWhileHanging(t, d)
}

// TestDiskAnswersAfterAll is hung at the start and healed.
func TestDiskAnswersAfterAll(t *testing.T) {
	t.Parallel()
	d := diskWithSkill(t)
	d.hang(t)
	s := startHanging(t, d)
	d.answer()
	s.serves(t, "one", number(0))
	if h, err := s.Health(t.Context()); err != nil || h.Status != pannier.HealthOK {
		t.Errorf("health %+v, %v", h, err)
	}
	s.stops(t)
}

// TestFaultDiskElsewhereHangs has a disk stop answering that is none of the sidecar's, while one runs and when one starts.
func TestFaultDiskElsewhereHangs(t *testing.T) {
	t.Parallel()
	d := mountDisk(t, map[string]string{"/file": "text"})
	w, _ := oneSkill(t)
	s := startFault(t, w, "--resync", "1s")
	s.serves(t, "one", number(0))
	d.hang(t)
	writeIn(t, w, skillScript("two", "Comes meanwhile."))
	s.serves(t, "two", "Comes meanwhile.")
	other := startFault(t, w)
	other.serves(t, "two", "Comes meanwhile.")
	d.answer()
}
