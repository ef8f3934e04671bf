package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds a trial.
const patience = 15 * time.Minute

// push is a card and the time when the platform had all of it.
type push struct {
	body []byte
	at   time.Time
}

// trial is one run of a row, with a directory for socket and state, a platform and at most one sidecar. A failure panics
// with an error, and perform returns it.
type trial struct {
	options
	ctx         context.Context
	binary      string
	tree, empty tree
	dir         string
	platform    *httptest.Server
	pushes      chan push
	sidecar     *os.Process
	ended       chan struct{} // closed when the sidecar has ended; nil while there is none
	client      http.Client
	results     map[string][]float64 // by row
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// perform runs a row, after all floors.
func (t *trial) perform(ctx context.Context, r row) (err error) {
	defer func() {
		if failure, ok := recover().(error); ok {
			err = fmt.Errorf("%s, %s: %w", r.name, t.binary, failure)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t.ctx = ctx
	t.dir, err = os.MkdirTemp("", "b")
	must(err)
	defer os.RemoveAll(t.dir)
	t.pushes = make(chan push, 64)
	t.platform = httptest.NewServer(t.platformHandler())
	defer t.platform.Close()
	t.client = http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: loadClients,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(t.dir, "s"))
		},
	}}
	defer t.stop()
	for _, f := range floors {
		took, err := measureFloor(t.tree.root(), f.visit)
		must(err)
		t.addTime("floor "+f.name, took)
	}
	r.run(t)
	return nil
}

// platformHandler takes cards and shows the last one.
func (t *trial) platformHandler() http.HandlerFunc {
	var last atomic.Value
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if at := time.Now(); r.Method == http.MethodPost && err == nil {
			last.Store(body)
			fmt.Fprint(w, `{"status":"updated"}`)
			select {
			case t.pushes <- push{body, at}:
			default: // the run does not wait for cards
			}
			return
		}
		if body, _ = last.Load().([]byte); body == nil {
			body = []byte("{}")
		}
		_, _ = w.Write(body) // the card is in agent_card, as in a description of the workspace
	}
}

// awaitPush returns when the platform had a card with that text.
func (t *trial) awaitPush(text string) time.Time {
	for {
		select {
		case p := <-t.pushes:
			if bytes.Contains(p.body, []byte(text)) {
				return p.at
			}
		case <-t.ctx.Done():
			panic(fmt.Errorf("the platform does not get the card: %w", t.ctx.Err()))
		}
	}
}

// command returns a command of the binary on a tree. All of a trial have one socket and one state.
func (t *trial) command(on tree, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.ctx, t.binary, args...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.dir, "PANNIER_WORKSPACE=" + on.dir, "PANNIER_ENVIRONMENT_OWN=warn",
		"PANNIER_STATE_DIR=" + filepath.Join(t.dir, "state"), "PANNIER_SOCKET=" + filepath.Join(t.dir, "s"),
		fmt.Sprint("PANNIER_MAX_DIRS=", max(20000, 4*len(on.names))),
	}
	return cmd
}

// start runs a sidecar until the trial ends, waits until it uses less than that share of a processor, and returns the
// time it took to be ready.
func (t *trial) start(on tree, share float64, args ...string) time.Duration {
	log, err := os.Create(filepath.Join(t.dir, "log"))
	must(err)
	defer log.Close()
	cmd := t.command(on, append([]string{"run", "--platform-url", t.platform.URL, "--platform-follow=read_back"}, args...)...)
	cmd.Stderr, cmd.SysProcAttr = log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	start := time.Now()
	must(cmd.Start())
	t.sidecar, t.ended = cmd.Process, make(chan struct{})
	go func(ended chan struct{}) { defer close(ended); _ = cmd.Wait() }(t.ended)
	for t.request("GET", "/readyz", "", io.Discard) != nil {
		t.wait(time.Millisecond)
	}
	ready := time.Since(start)
	t.waitIdle(share)
	return ready
}

// stop ends the sidecar, if there is one.
func (t *trial) stop() {
	if t.ended != nil {
		_ = t.sidecar.Signal(syscall.SIGTERM)
		<-t.ended
		t.ended = nil
	}
	t.client.CloseIdleConnections()
}

// waitIdle waits until the sidecar has used less than that share of a processor for 300 ms.
func (t *trial) waitIdle(share float64) {
	for before := t.cpu(); ; {
		t.wait(300 * time.Millisecond)
		now := t.cpu()
		if now-before < 300*share {
			return
		}
		before = now
	}
}

func (t *trial) wait(d time.Duration) {
	select {
	case <-t.ctx.Done():
		panic(t.ctx.Err())
	case <-t.ended:
		text, _ := os.ReadFile(filepath.Join(t.dir, "log"))
		panic(fmt.Errorf("the sidecar has ended:\n%.2000s", text))
	case <-time.After(d):
	}
}

// cpu returns the processor time of the sidecar, utime and stime, in ms. The clock of the process counts what
// /proc/PID/stat shows, in nanoseconds instead of hundredths of a second.
func (t *trial) cpu() float64 {
	const sched = 2 // CPUCLOCK_SCHED
	var now unix.Timespec
	must(unix.ClockGettime(int32(^t.sidecar.Pid<<3|sched), &now))
	return float64(now.Nano()) / 1e6
}

// memory returns a field of /proc/PID/status in MB.
func (t *trial) memory(field string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.sidecar.Pid))
	must(err)
	return numberAfter(string(text), field+":") * 1024 / 1e6
}

func numberAfter(text, mark string) (v float64) {
	_, rest, _ := strings.Cut(text, mark)
	_, err := fmt.Sscan(rest, &v)
	must(err)
	return v
}

// request asks the sidecar.
func (t *trial) request(method, path, body string, into io.Writer) error {
	req, err := http.NewRequestWithContext(t.ctx, method, "http://pannier"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	_, err = io.Copy(into, res.Body)
	return err
}

// scans returns how many scans a trigger has caused, and their milliseconds.
func (t *trial) scans(trigger string) (count, sum float64) {
	var text bytes.Buffer
	must(t.request("GET", "/metrics", "", &text))
	value := func(name string) float64 {
		return numberAfter(text.String(), fmt.Sprintf("\npannier_scan_duration_seconds_%s{trigger=%q} ", name, trigger))
	}
	return value("count"), 1000 * value("sum")
}
