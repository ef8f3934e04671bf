package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
