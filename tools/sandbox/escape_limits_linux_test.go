package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limitAttempts use up the machine, or outlive the call.
var limitAttempts = []attempt{
	{name: "start processes without end", alone: "limits", limits: Limits{Processes: 40}, try: func(v *victim) error {
		for range 200 {
			if _, err := os.StartProcess("/bin/sleep", []string{"sleep", "1000"}, &os.ProcAttr{}); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "take memory without end", alone: "limits", limits: Limits{MemoryBytes: 400 << 20}, try: func(v *victim) error {
		for range 8 {
			if _, err := unix.Mmap(-1, 0, 100<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "lock memory", alone: "limits", try: func(v *victim) error {
		memory, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		return unix.Mlock(memory)
	}},
	{name: "write a large file", alone: "limits", limits: Limits{FileBytes: 1 << 20}, try: func(v *victim) error {
		signal.Ignore(unix.SIGXFSZ)
		return os.WriteFile(filepath.Join(v.Scratch, "large"), make([]byte, 2<<20), 0o600)
	}},
	{name: "write many files", alone: "limits", limits: Limits{ScratchBytes: 4 << 20}, judge: wasFull, try: func(v *victim) error {
		for i := range 16 {
			if err := os.WriteFile(filepath.Join(v.Scratch, fmt.Sprint(i)), make([]byte, 1<<20), 0o600); err != nil {
				return err
			}
		}
		time.Sleep(waits)
		return nil
	}},
	{name: "write many files that cannot be listed", alone: "limits", limits: Limits{ScratchBytes: 4 << 20}, judge: wasFull, try: func(v *victim) error {
		dir := filepath.Join(v.Scratch, "hidden")
		if err := os.Mkdir(dir, 0o300); err != nil {
			return err
		}
		for i := range 16 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 1<<20), 0o600); err != nil {
				return err
			}
		}
		time.Sleep(waits)
		return nil
	}},
	{name: "make many empty files", alone: "limits", judge: wasFull, try: func(v *victim) error {
		for i := range scratchFiles + 100 {
			if err := os.WriteFile(filepath.Join(v.Scratch, fmt.Sprint(i)), nil, 0o600); err != nil {
				return err
			}
		}
		time.Sleep(waits)
		return nil
	}},
	{name: "open files without end", alone: "limits", try: func(v *victim) error {
		for range 2000 {
			if _, err := unix.Open("/dev/null", unix.O_RDONLY, 0); err != nil {
				return err
			}
		}
		return nil
	}},
	{name: "compute without end, ignoring the signal", alone: "limits", limits: Limits{CPUSeconds: 1}, try: func(v *victim) error {
		signal.Ignore(unix.SIGXCPU)
		for start := time.Now(); time.Since(start) < waits; {
		}
		return nil
	}, judge: func(exit Exit, out string) error {
		if exit.Signal != 0 {
			return fmt.Errorf("killed by signal %d", exit.Signal)
		}
		return nil
	}},
	{name: "raise its limits", alone: "limits", try: func(v *victim) error {
		return unix.Prlimit(0, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 100_000, Max: 100_000}, nil)
	}},
	{name: "write output without end", alone: "supervisor", limits: Limits{OutputBytes: 1000}, try: func(v *victim) error {
		for range 1000 {
			fmt.Println(strings.Repeat("x", 1000))
		}
		return nil
	}, judge: func(exit Exit, out string) error {
		if len(out) > 1000 {
			return nil
		}
		return fmt.Errorf("%d of %d bytes", len(out), exit.OutputBytes)
	}},
	{name: "outlive the call as a daemon", alone: "supervisor", try: outlive("(setsid sh -c '(sleep %s & sleep %s & sleep %s) &' &)"), judge: isGone},
	{name: "outlive the call in a session of its own", alone: "supervisor", try: outlive("setsid sleep %s & exit 0"), judge: isGone},
	{name: "outlive the call, ignoring SIGTERM", alone: "supervisor", try: outlive("(trap '' TERM HUP INT; sleep %s) & exit 0"), judge: isGone},
	{name: "outlive the call, stopped", alone: "supervisor", try: outlive("(sh -c 'kill -STOP $$; sleep %s') & exit 0"), judge: isGone},
}

// wasFull returns an error if the program was killed because of its scratch directory.
func wasFull(exit Exit, _ string) error {
	if exit.ScratchFull {
		return errors.New("killed")
	}
	return nil
}

// outlive starts a shell that leaves processes, which have a number in their arguments.
func outlive(script string) func(v *victim) error {
	return func(v *victim) error {
		mark := fmt.Sprintf("%d%06d", 1_000_000, time.Now().UnixNano()%1_000_000)
		if err := runProgram("/bin/sh", "-c", strings.ReplaceAll(script, "%s", mark)); err != nil {
			return err
		}
		fmt.Println("MARK: " + mark)
		return nil
	}
}

// isGone looks for the processes from outside.
func isGone(exit Exit, out string) error {
	_, mark, ok := strings.Cut(out, "MARK: ")
	mark, _, _ = strings.Cut(mark, "\n")
	if !ok {
		return nil
	}
	if left := processesWith("sleep\x00" + mark); len(left) > 0 {
		return nil
	}
	return fmt.Errorf("killed: %s", mark)
}
