package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpVersions are the protocol with sessions and the one without.
var mcpVersions = []string{"2025-11-25", "2026-07-28"}

// mcpUnderTest is an MCP host with a server that it has started as a command.
type mcpUnderTest struct {
	*mcp.ClientSession
	cmd     *exec.Cmd
	log     *lockedBuffer
	changed chan string // the lists that changed
}

// mcpCommand returns a command of the binary with a home directory of its own.
func mcpCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"mcp"}, args...)...)
	cmd.Dir = dir
	home := t.TempDir()
	cmd.Env = append(cleanEnviron(), "PANNIER_SCAN=off", "XDG_RUNTIME_DIR="+home, "XDG_STATE_HOME="+home, "HOME="+home)
	return cmd
}

func homeOf(cmd *exec.Cmd) string {
	return strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "HOME=")
}

// startMCP starts a server as a host does, and speaks a version of the protocol with it.
func startMCP(t *testing.T, version string, cmd *exec.Cmd) *mcpUnderTest {
	t.Helper()
	h := &mcpUnderTest{cmd: cmd, log: &lockedBuffer{}, changed: make(chan string, 1000)}
	cmd.Stderr = h.log
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { h.changed <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { h.changed <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { h.changed <- "resources" },
	})
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("%v\n%s", err, h.log)
	}
	h.ClientSession = session
	t.Cleanup(func() {
		session.Close()
		if t.Failed() {
			t.Logf("log of pannier mcp:\n%s", h.log)
		}
	})
	return h
}

// skills returns the names of the resources that are a SKILL.md.
func (h *mcpUnderTest) skills(t *testing.T) (names []string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for r, err := range h.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names, nil
}

func (h *mcpUnderTest) awaitSkills(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the host sees %q", want), func() error {
		got, err := h.skills(t)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("it sees %q", got)
		}
		return err
	})
}

// awaitChange waits until the host is told that a list has changed.
func (h *mcpUnderTest) awaitChange(t *testing.T, list string) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case got := <-h.changed:
			if got == list {
				return
			}
		case <-late:
			t.Fatalf("the host was not told that its %s changed", list)
		}
	}
}

// activate calls the tool that returns a skill.
func (h *mcpUnderTest) activate(t *testing.T, name string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := h.CallTool(ctx, &mcp.CallToolParams{Name: "activate_skill", Arguments: map[string]any{"name": name}})
	if err != nil {
		return "", err
	}
	text := ""
	for _, c := range res.Content {
		if part, ok := c.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	if res.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

// forEachMCP runs a test for a server that forwards to a sidecar and one that is the sidecar, in both forms of the protocol.
func forEachMCP(t *testing.T, test func(t *testing.T, workspace string, h *mcpUnderTest)) {
	for _, version := range mcpVersions {
		for _, forwards := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/forwards=%t", version, forwards), func(t *testing.T) {
				t.Parallel()
				w := workspaceWith(t, skillScript("first", "Is there."))
				args := []string{"--workspace", w}
				if forwards {
					args = append(args, "--socket", startSidecar(t, w, "--platform-url", "off").socket)
				}
				test(t, w, startMCP(t, version, mcpCommand(t, w, args...)))
			})
		}
	}
}

func TestMCPServes(t *testing.T) {
	t.Parallel()
	forEachMCP(t, func(t *testing.T, w string, h *mcpUnderTest) {
		if got, err := h.skills(t); err != nil || !slices.Equal(got, []string{"first"}) {
			t.Fatalf("resources: %q %v", got, err)
		}
		if text, err := h.activate(t, "first"); err != nil || !strings.Contains(text, "Do it.") {
			t.Errorf("activate_skill: %q %v", text, err)
		}
		if _, err := h.activate(t, "second"); err == nil || !strings.Contains(err.Error(), "second") {
			t.Errorf("activate_skill of a skill that is missing: %v", err)
		}
		prompts, err := h.ListPrompts(t.Context(), nil)
		if err != nil || len(prompts.Prompts) != 1 {
			t.Errorf("prompts: %+v %v", prompts, err)
		}
		read, err := h.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://first/SKILL.md"})
		if err != nil || !strings.HasSuffix(read.Contents[0].Text, "Do it.\n") {
			t.Errorf("SKILL.md: %+v %v", read, err)
		}
		eventually(t, "the stream of notifications is open", func() error {
			writeIn(t, w, skillScript("early-"+strconv.FormatInt(time.Now().UnixNano(), 36), "Comes."))
			select {
			case <-h.changed:
				return nil
			case <-time.After(300 * time.Millisecond):
				return errors.New("no notification")
			}
		})
		writeIn(t, w, "rm -r skills/early-*\n"+skillScript("second", "Comes."))
		h.awaitSkills(t, "first", "second")
		if text, err := h.activate(t, "second"); err != nil || !strings.Contains(text, "Do it.") {
			t.Errorf("activate_skill of the second one: %q %v", text, err)
		}
	})
}

// TestMCPSidecarRestarts kills the sidecar that a host is connected to.
func TestMCPSidecarRestarts(t *testing.T) {
	t.Parallel()
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := workspaceWith(t, skillScript("first", "Is there."))
			s := startSidecar(t, w, "--platform-url", "off")
			h := startMCP(t, version, mcpCommand(t, w, "--workspace", w, "--socket", s.socket))
			h.awaitSkills(t, "first")
			s.kill()
			writeIn(t, w, skillScript("second", "Came meanwhile."))
			for len(h.changed) > 0 {
				<-h.changed
			}
			start(t, "run", "--workspace", w, "--socket", s.socket, "--platform-url", "off", "--state-dir", "none", "--delete-grace", "0")
			h.awaitChange(t, "resources")
			h.awaitSkills(t, "first", "second")
			writeIn(t, w, skillScript("third", "Comes."))
			h.awaitChange(t, "resources")
			h.awaitSkills(t, "first", "second", "third")
		})
	}
}

// TestMCPWithoutSidecar waits for a sidecar at a socket that is named alone.
func TestMCPWithoutSidecar(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("first", "Is there."))
	socket := filepath.Join(shortDir(t), "s")
	answers := talk(t, mcpCommand(t, t.TempDir(), "--socket", socket), mcpInitialize)
	if len(answers) != 1 || !strings.Contains(answers[0], `"error"`) || !strings.Contains(answers[0], "the sidecar at "+socket+" does not answer") {
		t.Errorf("without a sidecar: %q", answers)
	}
	cmd := mcpCommand(t, t.TempDir(), "--socket", socket)
	go start(t, "run", "--workspace", w, "--socket", socket, "--platform-url", "off", "--state-dir", "none")
	startMCP(t, mcpVersions[0], cmd).awaitSkills(t, "first")
}

// mcpEnd is how long a server may take to end. It is less than what one waits for that hangs (shutdownTimeout of the sidecar, and
// reachTimeout of the bridge), and leaves room for a machine that does other work.
const mcpEnd = 4 * time.Second

const mcpInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}` + "\n"

// talk writes to a server, waits for an answer, closes the input, and returns the lines of the answer.
func talk(t *testing.T, cmd *exec.Cmd, input string) []string {
	t.Helper()
	in := must(cmd.StdinPipe())(t)
	out, log := &lockedBuffer{}, &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, log
	need(t, cmd.Start())
	io.WriteString(in, input)
	until(t, "an answer", func() bool { return strings.Contains(out.String(), "\n") })
	begun := time.Now()
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("pannier %s: %v\n%s", cmd.Args[1:], err, log)
	}
	if took := time.Since(begun); took > mcpEnd {
		t.Errorf("the end took %v", took)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

func TestMCPEnds(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	s := startSidecar(t, w, "--platform-url", "off")
	for name, args := range map[string][]string{"forwards": {"--workspace", w, "--socket", s.socket}, "own": {"--workspace", w}} {
		t.Run("end of input/"+name, func(t *testing.T) {
			t.Parallel()
			answers := talk(t, mcpCommand(t, w, args...), mcpInitialize)
			if len(answers) != 1 || !strings.Contains(answers[0], `"protocolVersion":"2025-11-25"`) {
				t.Errorf("initialize: %q", answers)
			}
		})
		for _, sent := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(fmt.Sprint(sent, "/", name), func(t *testing.T) {
				t.Parallel()
				h := startMCP(t, mcpVersions[0], mcpCommand(t, w, args...))
				begun := time.Now()
				need(t, h.cmd.Process.Signal(sent))
				h.Wait() // until the output ends
				if took := time.Since(begun); took > mcpEnd {
					t.Errorf("the end took %v", took)
				}
				h.Close()
				if code := h.cmd.ProcessState.ExitCode(); code != 0 {
					t.Errorf("exit code %d: %s", code, h.log)
				}
			})
		}
	}
}

// TestMCPHostKilled kills a host in the middle of a session.
func TestMCPHostKilled(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	w := newWorkspace(t)
	s := startSidecar(t, w, "--platform-url", "off")
	for name, args := range map[string][]string{"forwards": {"--workspace", w, "--socket", s.socket}, "own": {"--workspace", w}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mcpCommand(t, w, args...)
			host := exec.Command(bash, append([]string{"-c", `coproc SERVER { exec "$0" "$@"; }; echo "$SERVER_PID"; printf %s "$INPUT" >&"${SERVER[1]}"; while read -r line <&"${SERVER[0]}"; do echo "$line"; done`}, server.Args...)...)
			host.Dir, host.Env = w, append(server.Env, "INPUT="+mcpInitialize+"\n")
			out := &lockedBuffer{}
			host.Stdout, host.Stderr = out, out
			need(t, host.Start())
			until(t, "the host is connected", func() bool { return strings.Contains(out.String(), `"protocolVersion"`) })
			line, _, _ := strings.Cut(out.String(), "\n")
			pid, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err, out)
			}
			host.Process.Kill()
			begun := time.Now()
			eventually(t, "the server has ended", func() error {
				status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				if err != nil || strings.Contains(string(status), ") Z ") {
					return nil
				}
				return errors.New(string(status))
			})
			if took := time.Since(begun); took > mcpEnd {
				t.Errorf("the end took %v", took)
			}
			host.Wait()
		})
	}
}

// TestMCPBesideSidecar starts a sidecar and more hosts on a workspace that a host serves itself.
func TestMCPBesideSidecar(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("first", "Is there."))
	one := startMCP(t, mcpVersions[0], mcpCommand(t, w, "--workspace", w))
	two := startMCP(t, mcpVersions[1], mcpCommand(t, w, "--workspace", w))
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", t.TempDir())
	writeIn(t, w, skillScript("second", "Comes."))
	for _, h := range []*mcpUnderTest{one, two} {
		h.awaitSkills(t, "first", "second")
	}
	if _, err := s.entry(t, "second"); err != nil {
		eventually(t, "the sidecar serves both", func() error { _, err := s.entry(t, "second"); return err })
	}
}

// TestMCPWritesNothing compares all files before and after a host, also where an installation was interrupted.
func TestMCPWritesNothing(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("first", "Is there.")+"mkdir -p .agents; cp -r skills .agents/skills")
	cmd := mcpCommand(t, w)
	before := maps.Collect(filesBelow(t, w))
	h := startMCP(t, mcpVersions[0], cmd)
	h.awaitSkills(t, "first")
	if _, err := h.activate(t, "first"); err != nil {
		t.Error(err)
	}
	h.Close()
	if after := maps.Collect(filesBelow(t, w)); !maps.Equal(before, after) {
		t.Errorf("the workspace was %v, is %v", before, after)
	}
	for path := range filesBelow(t, homeOf(cmd)) {
		t.Errorf("%s was written", path)
	}
}

// filesBelow returns the files and directories below one, with their times.
func filesBelow(t *testing.T, dir string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			info, err := e.Info()
			if err == nil && !yield(path, fmt.Sprint(info.Size(), info.ModTime())) {
				return filepath.SkipAll
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestMCPDirectories starts a server without a workspace in a project.
func TestMCPDirectories(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	skill := func(dir, name string) string {
		return fmt.Sprintf("mkdir -p '%[1]s/%[2]s'; printf -- '---\\nname: %[2]s\\ndescription: It is in %[1]s.\\n---\\nDo it.\\n' > '%[1]s/%[2]s/SKILL.md'\n", dir, name)
	}
	writeIn(t, project, "mkdir -p .git app/src\n"+skill("app/.claude/skills", "near")+skill("app/src/skills", "here")+skill(".agents/skills", "far")+skill(".agents/skills", "near"))
	cmd := mcpCommand(t, filepath.Join(project, "app", "src"))
	home := homeOf(cmd)
	writeIn(t, home, skill(".claude/skills", "mine")+"mkdir .agents; ln -s ../.claude/skills .agents/skills")
	h := startMCP(t, mcpVersions[0], cmd)
	h.awaitSkills(t, "far", "here", "mine", "near")
	for r, err := range h.Resources(t.Context(), nil) {
		if err != nil || r.Name == "near" && r.Description != "It is in app/.claude/skills." {
			t.Errorf("near: %+v %v", r, err)
		}
	}
	// A skill in the home directory is offered to the model as one of the project is.
	if _, err := h.activate(t, "mine"); err != nil {
		t.Error(err)
	}
	writeIn(t, home, skill(".claude/skills", "new"))
	h.awaitSkills(t, "far", "here", "mine", "near", "new")
}

// TestMCPRoots names roots outside of the working directory and of the workspace. All log lines are warnings.
func TestMCPRoots(t *testing.T) {
	t.Parallel()
	project, elsewhere := t.TempDir(), newWorkspace(t)
	writeIn(t, project, skillScript("first", "Is there."))
	root, missing := filepath.Join(project, "skills"), filepath.Join(project, "missing")
	for name, more := range map[string][]string{"alone": nil, "workspace": {"--workspace", elsewhere}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startMCP(t, mcpVersions[0], mcpCommand(t, elsewhere, append(more, "--root", root, "--root", missing)...))
			h.awaitSkills(t, "first")
			if text, err := h.activate(t, "first"); err != nil || !strings.Contains(text, "Do it.") {
				t.Errorf("activate_skill: %q %v", text, err)
			}
			h.Close()
			if want := "pannier: root " + missing + " does not exist; waiting for it\n"; h.log.String() != want {
				t.Errorf("standard error: %q, want %q", h.log, want)
			}
		})
	}
}

// TestMCPNoDirectories starts a server where there are no skills yet.
func TestMCPNoDirectories(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	cmd := mcpCommand(t, project)
	h := startMCP(t, mcpVersions[0], cmd)
	h.awaitSkills(t)
	if !strings.Contains(h.log.String(), "waiting for "+filepath.Join(project, ".agents/skills")+" or "+filepath.Join(homeOf(cmd), ".agents/skills")) {
		t.Errorf("log: %s", h.log)
	}
	writeIn(t, project, "mkdir .agents; mkdir -p skills; "+skillScript("first", "Comes.")+"mv skills .agents/skills")
	h.awaitSkills(t, "first")
	writeIn(t, homeOf(cmd), skillScript("second", "Comes.")+"mkdir .agents; mv skills .agents/skills")
	h.awaitSkills(t, "first", "second")
}

func TestMCPRemote(t *testing.T) {
	t.Parallel()
	w := workspaceWith(t, skillScript("first", "Is there."))
	tokens, _ := newTokens(t)
	dir := filepath.Dir(tokens)
	s := startSidecar(t, w, "--platform-url", "off", "--api-listen", "127.0.0.1:0", "--api-tokens", tokens)
	url := "http://" + s.apiAddress(t)
	for _, version := range mcpVersions {
		h := startMCP(t, version, mcpCommand(t, dir, "--url", url, "--token-file", filepath.Join(dir, "read")))
		h.awaitSkills(t, "first")
	}
	wrong := filepath.Join(dir, "wrong")
	need(t, os.WriteFile(wrong, []byte("no-such-token"), 0o600))
	answers := talk(t, mcpCommand(t, dir, "--url", url, "--token-file", wrong), mcpInitialize)
	if len(answers) != 1 || !strings.Contains(answers[0], "refused (401)") || strings.Contains(answers[0], "no-such-token") {
		t.Errorf("with a wrong token: %q", answers)
	}
}

// TestMCPKeepsRefusals serves a workspace whose sidecar was stopped: what that disabled stays disabled, and without an intact policy
// file no skill is offered. The state directory is only read.
func TestMCPKeepsRefusals(t *testing.T) {
	t.Parallel()
	w, state := workspaceWith(t, skillScript("first", "Is there.")+skillScript("second", "Is there.")), t.TempDir()
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", state)
	s.output(t, "policy", "set", "second", "--enabled=false")
	s.terminate(t)
	before := maps.Collect(filesBelow(t, state))
	own := func() *exec.Cmd {
		cmd := mcpCommand(t, w, "--workspace", w)
		cmd.Env = append([]string{"PANNIER_STATE_DIR=" + state, "PANNIER_WORKSPACE_ID=6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11"}, cmd.Env...)
		return cmd
	}
	h := startMCP(t, mcpVersions[0], own())
	h.awaitSkills(t, "first")
	if _, err := h.activate(t, "second"); err == nil || !strings.Contains(err.Error(), "disabled") {
		t.Errorf("activate_skill of a skill that policy disables: %v", err)
	}
	h.Close()
	if after := maps.Collect(filesBelow(t, state)); !maps.Equal(before, after) {
		t.Errorf("the state directory was %v, is %v", before, after)
	}
	writeIn(t, state, "for f in */policy.json*; do echo x > $f; done")
	h = startMCP(t, mcpVersions[0], own())
	if _, err := h.activate(t, "first"); err == nil || !strings.Contains(err.Error(), "state_lost") {
		t.Errorf("activate_skill while it is unknown what was refused: %v", err)
	}
}
