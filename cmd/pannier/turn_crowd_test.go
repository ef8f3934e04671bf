package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/publish/client"
)

// The crowd of TestCrowd, and what the sidecar may take of memory with it.
const (
	crowdStreams    = 1000 / crowdth
	crowdSlow       = 20 // of the streams, which leave what they are sent unread until they are dropped
	crowdWebSockets = 200 / crowdth
	crowdChanges    = 50
	crowdMemory     = 150 // MB
)

// TestCrowd has a thousand callers follow the events and two hundred the changes, while policy changes and a large skill is
// read. Each gets every event, once and in order, those who do not read too when they come back; all of them come back at
// once in the end; and the sidecar stays small.
func TestCrowd(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes both processors for some seconds")
	}
	needFiles(t, 2*2304) // for the whole of the sidecar's capacity
	w := newWorkspace(t)
	writeIn(t, w, "mkdir skills/large; { printf -- '---\\nname: large\\ndescription: Has much to say.\\nmetadata:\\n  notes: '; head -c 12000 /dev/zero | tr '\\0' x; printf '\\n---\\nDo it.\\n'; } > skills/large/SKILL.md")
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", filepath.Join(shortDir(t), "state"), "--log-level", "error")
	alone := resident(t, s.cmd.Process.Pid)

	crowd := gather(t, s.socket)
	t.Logf("resident: %.1f MB alone, %.1f MB with the crowd", alone, resident(t, s.cmd.Process.Pid))
	last := s.disturb(t)
	crowd.told(t, "every reader has every event", last, crowd.readers())
	crowd.informed(t, s)
	s.metricIs(t, "pannier_event_streams_dropped_total", crowdSlow)
	close(crowd.awake)
	crowd.told(t, "those who were dropped come back", last, crowd.streams)
	crowd.comeBack()
	crowd.told(t, "all of them come back at once", last, crowd.streams)
	if h, err := s.Health(t.Context()); err != nil || h.WorkspaceID != testWorkspaceID {
		t.Errorf("health in the crowd: %v", err)
	}
	most := resident(t, s.cmd.Process.Pid)
	t.Logf("resident at most: %.1f MB, %d events for each of %d streams", most, last, crowdStreams)
	if !detecting && most > crowdMemory {
		t.Errorf("the sidecar took %.1f MB", most)
	}
}

// disturb makes the changes, and returns the number of the event that tells of the last of them.
func (s *sidecarUnderTest) disturb(t *testing.T) (last uint64) {
	t.Helper()
	for i := range crowdChanges {
		change := pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: new(i%2 == 1)}}
		must(s.SetPolicy(t.Context(), "large", "", change))(t)
		if i%2 == 0 {
			continue // it can not be read now
		}
		must(s.Content(t.Context(), "large"))(t)
	}
	list := must(s.Skills(t.Context(), "", false))(t)
	eventually(t, "the last change is told", func() error {
		var told uint64
		err := s.Events(t.Context(), client.EventQuery{Types: []string{string(pannier.EventCatalogUpdated)}}, func(e pannier.Event) error {
			told, last = e.SnapshotVersion, e.Seq
			return nil
		})
		if err == nil && told != list.SnapshotVersion {
			err = fmt.Errorf("told of %d, of %d", told, list.SnapshotVersion)
		}
		return err
	})
	return last
}

// needFiles skips a test where a process may not open as many files, as this one and the sidecar both have to.
func needFiles(t *testing.T, n uint64) {
	t.Helper()
	var files unix.Rlimit
	need(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	if files.Cur < n { // Go raises the soft limit to the hard one at the start
		t.Skipf("a process may open %d files here, and this takes %d", files.Cur, n)
	}
}

// resident returns how many megabytes of memory a process has had at most: the high-water mark of the kernel.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes := must(strconv.ParseFloat(strings.Fields(rest)[0], 64))(t)
	return kilobytes / 1000
}
