// The bench makes trees of skills, drives the built binary from outside, and prints a table of what users wait for.
//
//	go run ./internal/testbench/bench
//	go run ./internal/testbench/bench -skills 10000 -rows change,look -before /tmp/pannier-before
//	go run ./internal/testbench/bench -skills 50000 -rows start,restart -dir /tmp/trees
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	binary, before  string
	skills          string
	rows            string
	dir             string
	rounds, samples int
	rest, load      time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	work, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.binary, "binary", "", "measure this binary; without it, one is built as the Dockerfile does")
	f.StringVar(&o.before, "before", "", "measure this binary too, run by run in turn, and print the ratio")
	f.StringVar(&o.skills, "skills", "100,1000,10000", "numbers of skills; for more than 5000, --max-dirs is raised")
	f.StringVar(&o.rows, "rows", strings.Join(names, ","), "rows")
	f.StringVar(&o.dir, "dir", work, "keep trees in this directory, and use those that are there")
	f.IntVar(&o.rounds, "rounds", 3, "how often each row is run; rest, peak and after are run once")
	f.IntVar(&o.samples, "samples", 10, "samples of a run where one process gives several")
	f.DurationVar(&o.rest, "rest", time.Minute, "how long a sidecar rests before its memory is read")
	f.DurationVar(&o.load, "load", 30*time.Second, "how long clients read for the peak of memory")
	if err := f.Parse(args); err != nil {
		return err
	}
	for name := range strings.SplitSeq(o.rows, ",") {
		if !slices.Contains(names, name) {
			return fmt.Errorf("row %q not found; rows are %s", name, strings.Join(names, ", "))
		}
	}
	if o.binary == "" {
		o.binary = filepath.Join(work, "pannier")
		if err := build(ctx, o.binary); err != nil {
			return err
		}
	}
	return o.measureAll(ctx, work, out)
}

// build makes the binary as the Dockerfile does.
func build(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "pannier/cmd/pannier")
	cmd.Env, cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	return cmd.Run()
}

// measureAll prints a table for each number of skills.
func (o options) measureAll(ctx context.Context, work string, out io.Writer) error {
	empty, err := makeTree(filepath.Join(work, "empty"), 0)
	if err != nil {
		return err
	}
	for text := range strings.SplitSeq(o.skills, ",") {
		skills, err := strconv.Atoi(text)
		if err != nil || skills < 1 {
			return fmt.Errorf("%q is not a number of skills", text)
		}
		full, err := makeTree(filepath.Join(o.dir, "skills-"+text), skills)
		if err != nil {
			return err
		}
		load, _ := os.ReadFile("/proc/loadavg")
		t := &table{options: o, tree: full, empty: empty, results: [2]map[string][]float64{{}, {}}}
		err = t.measure(ctx)
		fmt.Fprintf(out, "%d skills, %d processors, load %.4s at the start:\n\n", skills, runtime.NumCPU(), load)
		t.print(out) // also what was measured before a failure
		if err != nil {
			return err
		}
	}
	return nil
}

// table has the samples of a tree.
type table struct {
	options
	tree, empty tree
	results     [2]map[string][]float64 // of the binary and of the one before, by row
}

func (t *table) wants(r row) bool { return slices.Contains(strings.Split(t.rows, ","), r.name) }

// measure runs the rows, round by round and binary by binary, with all floors before each run.
func (t *table) measure(ctx context.Context) error {
	binaries := slices.DeleteFunc([]string{t.binary, t.before}, func(path string) bool { return path == "" })
	for i, r := range rows {
		end := i + 1 // of the rows that this run records
		for end < len(rows) && rows[end].run == nil {
			end++
		}
		if r.run == nil || !slices.ContainsFunc(rows[i:end], t.wants) {
			continue
		}
		rounds := t.rounds
		if slices.Contains([]string{"rest", "peak", "size"}, r.name) {
			rounds = 1
		}
		for round := range rounds {
			fmt.Fprintf(os.Stderr, "%d skills: %s %d/%d\n", len(t.tree.names), r.name, round+1, rounds)
			for turn := range binaries {
				n := (turn + round) % len(binaries)
				run := &trial{options: t.options, binary: binaries[n], tree: t.tree, empty: t.empty, results: t.results[n]}
				if err := run.perform(ctx, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *table) print(out io.Writer) {
	heads := []string{"row", "what", "unit", "minimum", "median", "p99", "floor", "median to floor", "target"}
	if t.before != "" {
		heads = append(heads, "median before", "ratio")
	}
	fmt.Fprintf(out, "| %s |\n%s|\n", strings.Join(heads, " | "), strings.Repeat("|---", len(heads)))
	for _, f := range floors {
		t.printRow(out, row{name: "floor " + f.name, what: f.what, unit: "ms"})
	}
	for _, r := range rows {
		if t.wants(r) {
			t.printRow(out, r)
		}
	}
	fmt.Fprintln(out)
}

func cell(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
}

func (t *table) printRow(out io.Writer, r row) {
	samples := t.results[0][r.name]
	median, floor, times := quantile(samples, .5), quantile(t.results[0]["floor "+r.floor], .5), ""
	if r.floor != "" && len(samples) > 0 {
		times = cell(median/floor) + "x"
	}
	cells := []string{
		r.name, r.what, r.unit, cell(quantile(samples, 0)), cell(median), cell(quantile(samples, .99)),
		cell(floor), times, r.target[len(t.tree.names)],
	}
	if t.before != "" {
		before := quantile(t.results[1][r.name], .5)
		cells = append(cells, cell(before), cell(median/before))
	}
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

// quantile returns the smallest sample that at least that part of the samples does not exceed; NaN without samples.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
