package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// warm is the starter of this process. Tests use others.
var warm = &starter{}

// Release ends the processes that wait for the next call, and removes the control groups. Calls that run go on, and the next one starts them anew.
func Release() {
	warm.mu.Lock()
	defer warm.mu.Unlock()
	warm.stop()
	releaseGroups()
}

// canFork reports whether a supervisor for an order can be forked. Without namespaces it has to look for descendants, which takes a Go
// program.
func canFork(o *order, l layers) bool { return l.whole && o.Namespaces }

// startForked gives an order to a forked supervisor. If that has died before it began, another one gets the order.
func startForked(o *order, l layers, of *group) (*process, error) {
	path, err := lookUp(o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	abi := landlockABI()
	if o.Level != BestEffort && abi < RequiredABI {
		return nil, unavailable([]string{missingLandlock(abi)})
	}
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	stdin := o.StdinFile
	if stdin == nil {
		if stdin, err = memoryFile(o.Stdin); err != nil {
			return nil, err
		}
		open = append(open, stdin)
	}
	outputR, outputW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe for the sandbox: %w", err)
	}
	open = append(open, outputW)
	passed := []int{int(stdin.Fd()), int(outputW.Fd()), int(outputW.Fd()), int(outputW.Fd())}
	if abi > 0 {
		ruleset, err := newRuleset(&o.Spec, abi, isolation{loopback: !o.Network}) // the steps allow /proc
		if err != nil {
			outputR.Close()
			return nil, err
		}
		defer unix.Close(ruleset)
		passed[rulesetFD-stdinFD] = ruleset
	}
	if of != nil {
		passed[cgroupFD-stdinFD] = int(of.file.Fd())
	}
	w, from := wantedOf(l.attributes(&o.Spec)), warm
	started := time.Now()
	for range 3 {
		var s *supervisorProcess
		if s, err = from.take(w); err != nil {
			break
		}
		var p *forkedProcess
		if p, err = s.give(o, path, abi, passed, of != nil); errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			break
		}
		go from.prepare(w)
		var serve func() (stop func())
		if p.listener != nil {
			serve = func() (stop func()) { return o.Serve(p.listener) }
		}
		return &process{serve: serve, order: o, control: p, output: outputR, started: started, wait: p.wait, kill: p.kill, judge: p.judge}, nil
	}
	outputR.Close()
	return nil, err
}

// errGone says that a supervisor ended before it began to carry out its order.
var errGone = errors.New("the supervisor has ended")

// wantedOf describes the supervisor of these attributes.
func wantedOf(attr *syscall.SysProcAttr) wanted {
	w := wanted{Flags: attr.Cloneflags, Groups: attr.GidMappingsEnableSetgroups}
	for _, m := range attr.UidMappings {
		w.UIDs += fmt.Sprintf("%d %d %d\n", m.ContainerID, m.HostID, m.Size)
	}
	for _, m := range attr.GidMappings {
		w.GIDs += fmt.Sprintf("%d %d %d\n", m.ContainerID, m.HostID, m.Size)
	}
	return w
}

// forkedProcess is a forked supervisor with its order.
type forkedProcess struct {
	*supervisorProcess
	program  *program
	first    record
	listener *os.File // for [Spec].Serve
	records  []byte   // what follows, read by wait
	scratch  *scratchWatch
}

// give hands an order over and waits for the first answer.
func (s *supervisorProcess) give(o *order, path string, abi int, passed []int, grouped bool) (*forkedProcess, error) {
	made, err := compile(o, path, abi, grouped, s.order)
	if err != nil {
		s.close()
		return nil, err
	}
	head, rest := made.encode()
	if len(rest) > orderBytes {
		s.close()
		return nil, fmt.Errorf("%w: arguments and environment have more than %d bytes", ErrNotStarted, orderBytes)
	}
	p := &forkedProcess{supervisorProcess: s, program: made}
	_ = s.conn.SetDeadline(time.Now().Add(starterWait))
	err = sendFiles(s.conn, head, passed)
	if err == nil {
		_, err = s.conn.Write(rest)
	}
	for err == nil {
		var text []byte
		var files []*os.File
		if text, files, err = receiveFiles(s.conn, int(unsafe.Sizeof(record{}))); err != nil || len(text) < cap(text) {
			break
		}
		if p.first = recordIn(text); p.first.kind != recordListener {
			_ = s.conn.SetDeadline(time.Time{})
			return p, nil
		}
		if len(files) == 1 {
			p.listener = files[0]
		}
	}
	if p.listener != nil {
		p.listener.Close()
	}
	s.close()
	return nil, errGone
}

func recordIn(b []byte) record {
	n := binary.NativeEndian
	return record{n.Uint32(b), n.Uint32(b[4:]), n.Uint32(b[8:])}
}

// Write implements io.Writer for the bytes that follow the order.
func (p *forkedProcess) Write(b []byte) (int, error) { return p.conn.Write(b) }

// Close ends the order, which kills the program.
func (p *forkedProcess) Close() error {
	raw, err := p.conn.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
}

// wait returns when the supervisor has ended.
func (p *forkedProcess) wait() {
	if p.program.order.Scratch != "" {
		p.scratch = watchScratchOf(p.program.order, p)
	}
	p.records, _ = io.ReadAll(io.LimitReader(p.conn, 1<<10))
	p.scratch.stop()
}

func (p *forkedProcess) kill() { _ = unix.PidfdSendSignal(int(p.pid.Fd()), unix.SIGKILL, nil, 0) }

// judge reads the last records into a status.
func (p *forkedProcess) judge() (st status, err error) {
	defer p.close()
	st.ScratchFull = p.scratch.isFull()
	size := int(unsafe.Sizeof(record{}))
	for r := p.first; ; {
		switch r.kind {
		case recordEnded:
			ws := syscall.WaitStatus(r.value)
			st.Code = ws.ExitStatus()
			if ws.Signaled() {
				st.Signal = int(ws.Signal())
			}
			return st, nil
		case recordSupervisor:
			return p.failed(&p.program.supervisor, r), nil
		case recordTool:
			return p.failed(&p.program.tool, r), nil
		}
		if len(p.records) < size {
			return st, errors.New("the sandbox ended without a status")
		}
		r, p.records = recordIn(p.records), p.records[size:]
	}
}

// failed says which step has failed.
func (p *forkedProcess) failed(of *steps, r record) status {
	name, errno := "unknown step", unix.Errno(r.errno)
	if int(r.value) < len(of.names) {
		name = of.names[r.value]
	}
	switch name {
	case stepDirectory, stepExecute:
		return status{Error: "start " + p.program.path, NotStarted: true, Errno: errno}
	case stepFilter:
		return status{Unavailable: []string{fmt.Sprintf("%s: %v", name, errno)}}
	}
	return status{Error: fmt.Sprintf("%s: %v", name, errno)}
}

// scratchWatch measures the scratch directory of a program.
type scratchWatch struct {
	ended, done chan struct{}
	full        bool
}

// watchScratchOf kills the program when its scratch directory holds too much.
func watchScratchOf(o *order, program io.Closer) *scratchWatch {
	w := &scratchWatch{ended: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		tick := time.NewTicker(scratchInterval)
		defer tick.Stop()
		for {
			select {
			case <-w.ended:
				return
			case <-tick.C:
			}
			if exceeds(o.Scratch, o.Limits.ScratchBytes) {
				w.full = true
				program.Close()
				return
			}
		}
	}()
	return w
}

func (w *scratchWatch) stop() {
	if w != nil {
		close(w.ended)
		<-w.done
	}
}

func (w *scratchWatch) isFull() bool { return w != nil && w.full }
