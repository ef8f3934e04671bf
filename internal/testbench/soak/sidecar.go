package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pannier/internal/testbench/oracle"
)

// patience is how long an outcome is waited for. It bounds a failure, and measures nothing.
const patience = 40 * time.Second

// sidecar is a running sidecar of the built binary.
type sidecar struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
	client http.Client
}

// startSidecar runs the binary in dir and waits until it is ready. files bounds its descriptors, where it is not 0.
func startSidecar(ctx context.Context, dir string, files int, args ...string) (*sidecar, error) {
	log, err := os.OpenFile(filepath.Join(dir, "pannier.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	binary := filepath.Join(dir, "pannier")
	s := &sidecar{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	if files > 0 {
		script := fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, files)
		s.cmd = exec.Command("/bin/sh", append([]string{"-c", script, binary}, args...)...)
	}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = log, log, cleanEnviron()
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.client = http.Client{Timeout: patience, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, "s"))
	}}}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { defer close(s.done); s.cmd.Wait() }()
	return s, within(ctx, "the sidecar is ready", func() error { return s.ready(ctx) })
}

// cleanEnviron is the environment without what would change the settings.
func cleanEnviron() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "GOTRACEBACK=all"}
}

// within waits until an outcome is there, looking again and again.
func within(ctx context.Context, what string, outcome func() error) error {
	deadline := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := outcome()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("%s: %w", what, err)
		case <-tick.C:
		}
	}
}

func (s *sidecar) ready(ctx context.Context) error {
	select {
	case <-s.done:
		return fmt.Errorf("it has ended: %v", s.cmd.ProcessState)
	default:
	}
	_, err := s.get(ctx, "/readyz")
	return err
}

// get returns the answer to a request.
func (s *sidecar) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier"+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", path, res.Status, text)
	}
	return text, err
}

// list returns the catalog.
func (s *sidecar) list(ctx context.Context) (oracle.List, error) {
	text, err := s.get(ctx, "/v1/skills")
	if err != nil {
		return oracle.List{}, err
	}
	return oracle.ReadList(strings.NewReader(string(text)))
}

// metrics returns the samples without labels.
func (s *sidecar) metrics(ctx context.Context) (map[string]float64, error) {
	text, err := s.get(ctx, "/metrics")
	samples := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			samples[name] = v
		}
	}
	return samples, err
}

func (s *sidecar) signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// kill ends the process without a word and waits for it.
func (s *sidecar) kill() {
	s.cmd.Process.Kill()
	<-s.done
	s.client.CloseIdleConnections()
}

// stop asks the process to end and waits for it.
func (s *sidecar) stop() error {
	s.signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(patience):
		s.kill()
		return errors.New("the sidecar does not stop")
	}
	s.client.CloseIdleConnections()
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the sidecar ended with %v", s.cmd.ProcessState)
	}
	return nil
}
