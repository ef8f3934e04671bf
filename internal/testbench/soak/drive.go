package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pannier/internal/testbench/oracle"
)

const (
	workspaceID = "6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11"
	authToken   = "soak-token"
)

// The settings of the sidecar, short so that there are many rounds in a minute.
const (
	settle   = 50 * time.Millisecond
	debounce = 300 * time.Millisecond
	grace    = 500 * time.Millisecond
	// In half of its lives the sidecar never compares by itself, so that what events missed stays missed.
	resyncOften, resyncNever = 3 * time.Second, 0
)

// soak is the driver.
type soak struct {
	options
	out       io.Writer
	rng       *rand.Rand
	workspace string
	rules     oracle.Rules
	endpoint  *oracle.Endpoint
	pens      []*pen
	side      *sidecar
	life      process
	untold    bool // the writers do what the kernel does not tell of, so that a life without resyncs would not see it
	chaos     chaos
	tally     tally
	states    states
	began     time.Time
	reported  time.Time
}

// process is what one process of the sidecar has been told.
type process struct {
	number int
	resync time.Duration
	files  int
}

// drive is the driver program.
func drive(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	s := &soak{options: o, out: out, rng: rand.New(rand.NewPCG(o.seed, 0)), workspace: filepath.Join(o.dir, "ws")}
	s.rules = oracle.Defaults(s.workspace)
	if err := s.lay(); err != nil {
		return err
	}
	if o.latency {
		if err := s.measure(ctx); err != nil {
			return err
		}
	}
	if o.latency || o.cadence {
		if err := s.measureCadences(ctx); err != nil {
			return err
		}
	}
	if o.latency || o.fleet {
		return s.measureFleets(ctx)
	}
	if o.cadence {
		return nil
	}
	return s.run(ctx)
}

// lay makes the workspace and the endpoint.
func (s *soak) lay() error {
	if err := os.MkdirAll(filepath.Join(s.workspace, "skills"), 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(s.workspace, "config.yaml"), "name: desk\n"); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(s.dir, "token"), authToken); err != nil {
		return err
	}
	var err error
	s.endpoint, err = oracle.NewEndpoint(workspaceID, authToken, s.states.judge)
	return err
}

// run goes round after round until the time is over or something differs.
func (s *soak) run(ctx context.Context) (err error) {
	fmt.Fprintf(s.out, "seed %d, %d writers, %v, in %s\n", s.seed, s.writers, s.duration, s.dir)
	s.began, s.reported = time.Now(), time.Now()
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.begin(ctx); err != nil {
		return err
	}
	for time.Since(s.began) < s.duration && ctx.Err() == nil {
		if err := s.round(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("round %d, life %+v: %w", s.tally.rounds, s.life, err)
		}
		if time.Since(s.reported) >= s.report {
			s.reported = time.Now()
			fmt.Fprintln(s.out, s.line())
		}
	}
	fmt.Fprintln(s.out, s.line())
	return errors.Join(s.tally.growth(), s.side.stop())
}

// begin starts the writers and the first life of the sidecar.
func (s *soak) begin(ctx context.Context) error {
	for i := range s.writers {
		p, err := startPen(roleWriter, strconv.Itoa(i), strconv.FormatUint(s.seed, 10), strconv.Itoa(s.skills), s.workspace)
		if err != nil {
			return err
		}
		s.pens = append(s.pens, p)
	}
	return s.revive(ctx)
}

// end stops all that was started.
func (s *soak) end() error {
	var errs []error
	s.chaos.end(s)
	for _, p := range s.pens {
		errs = append(errs, p.close())
	}
	if s.side != nil {
		s.side.kill()
	}
	s.endpoint.Close()
	return errors.Join(errs...)
}

// revive starts the sidecar for another life.
func (s *soak) revive(ctx context.Context) error {
	s.life.number++
	s.life.resync, s.life.files = resyncNever, 0
	if s.untold || s.rng.IntN(2) == 0 {
		s.life.resync = resyncOften
		s.life.files = []int{0, 0, 128}[s.rng.IntN(3)]
	}
	s.endpoint.Excuse()
	s.tally.reborn()
	side, err := startSidecar(ctx, s.dir, s.life.files, s.arguments()...)
	s.side = side
	return err
}

func (s *soak) arguments() []string {
	return []string{
		"run", "--workspace", s.workspace, "--workspace-id", workspaceID, "--socket", filepath.Join(s.dir, "s"),
		"--state-dir", filepath.Join(s.dir, "state"), "--environment-own", "block", "--log-level", "info",
		"--platform-url", s.endpoint.URL(), "--platform-token-file", filepath.Join(s.dir, "token"),
		"--settle", settle.String(), "--debounce", debounce.String(), "--delete-grace", grace.String(),
		"--resync", s.life.resync.String(),
	}
}
