package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pannier/publish/client"
)

// BenchmarkEditToPlatform measures from the rename that ends an edit to the moment when the platform has the card, on the
// built binary with the shortest waits. The writer is this process, so that no fork is measured. What a deployment adds to it is
// settle. It takes more than a second for each edit: use -benchtime 100x.
func BenchmarkEditToPlatform(b *testing.B) {
	cards := make(chan string, 16)
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, `{"status":"updated"}`)
		cards <- string(text)
	}))
	defer platform.Close()
	dir := b.TempDir()
	socketDir := must(os.MkdirTemp("", "p"))(b)
	defer os.RemoveAll(socketDir)
	need(b, os.MkdirAll(filepath.Join(dir, "skills", "timed"), 0o755))
	sidecar := exec.Command(binary, "run", "--workspace", dir, "--workspace-id", testWorkspaceID, "--platform-url", platform.URL,
		"--socket", filepath.Join(socketDir, "s"), "--settle", "1us", "--state-dir", filepath.Join(socketDir, "state"), "--platform-follow=off", "--resync", "0", "--log-level", "error")
	sidecar.Env = cleanEnviron()
	need(b, sidecar.Start())
	defer sidecar.Wait()
	defer sidecar.Process.Kill()
	<-cards // the first, without a skill

	edited, n := filepath.Join(dir, "new"), 0
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		time.Sleep(time.Second + 100*time.Millisecond) // so that the push does not wait for the one before
		n++
		text := fmt.Sprintf("---\nname: timed\ndescription: Edit %d.\n---\nDo it.\n", n)
		need(b, os.WriteFile(edited, []byte(text), 0o600))
		b.StartTimer()
		began := time.Now()
		need(b, os.Rename(edited, filepath.Join(dir, "skills", "timed", "SKILL.md")))
		for want := fmt.Sprintf("Edit %d.", n); !strings.Contains(<-cards, want); {
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}

// BenchmarkListDirectory measures a command that reads a bare directory, start of the process included.
func BenchmarkListDirectory(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command(binary, "list", "--workspace", "../../examples/workspace")
		cmd.Env = append(cleanEnviron(), "PANNIER_SOCKET="+filepath.Join(b.TempDir(), "s"))
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}

// BenchmarkInstallLive measures from the last byte of an archive of 70 kB: to the answer of skills/install, to the list that
// shows the skill, and to its card at the registry endpoint, on the built binary with the waits of a deployment. Chunks, finish
// and install go over one WebSocket. What is reported are percentiles in milliseconds.
func BenchmarkInstallLive(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprintf("among=%d", others), func(b *testing.B) { benchmarkInstallLive(b, others) })
	}
}

func benchmarkInstallLive(b *testing.B, others int) {
	socket, cards := benchSidecar(b, others)
	p, c := dialPeer(b, socket), client.New(socket)
	defer p.close()
	defer c.Close()
	noise := make([]byte, 70_000)
	rand.New(rand.NewSource(1)).Read(noise)
	var answered, listed, acknowledged []time.Duration
	for n := 0; b.Loop(); n++ {
		version := fmt.Sprintf("0.0.%d", n)
		archive := packed(map[string]string{"it/SKILL.md": skillFile("it", version), "it/noise.bin": string(noise)})
		id, err := p.start(archive)
		if err == nil {
			err = p.send(id, archive[:len(archive)-1], 0, 1<<20)
		}
		need(b, err)
		start := time.Now()
		need(b, p.lastByte(id, archive))
		answered = append(answered, time.Since(start))
		list, err := c.Skills(b.Context(), "", true)
		if err != nil || len(list.Skills) != others+1 {
			b.Fatalf("%d skills, %v", len(list.Skills), err)
		}
		listed = append(listed, time.Since(start))
		acknowledged = append(acknowledged, cardWith(cards, "Is moved, as "+version+".").Sub(start))
		must(p.uninstall("it"))(b)
	}
	b.ReportMetric(0, "ns/op") // what an iteration takes is mostly what is not measured
	for name, took := range map[string][]time.Duration{"answered": answered, "listed": listed, "acknowledged": acknowledged} {
		slices.Sort(took)
		b.ReportMetric(inMilliseconds(took, 50), name+"-p50-ms")
		b.ReportMetric(inMilliseconds(took, 99), name+"-p99-ms")
	}
}

// pushed is a card at the moment when the endpoint has acknowledged it.
type pushed struct {
	card string
	at   time.Time
}

// cardWith waits for a card that holds a text, and says when it was acknowledged.
func cardWith(cards <-chan pushed, text string) time.Time {
	for {
		if p := <-cards; strings.Contains(p.card, text) {
			return p.at
		}
	}
}

func inMilliseconds(sorted []time.Duration, percent int) float64 {
	return sorted[(len(sorted)-1)*percent/100].Seconds() * 1000
}

// lastByte sends the last byte of an archive, and installs it.
func (p *peer) lastByte(id string, archive []byte) error {
	if err := p.send(id, archive, len(archive)-1, 1); err != nil {
		return err
	}
	if err := p.finish(id); err != nil {
		return err
	}
	_, err := p.install(id)
	return err
}

// benchSidecar runs a sidecar among so many other skills until the benchmark ends, and returns its socket and the cards that
// its platform takes.
func benchSidecar(b *testing.B, others int) (socket string, cards chan pushed) {
	b.Helper()
	cards = make(chan pushed, 1024)
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprint(w, `{"status":"updated"}`)
		cards <- pushed{string(text), time.Now()}
	}))
	b.Cleanup(platform.Close)
	workspace, dir := b.TempDir(), b.TempDir()
	for n := range others {
		at := filepath.Join(workspace, "skills", fmt.Sprintf("other-%d", n))
		need(b, os.MkdirAll(at, 0o755))
		need(b, os.WriteFile(filepath.Join(at, "SKILL.md"), []byte(skillFile(filepath.Base(at), "1")), 0o644))
	}
	short := must(os.MkdirTemp("", "p"))(b)
	b.Cleanup(func() { os.RemoveAll(short) })
	socket = filepath.Join(short, "s")
	ctx, cancel := context.WithCancel(context.Background())
	sidecar := exec.CommandContext(ctx, binary, "run", "--workspace", workspace, "--workspace-id", testWorkspaceID, "--platform-url", platform.URL,
		"--socket", socket, "--state-dir", dir, "--platform-follow=off", "--log-level", "error")
	sidecar.Env = cleanEnviron()
	need(b, sidecar.Start())
	b.Cleanup(func() { cancel(); _ = sidecar.Wait() })
	<-cards // the first
	return socket, cards
}
