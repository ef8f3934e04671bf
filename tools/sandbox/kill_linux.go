package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signalAll sends a signal to all descendants. In a namespace of processes, they are all there is.
func signalAll(namespace bool, signal syscall.Signal) {
	if namespace {
		_ = unix.Kill(-1, signal) // an error means that there is none
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, signal)
	}
}

// killDescendants kills all descendants until none is left. Without a namespace it stops them first, so that none can start another
// one between the look and the signal.
func killDescendants(namespace bool) {
	for {
		if namespace {
			signalAll(true, unix.SIGKILL)
		} else {
			stopped := map[int]bool{}
			for found := true; found; {
				found = false
				for _, pid := range descendants(os.Getpid()) {
					if !stopped[pid] {
						stopped[pid], found = true, true
						_ = unix.Kill(pid, unix.SIGSTOP)
					}
				}
			}
			signalAll(false, unix.SIGKILL)
		}
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if errors.Is(err, unix.ECHILD) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// descendants returns the processes below another one, as /proc has them now.
func descendants(of int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for queue := []int{of}; len(queue) > 0; queue = queue[1:] {
		found = append(found, children[queue[0]]...)
		queue = append(queue, children[queue[0]]...)
	}
	return found
}

// parentOf reads the parent of a process. Its name, in brackets, can contain anything.
func parentOf(pid int) (int, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	end := bytes.LastIndexByte(text, ')')
	if err != nil || end < 0 {
		return 0, false
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
