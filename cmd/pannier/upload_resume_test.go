package main

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"pannier"
	"pannier/publish/client"
)

// seedEnv repeats a test that failed with a seed.
const seedEnv = "PANNIER_TEST_SEED"

// chance is where a test takes what is random from; its seed is in the output.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseInt(os.Getenv(seedEnv), 10, 64)
	if err != nil {
		seed = time.Now().UnixNano()
	}
	t.Logf("%s=%d", seedEnv, seed)
	return rand.New(rand.NewSource(seed))
}

// journey has archives go in over connections that are cut off within a frame, and out again.
type journey struct {
	t    *testing.T
	s    *sidecarUnderTest
	args []string
	*rand.Rand
	cuts int // how many connections were cut off in the midst of an upload
}

// TestUploadsThatAreCutOff are gone on with, a hundred times in a row; now and then the sidecar is killed too.
func TestUploadsThatAreCutOff(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	w, stateDir := newWorkspace(t), t.TempDir()
	args := []string{"--platform-url", "off", "--state-dir", stateDir, "--log-level", "warn"}
	j := &journey{t: t, args: args, s: startSidecar(t, w, args...), Rand: chance(t)}
	for n := range rounds {
		j.round(n)
		if t.Failed() {
			t.Fatalf("in round %d", n)
		}
	}
	t.Logf("%d connections were cut off", j.cuts)
	if j.cuts < rounds/2 {
		t.Errorf("%d connections were cut off in %d rounds: the test does not do what it should", j.cuts, rounds)
	}
	left, err := filepath.Glob(filepath.Join(stateDir, "*", "uploads", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left of uploads: %v, %v", left, err)
	}
}

func (j *journey) round(n int) {
	j.t.Helper()
	slug, version := fmt.Sprintf("moved-%d", n), fmt.Sprintf("0.0.%d", n)
	noise := make([]byte, 50_000+j.Intn(250_000))
	j.Read(noise)
	archive := packed(map[string]string{slug + "/SKILL.md": skillFile(slug, version), slug + "/noise.bin": string(noise)})
	p := dialPeer(j.t, j.s.socket)
	id, err := p.start(archive)
	need(j.t, err)
	p = j.arrive(p, id, archive, n%10 == 9)
	defer p.close()
	need(j.t, p.finish(id))
	m, err := p.install(id)
	if err != nil || m.Status != "installed" || m.Skill.Version != version {
		j.t.Fatalf("%+v, %v", m, err)
	}
	j.holds(slug, version, noise)
	if m, err := p.uninstall(slug); err != nil || m.Status != "uninstalled" {
		j.t.Fatalf("%+v, %v", m, err)
	}
	j.gone(slug)
}

// arrive sends an archive until all of it is there. The first connection is cut off, and some of those that follow.
func (j *journey) arrive(p *peer, id string, archive []byte, kill bool) *peer {
	j.t.Helper()
	chunk := 16<<10 + j.Intn(112<<10)
	p.wire.cutAfter(1 + j.Int63n(int64(len(archive))))
	for offset := 0; ; {
		err := p.send(id, archive, offset, chunk)
		if err == nil {
			p.wire.cutAfter(uncut) // it may be cut off behind the last chunk else
			return p
		}
		if !p.wire.wasCut() {
			j.t.Fatal(err)
		}
		j.cuts++
		p.close()
		if kill {
			j.s.process.kill()
			j.s = startSidecar(j.t, j.s.workspace, j.args...)
		}
		p = dialPeer(j.t, j.s.socket)
		if offset, err = p.nextOffset(id); err != nil || offset > len(archive) {
			j.t.Fatalf("next offset %d, %v", offset, err)
		}
		if kill = false; j.Intn(3) == 0 {
			p.wire.cutAfter(1 + j.Int63n(int64(len(archive))))
		}
	}
}

// nextOffset asks where an upload goes on.
func (p *peer) nextOffset(id string) (int, error) {
	var stands struct {
		Next int `json:"next_offset"`
	}
	err := p.call("skills/upload/status", map[string]any{"upload_id": id}, &stands)
	return stands.Next, err
}

// holds checks that a skill is served, and lies on disk as it was sent.
func (j *journey) holds(slug, version string, noise []byte) {
	j.t.Helper()
	e, err := j.s.entry(j.t, slug)
	if err != nil || e.Version != version || e.State != pannier.StateEligible {
		j.t.Errorf("%+v, %v", e, err)
	}
	got, err := os.ReadFile(filepath.Join(j.s.workspace, "skills", slug, "noise.bin"))
	if err != nil || sumOf(got) != sumOf(noise) {
		j.t.Errorf("%d bytes on disk, %v", len(got), err)
	}
}

// gone checks that a skill is neither served nor on disk.
func (j *journey) gone(slug string) {
	j.t.Helper()
	if _, err := j.s.Skill(j.t.Context(), slug, ""); !isNotFound(err) {
		j.t.Errorf("an uninstalled skill is served: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(j.s.workspace, "skills", slug)); !errors.Is(err, os.ErrNotExist) {
		j.t.Error(err)
	}
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status == 404
}

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
