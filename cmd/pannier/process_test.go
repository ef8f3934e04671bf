package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"pannier"
	"pannier/internal/testbench/fixture"
	"pannier/publish/client"
)

const patience = fixture.Patience

func eventually(t testing.TB, what string, outcome func() error) {
	t.Helper()
	fixture.Eventually(t, what, outcome)
}

// until waits until a condition holds.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	eventually(t, what, func() error {
		if !holds() {
			return errors.New("it does not hold")
		}
		return nil
	})
}

// need ends the test if there is an error.
func need(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns a function that returns a value, or ends the test if there is an error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		need(t, err)
		return value
	}
}

func newWorkspace(t *testing.T) string { return fixture.NewWorkspace(t) }

// workspaceWith returns a new workspace in which a script was run.
func workspaceWith(t *testing.T, script string) string {
	t.Helper()
	w := newWorkspace(t)
	writeIn(t, w, script)
	return w
}

func shortDir(t *testing.T) string { return fixture.ShortDir(t) }

func skillScript(name, description string) string { return fixture.SkillScript(name, description) }

func writeIn(t *testing.T, dir, script string) {
	t.Helper()
	fixture.WriteIn(t, dir, script)
}

const (
	testWorkspaceID = "6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11"
	testToken       = "test-token-that-no-log-may-hold"
)

// process is a running command of the built binary.
type process struct {
	cmd  *exec.Cmd
	done chan error
	log  *lockedBuffer
}

// lockedBuffer takes the output of a process while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs the binary until the test ends. Its output is shown where the test fails.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startBinary(t, binary, args...)
}

// startBinary runs a program until the test ends. Its output is shown where the test fails.
func startBinary(t *testing.T, program string, args ...string) *process {
	t.Helper()
	return startProcess(t, exec.Command(program, args...))
}

// startProcess runs a command until the test ends. Its output is shown where the test fails.
func startProcess(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan error, 1), log: &lockedBuffer{}}
	args := cmd.Args[1:]
	p.cmd.Env = cleanEnviron()
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	need(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of pannier %s:\n%s", strings.Join(args, " "), p.log)
		}
		if strings.Contains(p.log.String(), testToken) {
			t.Error("the output holds the token")
		}
	})
	return p
}

// cleanEnviron is the environment without what would change the settings.
func cleanEnviron() []string {
	var kept []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "PANNIER_"), name == "WORKSPACE_ID", name == "WORKSPACE_CONFIG_PATH", name == "PLATFORM_URL", name == "CONFIGS_DIR":
		default:
			kept = append(kept, v)
		}
	}
	return kept
}

// command returns a command of the binary, without variables that would change the settings.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = cleanEnviron()
	return cmd
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
	p.done <- nil
}

// terminate asks the process to stop and returns its exit code.
func (p *process) terminate(t testing.TB) int {
	t.Helper()
	need(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
		p.done <- nil
	case <-time.After(patience):
		t.Fatal("the process does not stop")
	}
	return p.cmd.ProcessState.ExitCode()
}

// stops asks the process to stop, which it must do without a failure.
func (p *process) stops(t testing.TB) {
	t.Helper()
	if code := p.terminate(t); code != exitYes {
		t.Fatalf("exit code %d", code)
	}
}

// logs waits until the process has logged a text.
func (p *process) logs(t testing.TB, text string) {
	t.Helper()
	seen(t, p.log, text)
}

// sidecarUnderTest is a sidecar process on a workspace of its own.
type sidecarUnderTest struct {
	*process
	*client.Client
	workspace, socket string
}

// atSocket returns a sidecar that does not run yet, with a socket of its own.
func atSocket(t testing.TB, workspace string) *sidecarUnderTest {
	t.Helper()
	s := &sidecarUnderTest{workspace: workspace, socket: filepath.Join(fixture.ShortDir(t), "s")}
	s.Client = client.New(s.socket)
	t.Cleanup(s.Close)
	return s
}

// startSidecar runs a sidecar on a workspace and waits until it is ready.
func startSidecar(t *testing.T, workspace string, args ...string) *sidecarUnderTest {
	t.Helper()
	s := atSocket(t, workspace)
	s.process = start(t, append([]string{
		"run", "--workspace", workspace, "--workspace-id", testWorkspaceID, "--socket", s.socket,
		"--state-dir", "none", "--environment-own", "block", "--scan", "off", "--resync", "0", "--debounce", "300ms", "--delete-grace", "0", "--log-level", "debug",
	}, args...)...)
	awaitReady(t, s.Client)
	return s
}

// awaitReady waits until a sidecar is ready: what is served before that comes from a scan that no watch follows yet.
func awaitReady(t *testing.T, c *client.Client) {
	t.Helper()
	eventually(t, "the sidecar is ready", func() error { return c.Ready(t.Context()) })
}

// write runs a shell script in the workspace: the writer is always another process than the watcher.
func (s *sidecarUnderTest) write(t *testing.T, script string) {
	t.Helper()
	writeIn(t, s.workspace, script)
}

// entry returns a skill of the list.
func (s *sidecarUnderTest) entry(t *testing.T, slug string) (*pannier.Entry, error) {
	list, err := s.Skills(t.Context(), "", true)
	if err != nil {
		return &pannier.Entry{}, err
	}
	for _, e := range list.Skills {
		if e.Slug == slug {
			return e, nil
		}
	}
	return &pannier.Entry{}, fmt.Errorf("no skill %q among %d", slug, len(list.Skills))
}

// listed waits until a skill is listed, usable or not.
func (s *sidecarUnderTest) listed(t *testing.T, slug string) {
	t.Helper()
	eventually(t, slug+" is listed", func() error { _, err := s.entry(t, slug); return err })
}

// settled waits until everything that was written is served and the platform has the card of it.
func (s *sidecarUnderTest) settled(t *testing.T) {
	t.Helper()
	need(t, s.Rescan(t.Context()))
	s.acknowledged(t)
}

// acknowledged waits until the platform has taken the newest card.
func (s *sidecarUnderTest) acknowledged(t *testing.T) {
	t.Helper()
	eventually(t, "the platform has the newest card", func() error {
		card, err := s.Card(t.Context())
		if err != nil {
			return err
		}
		h, err := s.Health(t.Context())
		if err != nil {
			return err
		}
		if want := pannier.DigestOf(card); len(h.Push) != 1 || h.Push[0].Acknowledged != want {
			return fmt.Errorf("push %+v, want %s acknowledged", h.Push, want)
		}
		return nil
	})
}

// platformUnderTest is a development platform in a process of its own, with a listener on its event stream.
type platformUnderTest struct {
	*process
	url string

	mu    sync.Mutex
	cards []string // of the AGENT_CARD_UPDATED frames, in order
}

func startPlatform(t *testing.T) *platformUnderTest {
	t.Helper()
	p := &platformUnderTest{process: start(t, "platform", "--rate-limit", "0", "--workspace", testWorkspaceID+":"+testToken)}
	eventually(t, "the platform listens", func() error {
		_, rest, ok := strings.Cut(p.log.String(), "platform http://")
		if !ok || !strings.Contains(rest, "\n") {
			return fmt.Errorf("no address in %q", p.log)
		}
		p.url = "http://" + strings.Fields(rest)[0]
		return nil
	})
	p.listen(t)
	return p
}

// listen follows the event stream until the test ends.
func (p *platformUnderTest) listen(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.url, "http")+"/ws", nil)
	need(t, err)
	conn.SetReadLimit(-1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				return
			}
			p.take(text)
		}
	}()
	t.Cleanup(func() { cancel(); conn.CloseNow(); <-ended })
}

func (p *platformUnderTest) take(text []byte) {
	var frame struct {
		Event   string `json:"event"`
		Payload struct {
			Card json.RawMessage `json:"agent_card"`
		} `json:"payload"`
	}
	if json.Unmarshal(text, &frame) != nil || frame.Event != "AGENT_CARD_UPDATED" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cards = append(p.cards, string(frame.Payload.Card))
}

// frames returns the cards that the event stream has told of so far.
func (p *platformUnderTest) frames() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.cards...)
}

// stored returns the card that the platform holds.
func (p *platformUnderTest) stored() (string, error) {
	res, err := http.Get(p.url + "/workspaces/" + testWorkspaceID)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var row struct {
		Card json.RawMessage `json:"agent_card"`
	}
	err = json.NewDecoder(res.Body).Decode(&row)
	return string(row.Card), err
}

// tokenFile writes the token that the platform knows.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	need(t, os.WriteFile(path, []byte(testToken+"\n"), 0o600))
	return path
}

// recorder is a platform that keeps every card that it is sent, and can be away.
type recorder struct {
	addr   string
	mu     sync.Mutex
	cards  []string
	server *httptest.Server
}

// newRecorder returns a recorder that is away, with an address of its own.
func newRecorder(t *testing.T) *recorder {
	t.Helper()
	return &recorder{addr: reserveAddress(t)}
}

// reserveAddress returns an address that refuses connections and that no other process gets until the test ends: a socket is
// bound to it and does not listen.
func reserveAddress(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	need(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	need(t, err)
	bound := must(unix.Getsockname(fd))(t)
	return fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
}

func (r *recorder) up(t *testing.T) {
	t.Helper()
	ln := must(net.Listen("tcp", r.addr))(t)
	r.server = httptest.NewUnstartedServer(http.HandlerFunc(r.take))
	r.server.Listener.Close()
	r.server.Listener = ln
	r.server.Start()
	t.Cleanup(r.server.Close)
}

func (r *recorder) take(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodGet { // reading a workspace back
		row := map[string]json.RawMessage{"agent_card": json.RawMessage("null")}
		if n := len(r.cards); n > 0 {
			row["agent_card"] = sentCard(r.cards[n-1])
		}
		json.NewEncoder(w).Encode(row)
		return
	}
	text, _ := io.ReadAll(req.Body)
	r.cards = append(r.cards, string(text))
	fmt.Fprint(w, `{"status":"updated"}`)
}

// sentCard returns the card in the body of an update.
func sentCard(body string) json.RawMessage {
	var sent struct {
		Card json.RawMessage `json:"agent_card"`
	}
	if json.Unmarshal([]byte(body), &sent) != nil {
		return json.RawMessage("null")
	}
	return sent.Card
}

func (r *recorder) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.cards...)
}

// ran is what came of one command.
type ran struct {
	code     int
	out, err string
}

// runPlain runs a command in an empty directory without settings and fails the test if a file is left there.
func runPlain(t *testing.T, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "XDG_RUNTIME_DIR=" + cmd.Dir, "TMPDIR=" + cmd.Dir}
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	if entries, readErr := os.ReadDir(cmd.Dir); readErr != nil || len(entries) > 0 {
		t.Errorf("the command left something behind: %v %v", entries, readErr)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), err.String()}
}
