package browser

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one of the system. The time of its start tells it from a later one with the same number.
type process struct {
	pid, parent int
	began       string
	name        string
}

// String is what a failure says of it.
func (p process) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.name) }

// read returns the process of a number; false if there is none, or only its exit status is left.
func read(pid int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name is in brackets, and may hold any character (proc_pid_stat(5)).
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	if open < 0 || end < open {
		return process{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid: pid, parent: parent, began: fields[19], name: string(text[open+1 : end])}, err == nil
}

// family returns a process and all that descend from it.
func family(pid int) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []process
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := read(n); ok {
				all = append(all, p)
			}
		}
	}
	var found []process
	for wanted := []int{pid}; len(wanted) > 0; {
		var next []int
		for _, p := range all {
			if slices.Contains(wanted, p.pid) && !slices.Contains(found, p) {
				found = append(found, p)
			}
			if slices.Contains(wanted, p.parent) {
				next = append(next, p.pid)
			}
		}
		wanted = next
	}
	return found
}

func (p process) running() bool {
	now, ok := read(p.pid)
	return ok && now.began == p.began
}

func (p process) kill() {
	if p.running() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // await sees whether it has ended
	}
}

// await returns the processes that are still there after a time.
func await(processes []process, patience time.Duration) []process {
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		processes = slices.DeleteFunc(processes, func(p process) bool { return !p.running() })
		if len(processes) == 0 {
			return nil
		}
		select {
		case <-deadline:
			return processes
		case <-tick.C:
		}
	}
}
