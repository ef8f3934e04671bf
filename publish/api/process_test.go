package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"pannier/publish/api"
)

// The test binary plays these roles where the variable names one, on the socket that another variable names.
const (
	roleVariable  = "PANNIER_TEST_ROLE"
	pathVariable  = "PANNIER_TEST_SOCKET"
	umaskVariable = "PANNIER_TEST_UMASK"
	modeVariable  = "PANNIER_TEST_MODE"

	roleHold  = "hold"  // listen and say how that went, until stdin ends
	roleChurn = "churn" // listen and close, again and again, and leave the last socket behind
	roleTake  = "take"  // take in uploads, until stdin ends, and say how much memory that took at most
)

func playRole() int {
	path := os.Getenv(pathVariable)
	syscall.Umask(int(octal(umaskVariable)))
	switch os.Getenv(roleVariable) {
	case roleHold:
		return hold(path)
	case roleChurn:
		return churn(path)
	case roleTake:
		return takeUploads(path)
	}
	return 2
}

func octal(variable string) uint64 {
	n, _ := strconv.ParseUint(os.Getenv(variable), 8, 32)
	return n
}

func hold(path string) int {
	io.ReadFull(os.Stdin, make([]byte, 1)) // the starting gun
	l, err := api.Listen(context.Background(), path, fs.FileMode(octal(modeVariable)))
	defer runtime.KeepAlive(l) // a listener that nobody has any more is closed, and what it holds given up
	switch {
	case err == nil:
		fmt.Println("won")
	case errors.Is(err, api.ErrInUse):
		fmt.Println("lost")
	default:
		fmt.Println(err)
	}
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func churn(path string) int {
	for left := 300; ; left-- {
		l, err := api.Listen(context.Background(), path, fs.FileMode(octal(modeVariable)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if left == 0 {
			return 0
		}
		if err := l.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// process is the test binary in a role.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

func start(t *testing.T, role, path string, variables ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path)
	p.cmd.Env = append(p.cmd.Env, variables...)
	p.cmd.Stderr = t.Output()
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// fire lets a process that holds begin.
func (p *process) fire() { p.stdin.Write([]byte{'\n'}) }

// line is the next that the process says.
func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line[:len(line)-1]
}

// kill ends the process as the kernel would: without a chance to tidy up.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// TestKilledProcess leaves a socket and a lock behind, which are in nobody's way.
func TestKilledProcess(t *testing.T) {
	path := socketPath(t)
	p := start(t, roleHold, path, modeVariable+"=0600")
	p.fire()
	if got := p.line(t); got != "won" {
		t.Fatal(got)
	}
	if _, err := api.Listen(t.Context(), path, 0o600); !errors.Is(err, api.ErrInUse) {
		t.Errorf("while it lives: %v", err)
	}
	p.kill()
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("it left nothing behind, so this test is void: %v", err)
	}
	l, err := api.Listen(t.Context(), path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, l, path)
	l.Close()
	checkEmpty(t, path)
}

// TestProcessesAtOnce lets several processes find the same stale file. One gets the path, and is the one that answers.
func TestProcessesAtOnce(t *testing.T) {
	path := socketPath(t)
	const contenders = 4
	for range 5 {
		leaveStale(t, path)
		var all []*process
		for range contenders {
			all = append(all, start(t, roleHold, path, modeVariable+"=0600"))
		}
		for _, p := range all {
			p.fire()
		}
		count := map[string]int{}
		for _, p := range all {
			count[p.line(t)]++
		}
		if count["won"] != 1 || count["lost"] != contenders-1 {
			t.Errorf("outcomes: %v", count)
		}
		if err := dial(path); err != nil {
			t.Errorf("the winner does not answer: %v", err)
		}
		for _, p := range all {
			p.kill()
		}
	}
}

// TestModeAtEveryMoment watches the path from this process, while another makes the socket again and again.
func TestModeAtEveryMoment(t *testing.T) {
	for _, tt := range []struct{ umask, mode string }{{"000", "0600"}, {"022", "0660"}, {"000", "0660"}, {"077", "0666"}} {
		path := socketPath(t)
		p := start(t, roleChurn, path, umaskVariable+"="+tt.umask, modeVariable+"="+tt.mode)
		asked, _ := strconv.ParseUint(tt.mode, 8, 32)
		ended := make(chan error, 1)
		go func() { ended <- p.cmd.Wait() }()
		seen := map[fs.FileMode]int{}
		for running := true; running; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
			if info, err := os.Lstat(path); err == nil {
				seen[info.Mode().Perm()]++
			}
		}
		for mode := range seen {
			if mode&^fs.FileMode(asked) != 0 {
				t.Errorf("umask %s: the socket had mode %o, asked for %s; all: %v", tt.umask, mode, tt.mode, seen)
			}
		}
		if len(seen) == 0 {
			t.Error("the watcher never met the socket")
		}
	}
}
