// Command calls measures what a call of a tool costs beside the program alone: on the built binary, over the socket of the
// sidecar, in turn with fork and exec and with bubblewrap.
//
//	go run ./internal/testbench/calls
//	go run ./internal/testbench/calls -pannier /tmp/pannier -before /tmp/pannier-before -rounds 20
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// atOnce is how many calls a sidecar carries out at a time.
const atOnce = 8

const skill = `---
name: empty
description: Use when something that does nothing is measured.
runtime:
  tools:
    - tool_slug: nothing
      description: Does nothing.
      kind: shell
      parameters: {type: object}
      config: {command: [/bin/true]}
---
Body.
`

// way is one way to run the program, with what it took.
type way struct {
	name  string
	run   func() error
	took  []time.Duration
	rates []float64 // calls a second, eight at a time
}

func main() {
	binary := flag.String("pannier", "", "the binary; empty builds one")
	before := flag.String("before", "", "measure this binary too, in turn")
	bwrap := flag.String("bwrap", "bwrap", "bubblewrap; left out where there is none")
	rounds := flag.Int("rounds", 15, "rounds; each has 20 calls one by one, and 80 eight at a time, of each way")
	flag.Parse()
	if err := run(*binary, *before, *bwrap, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

func run(binary, before, bwrap string, rounds int) error {
	dir, err := os.MkdirTemp("", "calls-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if binary == "" {
		binary = filepath.Join(dir, "binary")
		build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/pannier")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release is built
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	ways := []*way{{name: "fork and exec", run: func() error { return exec.Command("/bin/true").Run() }}}
	if path, err := exec.LookPath(bwrap); err == nil {
		ways = append(ways, &way{name: "bubblewrap", run: func() error {
			return exec.Command(path, "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true").Run()
		}})
	}
	for _, b := range []struct{ name, path string }{{"pannier", binary}, {"pannier before", before}} {
		if b.path == "" {
			continue
		}
		s, err := start(b.path, filepath.Join(dir, strings.ReplaceAll(b.name, " ", "-")))
		if err != nil {
			return err
		}
		defer s.stop()
		ways = append(ways, &way{name: b.name, run: s.call})
	}
	for range rounds {
		for _, w := range ways {
			if err := w.round(); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return report(ways)
}

// round runs the program some times one by one, and then eight at a time.
func (w *way) round() error {
	for range 20 {
		begun := time.Now()
		if err := w.run(); err != nil {
			return err
		}
		w.took = append(w.took, time.Since(begun))
	}
	var left atomic.Int64
	left.Store(10 * atOnce)
	failed := make(chan error, atOnce)
	var all sync.WaitGroup
	begun := time.Now()
	for range atOnce {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := w.run(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	w.rates = append(w.rates, 10*atOnce/time.Since(begun).Seconds())
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func report(ways []*way) error {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	fmt.Printf("load %.14s, medians of %d calls, rates of %d rounds\n\n", load, len(ways[0].took), len(ways[0].rates))
	fmt.Print("| way | one call | best | over fork and exec | eight at a time |\n|---|---|---|---|---|\n")
	var floor time.Duration
	for i, w := range ways {
		slices.Sort(w.took)
		slices.Sort(w.rates)
		median := w.took[len(w.took)/2]
		if i == 0 {
			floor = median
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Printf("| %s | %.1f ms | %.1f ms | %.1f ms | %.0f a second, best %.0f |\n", w.name, ms(median), ms(w.took[0]), ms(median-floor), w.rates[len(w.rates)/2], w.rates[len(w.rates)-1])
	}
	return nil
}

// sidecar is a running sidecar with one tool that may be called.
type sidecar struct {
	client *http.Client
	stop   func()
}

func start(binary, dir string) (*sidecar, error) {
	at := filepath.Join(dir, "w", "skills", "empty")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(at, "SKILL.md"), []byte(skill), 0o644); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "s")
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PANNIER_") })
	cmd := exec.Command(binary, "run", "--workspace", filepath.Join(dir, "w"), "--socket", socket, "--state-dir", filepath.Join(dir, "state"),
		"--environment-own", "warn", "--tools-enabled", "--tools-runner", "self")
	cmd.Env = environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &sidecar{stop: func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}}
	s.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: atOnce,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		allow := exec.Command(binary, "tool", "allow", "empty", "--socket", socket)
		allow.Env = environ
		var out []byte
		if out, err = allow.CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		} else if err = s.call(); err == nil {
			return s, nil
		}
	}
	s.stop()
	return nil, fmt.Errorf("%w\n%s", err, log.Bytes())
}

// call calls the tool.
func (s *sidecar) call() error {
	resp, err := s.client.Post("http://pannier/v1/tools/skill.empty.nothing", "application/json", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var result struct{ OK bool }
	if json.Unmarshal(text, &result) != nil || !result.OK {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	return nil
}
