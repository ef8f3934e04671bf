package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pannier/publish/molecule"
	"pannier/publish/molecule/dev"
)

const (
	fleetSize  = 32
	outageSize = 16
	// startSize sidecars are started at once, and counted for startCounted.
	startSize    = 100
	startCounted = 90 * time.Second
	// fleetSettled is how long after the last first card the fleet is counted from, and fleetCounted how long it is.
	fleetSettled = 10 * time.Second
	fleetCounted = 90 * time.Second
	fleetEdit    = 1300 * time.Millisecond
	fleetOutage  = 25 * time.Second
	// heartbeatEvery is how often each agent of the fleet tells that it lives.
	heartbeatEvery = 30 * time.Second
)

// fleet are sidecars behind one address, with a development platform that limits the requests of an address as the real one
// does.
type fleet struct {
	dir  string
	dev  *dev.Platform
	addr string

	mu        sync.Mutex
	server    *http.Server
	conns     []net.Conn
	requests  int // without event streams and heartbeats
	beats     int // heartbeats of agents
	heartbeat int // of them, those that were answered 429
	ids       []string
	sides     []*sidecar
}

// measureFleets prints a row for a fleet that is edited, and one for an outage.
func (s *soak) measureFleets(ctx context.Context) error {
	fmt.Fprintln(s.out, "| fleet | before | target | now |\n|---|---|---|---|")
	for _, measure := range []func(context.Context) (string, error){s.measureStart, s.measureRequests, s.measureOutage} {
		row, err := measure(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.out, row)
	}
	return nil
}

// measureStart counts the heartbeats that are refused while a fleet starts at once.
func (s *soak) measureStart(ctx context.Context) (string, error) {
	f, err := s.newFleet(ctx, 0)
	if err != nil {
		return "", err
	}
	defer f.close()
	for i := range startSize {
		if err := f.prepare(filepath.Join(s.dir, "pannier"), i); err != nil {
			return "", err
		}
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	var agents, starts sync.WaitGroup
	begun, failed := time.Now(), make([]error, startSize)
	f.sides = make([]*sidecar, startSize)
	for i := range startSize {
		agents.Go(func() { f.beat(beating, i) })
		starts.Go(func() { f.sides[i], failed[i] = f.start(ctx, i) })
	}
	starts.Wait()
	ready := time.Since(begun)
	pause(ctx, startCounted-ready)
	stop()
	agents.Wait()
	for _, id := range f.ids {
		if _, ok := f.dev.Card(id); !ok {
			failed = append(failed, errors.New(id+" has no card"))
		}
	}
	n := f.counts()
	return fmt.Sprintf("| %d sidecars of one address started at once, ready after %.0f s: requests in %v; heartbeats answered 429 | about 600; 185 | ; 0 | %d; %d of %d |",
		startSize, ready.Seconds(), startCounted, n.requests, n.heartbeat, n.beats), errors.Join(append(failed, ctx.Err())...)
}

// measureRequests counts what a fleet asks of the platform while two of its skills are edited in turn.
func (s *soak) measureRequests(ctx context.Context) (string, error) {
	f, err := s.newFleet(ctx, fleetSize)
	if err != nil {
		return "", err
	}
	defer f.close()
	beating, stop := context.WithCancel(ctx)
	defer stop()
	var agents sync.WaitGroup
	for i := range f.ids {
		agents.Go(func() { f.beat(beating, i) })
	}
	pause(ctx, fleetSettled)
	before := f.counts()
	for n, end := 1, time.Now().Add(fleetCounted); time.Now().Before(end) && ctx.Err() == nil; n++ {
		if err := f.edit(n%2, n); err != nil {
			return "", err
		}
		pause(ctx, fleetEdit)
	}
	after := f.counts()
	stop()
	agents.Wait()
	minutes := fleetCounted.Minutes()
	return fmt.Sprintf("| %d sidecars of one address, two edited in turn each %v: requests a minute; heartbeats answered 429 | about 900; 29 of 95 | ≤ 140; 0 | %.0f; %d |",
		fleetSize, fleetEdit, float64(after.requests-before.requests)/minutes, after.heartbeat-before.heartbeat), ctx.Err()
}

// measureOutage measures how long after the end of an outage the platform has the card of each sidecar.
func (s *soak) measureOutage(ctx context.Context) (string, error) {
	f, err := s.newFleet(ctx, outageSize)
	if err != nil {
		return "", err
	}
	defer f.close()
	f.down()
	for i := range f.ids {
		if err := f.edit(i, 1); err != nil {
			return "", err
		}
	}
	pause(ctx, fleetOutage)
	if err := f.up(); err != nil {
		return "", err
	}
	back := time.Now()
	took := make([]time.Duration, 0, len(f.ids))
	for left := slices.Clone(f.ids); len(left) > 0; {
		left = slices.DeleteFunc(left, func(id string) bool {
			card, _ := f.dev.Card(id)
			shown := newestEdit(card) == 1
			if shown {
				took = append(took, time.Since(back))
			}
			return shown
		})
		if time.Since(back) > patience {
			return "", fmt.Errorf("%d of %d cards did not come", len(left), len(f.ids))
		}
		pause(ctx, 5*time.Millisecond)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	slices.Sort(took)
	return fmt.Sprintf("| platform down %v, card after it is back, p50 / p95 of %d sidecars | 7.9 / 18.4 s | 1.0 / 2.2 s | %.1f / %.1f s |",
		fleetOutage, outageSize, took[len(took)/2].Seconds(), took[len(took)*95/100].Seconds()), nil
}

// newFleet starts sidecars, each with a workspace of one skill, and waits until the platform has the card of each.
func (s *soak) newFleet(ctx context.Context, size int) (*fleet, error) {
	f := &fleet{dev: dev.New(dev.Options{RateLimit: dev.RateLimit}), addr: "127.0.0.1:0"}
	var err error
	if f.dir, err = os.MkdirTemp(s.dir, "f"); err != nil {
		return nil, err
	}
	if err := f.up(); err != nil {
		return nil, err
	}
	for i := range size {
		err := f.prepare(filepath.Join(s.dir, "pannier"), i)
		if err == nil {
			f.sides = append(f.sides, nil)
			f.sides[i], err = f.start(ctx, i)
		}
		if err != nil {
			f.close()
			return nil, err
		}
	}
	err = within(ctx, "the platform has all cards", func() error {
		for _, id := range f.ids {
			if _, ok := f.dev.Card(id); !ok {
				return errors.New(id + " has no card")
			}
		}
		return nil
	})
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// prepare makes the workspace of a sidecar.
func (f *fleet) prepare(binary string, i int) error {
	id := fmt.Sprintf("dddddddd-3c0e-4d0a-9d5f-%012d", i)
	if _, err := f.dev.Seed(id, authToken); err != nil {
		return err
	}
	f.ids = append(f.ids, id)
	dir := f.workspace(i)
	if err := os.MkdirAll(filepath.Join(dir, "ws", "skills", "one"), 0o755); err != nil {
		return err
	}
	return errors.Join(f.edit(i, 0), os.WriteFile(filepath.Join(dir, "token"), []byte(authToken), 0o600), os.Symlink(binary, filepath.Join(dir, "pannier")))
}

func (f *fleet) start(ctx context.Context, i int) (*sidecar, error) {
	dir := f.workspace(i)
	return startSidecar(ctx, dir, 0, "run", "--workspace", filepath.Join(dir, "ws"), "--workspace-id", f.ids[i], "--socket", filepath.Join(dir, "s"),
		"--state-dir", filepath.Join(dir, "state"), "--environment-own", "block", "--platform-url", "http://"+f.addr, "--platform-token-file", filepath.Join(dir, "token"))
}

func (f *fleet) workspace(i int) string { return filepath.Join(f.dir, fmt.Sprint(i)) }

// edit replaces the skill of a sidecar.
func (f *fleet) edit(i, n int) error {
	file := filepath.Join(f.workspace(i), "ws", "skills", "one", "SKILL.md")
	text := fmt.Sprintf("---\nname: one\ndescription: Edit %d.\n---\nDo it.\n", n)
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// beat sends the heartbeats of an agent.
func (f *fleet) beat(ctx context.Context, i int) {
	pause(ctx, time.Duration(i)*heartbeatEvery/time.Duration(len(f.ids)))
	for ctx.Err() == nil {
		body := fmt.Appendf(nil, `{"workspace_id":%q}`, f.ids[i])
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+f.addr+molecule.PathHeartbeat, bytes.NewReader(body))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+authToken)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		}
		pause(ctx, heartbeatEvery)
	}
}

// ServeHTTP counts requests and hands them to the platform.
func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &statusCounter{ResponseWriter: w}
	f.dev.ServeHTTP(counted, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	beat := r.URL.Path == molecule.PathHeartbeat
	if beat {
		f.beats++
	}
	if !beat && r.URL.Path != molecule.PathEvents {
		f.requests++
	}
	if beat && counted.status == http.StatusTooManyRequests {
		f.heartbeat++
	}
}

// statusCounter remembers the status of an answer.
type statusCounter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusCounter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an event stream take the connection.
func (w *statusCounter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type fleetCounts struct{ requests, beats, heartbeat int }

func (f *fleet) counts() fleetCounts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fleetCounts{f.requests, f.beats, f.heartbeat}
}

// up begins to answer, at the address of before.
func (f *fleet) up() error {
	ln, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	f.addr = ln.Addr().String()
	server := &http.Server{Handler: f, ReadHeaderTimeout: patience, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.conns = append(f.conns, c)
		return ctx
	}}
	f.server = server
	go func() { _ = server.Serve(ln) }()
	return nil
}

// down listens no more and ends every connection, those of event streams too, as the end of a process does.
func (f *fleet) down() {
	_ = f.server.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

func (f *fleet) close() {
	for _, side := range f.sides {
		if side != nil {
			side.kill()
		}
	}
	f.down()
	f.dev.Close()
}
