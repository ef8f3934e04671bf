package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// useBuiltProgram takes the built pannier as the supervisor, because the start of a process depends on its size.
func useBuiltProgram(b *testing.B) {
	if Support().Level != Required {
		b.Skip("no sandbox")
	}
	path := filepath.Join(b.TempDir(), "pannier")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "pannier/cmd/pannier")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release is built
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	before := supervisorPath
	b.Cleanup(func() { supervisorPath = before })
	supervisorPath = path
}

// measure reports the median and the processor time of a run, besides the mean.
func measure(b *testing.B, run func() error) {
	var times []time.Duration
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &before)
	for b.Loop() {
		start := time.Now()
		if err := run(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &after)
	slices.Sort(times)
	spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[0].Microseconds())/1000, "min-ms")
	b.ReportMetric(float64(spent)/1e6/float64(len(times)), "cpu-ms")
}

// BenchmarkRun runs a program without a sandbox, and with one by the built pannier.
func BenchmarkRun(b *testing.B) {
	useBuiltProgram(b)
	spec := Spec{Argv: []string{"/bin/true"}, Dir: "/", Level: Required}
	sandboxed := func() error { _, err := Run(b.Context(), spec, io.Discard); return err }
	b.Run("bare", func(b *testing.B) {
		measure(b, func() error { return exec.Command("/bin/true").Run() })
	})
	b.Run("sandboxed", func(b *testing.B) { measure(b, sandboxed) })
	l := supported()
	defer func() { supported = func() layers { return l } }()
	supported = func() layers { return layers{report: l.report} }
	b.Run("without-namespaces", func(b *testing.B) { measure(b, sandboxed) })
}

// BenchmarkFiftyAtOnce runs fifty programs at once.
func BenchmarkFiftyAtOnce(b *testing.B) {
	useBuiltProgram(b)
	spec := Spec{Argv: []string{"/bin/true"}, Dir: "/", Level: Required}
	measure(b, func() error {
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				if _, err := Run(b.Context(), spec, io.Discard); err != nil {
					b.Error(err)
				}
			})
		}
		wait.Wait()
		return nil
	})
}
