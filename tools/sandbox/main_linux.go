package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The supervisor is started with every program. It begins as soon as the imports of this package are initialized, so that it does not
// pay for the tables of all packages of the sidecar.
func init() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case command:
		os.Exit(supervise())
	case starterCommand:
		os.Exit(serveForks())
	}
}

// supervise reads an order from descriptor 3, starts the program and waits until it and all its descendants have ended. It returns the
// exit code of the process.
func supervise() int {
	// Nothing but standard input and output reaches the program.
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil {
		closeOnExec()
	}
	control, answers := os.NewFile(orderFD, "order"), os.NewFile(statusFD, "status")
	decoder := json.NewDecoder(control)
	var o order
	if err := decoder.Decode(&o); err != nil {
		return 1
	}
	o.Limits = o.Limits.withDefaults()
	s := &supervisor{order: &o}
	st := s.run(io.MultiReader(decoder.Buffered(), control))
	if _, err := answers.Write(encode(st)); err != nil {
		return 1
	}
	return 0
}

// closeOnExec marks descriptors on kernels that have no close_range.
func closeOnExec() {
	for fd := 3; fd < 1024; fd++ {
		unix.CloseOnExec(fd)
	}
}

// supervisor is the process between the sidecar and a program. The program's orphans become its children, so it can end them all, and
// the sidecar has no child that it does not know.
type supervisor struct {
	order *order
	has   isolation
	// full says that the scratch directory holds too much.
	full atomic.Bool
	once sync.Once
}

// run starts the program and returns its status.
func (s *supervisor) run(control io.Reader) status {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return status{Error: "become a subreaper: " + err.Error()}
	}
	// The kernel lets only root look into the supervisor.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return status{Error: "hide the supervisor: " + err.Error()}
	}
	if s.order.Namespaces {
		s.has = isolateMounts(s.order.writable())
		s.has.loopback = !s.order.Network && startLoopback() == nil
	}
	if s.order.Proxy {
		if !s.has.loopback {
			return status{Unavailable: []string{noProxy}}
		}
		if err := sendListener(proxyFD); err != nil {
			return status{Error: err.Error()}
		}
	}
	lim, err := readLimits(s.order)
	if err != nil {
		return status{Error: err.Error()}
	}
	pid, st := startInThread(s.order, s.has, lim)
	err = lim.restore()
	if pid == 0 || s.order.Probe {
		return st
	}
	if err = errors.Join(err, lim.fix(pid, st.Seccomp)); err != nil {
		go s.killAll()
		s.wait(pid)
		return status{Error: err.Error()}
	}
	go s.obey(control)
	if s.order.Scratch != "" {
		go s.watchScratch()
	}
	return s.wait(pid)
}

// obey follows the sidecar: a byte asks for SIGTERM, the end for SIGKILL. The end also comes when the sidecar dies.
func (s *supervisor) obey(control io.Reader) {
	b := make([]byte, 1)
	for {
		if _, err := io.ReadFull(control, b); err != nil {
			s.killAll()
			return
		}
		if b[0] == terminate {
			signalAll(s.has.processes, unix.SIGTERM)
		}
	}
}

// wait reaps until the program has ended, kills what is left, and reaps that as well.
func (s *supervisor) wait(pid int) (st status) {
	for {
		var ws syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no child is left
			st.ScratchFull = s.full.Load()
			return st
		case ended == pid:
			st.Code = ws.ExitStatus()
			if ws.Signaled() {
				st.Signal = int(ws.Signal())
			}
			go s.killAll()
		}
	}
}

// killAll kills all descendants. wait returns when the last one has ended.
func (s *supervisor) killAll() {
	s.once.Do(func() { killDescendants(s.has.processes) })
}
