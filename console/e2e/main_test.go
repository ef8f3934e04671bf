// Tests of the page in a real browser, against the built binary. Without Chromium they are skipped.
package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pannier/internal/testbench/browser"
	"pannier/internal/testbench/fixture"
	"pannier/publish/client"
)

// binary is the program that the tests run. It is built when the first test needs it.
var binary = sync.OnceValues(func() (string, error) {
	program := filepath.Join(buildDir, "pannier")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "pannier/cmd/pannier")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

var buildDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "pannier-console-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		buildDir = dir
		return m.Run()
	}())
}

// process is a running command of the binary.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// Write takes the output of the command.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// start runs a command until the test ends. Its output is shown where the test fails.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PANNIER_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("pannier %s:\n%.20000s", strings.Join(args, " "), p.output())
		}
	})
	return p
}

// stop ends the command, and waits for it.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(fixture.Patience):
		_ = p.cmd.Process.Kill()
		<-p.done
		t.Error("pannier did not end on SIGTERM")
	}
}

// world is a sidecar with a workspace.
type world struct {
	*client.Client
	dir, socket string
	args        []string
	sidecar     *process
}

// newWorld starts a sidecar with more arguments.
func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	w := &world{dir: fixture.NewWorkspace(t), socket: filepath.Join(fixture.ShortDir(t), "s")}
	w.args = append([]string{"run", "--workspace", w.dir, "--socket", w.socket, "--state-dir", t.TempDir(), "--environment-own", "block", "--debounce", "1s"}, args...)
	w.Client = client.New(w.socket)
	t.Cleanup(w.Close)
	w.begin(t)
	return w
}

// begin starts the sidecar, for the first time or once more.
func (w *world) begin(t *testing.T) {
	t.Helper()
	w.sidecar = start(t, w.args...)
	fixture.Eventually(t, "the sidecar is ready", func() error { return w.Ready(t.Context()) })
}

// apiAddress returns where the sidecar listens with --api-listen.
func (w *world) apiAddress(t *testing.T) (address string) {
	t.Helper()
	fixture.Eventually(t, "the address is in the log", func() error {
		_, after, found := strings.Cut(w.sidecar.output(), "serving the API: address=")
		if !found {
			return errors.New("not yet")
		}
		address = strings.Fields(after)[0]
		return nil
	})
	return address
}

// write runs a script in the workspace.
func (w *world) write(t *testing.T, script string) {
	t.Helper()
	fixture.WriteIn(t, w.dir, script)
}

var consoleLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/console/#code=\S+`)

// link starts `pannier console` with more arguments, and returns the link that it prints.
func (w *world) link(t *testing.T, args ...string) string {
	t.Helper()
	_, link := w.console(t, args...)
	return link
}

func (w *world) console(t *testing.T, args ...string) (p *process, link string) {
	t.Helper()
	p = start(t, append([]string{"console", "--no-open", "--socket", w.socket}, args...)...)
	fixture.Eventually(t, "the link is printed", func() error {
		if link = consoleLink.FindString(p.output()); link == "" {
			return errors.New(p.output())
		}
		return nil
	})
	return p, link
}

// open opens the page in a browser, and waits until it shows the workspace.
func (w *world) open(t *testing.T, b *browser.Browser, args ...string) *browser.Page {
	t.Helper()
	p := b.Open(t, w.link(t, args...))
	p.Wait(t, "the page is logged in", loggedIn)
	return p
}

const loggedIn = `document.querySelector("nav") && !location.hash.includes("code=")`

// row is an expression for the row of a skill.
func row(slug string) string { return "document.querySelector('.skill-row[data-slug=" + slug + "]')" }

// rowSays is an expression that is true when the row of a skill has a text.
func rowSays(slug, text string) string {
	return row(slug) + "?.innerText.includes(" + browser.Quote(text) + ")"
}

// at returns the address of a view in the page.
func at(t *testing.T, p *browser.Page, hash string) string {
	t.Helper()
	return browser.Eval[string](t, p, "location.origin") + "/console/" + hash
}

// folder writes a skill outside of the workspace, and returns its directory.
func folder(t *testing.T, name, description string, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	fixture.WriteIn(t, dir, fixture.SkillScript(name, description)+strings.Join(more, "\n"))
	return filepath.Join(dir, "skills", name)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
