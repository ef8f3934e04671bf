package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// maxResident is what a sidecar may take while many upload, in KiB.
const maxResident = 100 << 10

// TestManyUploadsAtATime have their bytes on disk and not in memory.
func TestManyUploadsAtATime(t *testing.T) {
	peers, size := 64/crowdth, 10<<20
	if testing.Short() {
		peers, size = 16/crowdth, 2<<20
	}
	stateDir := t.TempDir()
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--state-dir", stateDir, "--log-level", "warn", "--install-max-compressed-bytes", "268435456")
	archive := make([]byte, size)
	rand.New(rand.NewSource(1)).Read(archive)
	before := s.resident(t, "VmRSS")
	uploads := make([]*peer, peers)
	ids := make([]string, peers)
	for i := range uploads {
		uploads[i] = dialPeer(t, s.socket)
	}
	var all sync.WaitGroup
	for i, p := range uploads {
		all.Go(func() {
			var err error
			if ids[i], err = p.start(archive); err == nil {
				err = p.send(ids[i], archive, 0, 1<<20)
			}
			if err != nil {
				t.Errorf("peer %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	most := s.resident(t, "VmHWM")
	t.Logf("%d uploads of %d MiB: resident %d MiB before, %d MiB at most", peers, size>>20, before>>10, most>>10)
	if !detecting && most > maxResident {
		t.Errorf("resident %d KiB, of which %d are too many", most, most-maxResident)
	}
	for i, p := range uploads {
		var aborted struct{ Status string }
		if err := p.call("skills/upload/abort", map[string]any{"upload_id": ids[i]}, &aborted); err != nil || aborted.Status != "aborted" {
			t.Errorf("%+v, %v", aborted, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(stateDir, "*", "uploads", "*")); err != nil || len(left) > 0 {
		t.Errorf("left on disk: %v, %v", left, err)
	}
}

// resident returns what the kernel says of the memory of a process, in KiB.
func (p *process) resident(t *testing.T, field string) int {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)))(t)
	found := regexp.MustCompile(`(?m)^` + field + `:\s+(\d+) kB$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %s", field, text)
	}
	n := must(strconv.Atoi(string(found[1])))(t)
	return n
}
