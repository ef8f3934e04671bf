// The soak drives the built binary through random churn and holds what it serves against an independent walk, for as long as
// it is told.
//
//	go run ./internal/testbench/soak -duration 10m
//	go run ./internal/testbench/soak -latency
//	go run ./internal/testbench/soak -cadence
//	go run ./internal/testbench/soak -fleet
//
// Processes of its own do the writing, because one process hides races. Now and then they pause; the sidecar then has to
// show the tree as it is, by events alone, and the endpoint has to hold the card of it. Whatever differs ends the soak
// with the seed, and leaves the tree and the logs in the directory that it names.
//
// Run as root, the soak gives up its rights before it begins, because nothing is unreadable for root.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// The soak is four programs in one; the variable says which a process is.
const (
	roleVariable = "SOAK_ROLE"
	roleDriver   = "driver"
	roleWriter   = "writer"
	roleHand     = "hand"
)

// ordinaryUser is the user that a soak of root becomes.
const ordinaryUser = 65534

// options are the flags.
type options struct {
	duration time.Duration
	seed     uint64
	writers  int
	skills   int
	report   time.Duration
	latency  bool
	cadence  bool
	fleet    bool
	samples  int
	keep     bool
	binary   string
	dir      string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(play(ctx, os.Getenv(roleVariable), os.Args[1:], os.Stdout))
}

// play is one of the four programs. It returns the exit code.
func play(ctx context.Context, role string, args []string, out io.Writer) int {
	var err error
	switch role {
	case roleWriter:
		err = write(os.Stdin, out, args)
	case roleHand:
		err = hand(os.Stdin, out, args)
	case roleDriver:
		err = drive(ctx, args, out)
	default:
		err = launch(ctx, args, out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// parse reads the flags.
func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.DurationVar(&o.duration, "duration", time.Minute, "how long to go on")
	f.Uint64Var(&o.seed, "seed", 0, "what the random choices begin with; 0 chooses one")
	f.IntVar(&o.writers, "writers", 3, "how many processes write")
	f.IntVar(&o.skills, "skills", 40, "how many names of skills the writers share")
	f.DurationVar(&o.report, "report", 10*time.Second, "how often a line is printed")
	f.BoolVar(&o.latency, "latency", false, "measure isolated changes instead")
	f.BoolVar(&o.cadence, "cadence", false, "measure only changes that follow each other, or come beside noise")
	f.BoolVar(&o.fleet, "fleet", false, "measure only many sidecars of one address, and an outage of their platform")
	f.IntVar(&o.samples, "samples", 100, "how many changes of each kind are measured")
	f.BoolVar(&o.keep, "keep", false, "leave the directory also where all went well")
	f.StringVar(&o.binary, "pannier", "", "drive this binary instead of building one")
	f.StringVar(&o.dir, "dir", "", "work in this new directory; it holds pannier, the binary, then")
	err := f.Parse(args)
	if o.seed == 0 {
		o.seed = rand.Uint64N(1 << 32)
	}
	return o, err
}

// launch builds the binary into a new directory and runs the driver in it, without the rights of root.
func launch(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	if err := o.obtain(ctx, filepath.Join(dir, "pannier")); err != nil {
		return err
	}
	if err := runDriver(ctx, dir, append(args, "-seed", strconv.FormatUint(o.seed, 10), "-dir", dir), out); err != nil {
		return fmt.Errorf("soak: %w; seed %d, tree and logs in %s", err, o.seed, dir)
	}
	if o.keep {
		return nil
	}
	return os.RemoveAll(dir)
}

// runDriver runs this program again as the driver.
func runDriver(ctx context.Context, dir string, args []string, out io.Writer) error {
	self := filepath.Join(dir, "soak") // where everybody may run it
	if err := copySelf(self); err != nil {
		return err
	}
	driver := exec.CommandContext(ctx, self, args...)
	driver.Env = append(os.Environ(), roleVariable+"="+roleDriver)
	driver.Stdout, driver.Stderr, driver.Dir = out, os.Stderr, dir
	driver.Cancel = func() error { return driver.Process.Signal(syscall.SIGTERM) }
	driver.WaitDelay = 30 * time.Second
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, ordinaryUser, ordinaryUser); err != nil {
			return err
		}
		driver.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	}
	return driver.Run()
}

func copySelf(to string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return copyProgram(exe, to)
}

func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// obtain puts the binary at a path: the one that was given, or one built as a release is.
func (o options) obtain(ctx context.Context, path string) error {
	if o.binary != "" {
		return copyProgram(o.binary, path)
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "pannier/cmd/pannier")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}
