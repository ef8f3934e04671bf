package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	defaultGrace = 2 * time.Second
	// killWait bounds how long the supervisor may take to kill all descendants.
	killWait = 10 * time.Second
	// drainWait bounds how long output may stay open after the supervisor has ended.
	drainWait = 2 * time.Second
)

// supervisorPath is the program itself, also after its file was replaced. Benchmarks use another one.
var supervisorPath = "/proc/self/exe"

// Run runs a program in the sandbox and returns when it and all its descendants have ended. It gives standard output and standard
// error to stdout as they are written, from one goroutine, up to Limits.OutputBytes; the rest is read and counted. When the context
// is done, the program gets SIGTERM, then SIGKILL. An error means that the program was not started, or that its end is not known.
func Run(ctx context.Context, spec Spec, stdout io.Writer) (Exit, error) {
	support := Support()
	if spec.Level != BestEffort && support.Level != Required {
		return Exit{}, unavailable(support.Missing)
	}
	if len(spec.Argv) == 0 {
		return Exit{}, fmt.Errorf("%w: no program", ErrNotStarted)
	}
	spec.Limits = spec.Limits.withDefaults()
	l := supported()
	if spec.Serve != nil && (spec.Network || !l.namespaces) {
		return Exit{}, unavailable([]string{noProxy})
	}
	o := order{Spec: spec, Namespaces: l.namespaces, User: l.user, Proxy: spec.Serve != nil}
	run := func(supervised bool, start func(*group) (*process, error)) (Exit, error) {
		of, release, err := acquireGroup(spec.Limits, supervised)
		if err != nil {
			return Exit{}, err
		}
		defer release()
		p, err := start(of)
		if err != nil {
			return Exit{}, err
		}
		p.group = of
		return p.follow(ctx, stdout)
	}
	if canFork(&o, l) {
		exit, err := run(false, func(of *group) (*process, error) { return startForked(&o, l, of) })
		if !errors.Is(err, errStarter) {
			return exit, err
		}
	}
	return run(true, func(of *group) (*process, error) { return startSupervisor(&o, l.attributes(&spec), of) })
}

// process is a supervisor, as its parent sees it.
type process struct {
	order   *order
	control io.WriteCloser
	output  *os.File // read
	started time.Time
	// wait returns when it has ended, kill has it end, and judge returns its status then.
	wait, kill func()
	judge      func() (status, error)
	// serve has [Spec].Serve serve until the returned function is called; nil where there is none.
	serve func() (stop func())
	group *group // nil where there is none
}

// startSupervisor starts a supervisor and gives it its order.
func startSupervisor(o *order, attr *syscall.SysProcAttr, of *group) (*process, error) {
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			open = append(open, r, w)
		}
		return r, w, err
	}
	orderR, orderW, err1 := pipe()
	statusR, statusW, err2 := pipe()
	outputR, outputW, err3 := pipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("open a pipe for the sandbox: %w", err)
	}
	stdin := o.StdinFile
	if stdin == nil {
		file, err := memoryFile(o.Stdin)
		if err != nil {
			return nil, err
		}
		open = append(open, file)
		stdin = file
	}
	var proxy *os.File
	passed := []*os.File{orderR, statusW}
	if o.Proxy {
		ours, theirs, err := socketFiles(unix.SOCK_STREAM)
		if err != nil {
			return nil, err
		}
		proxy, open, passed = ours, append(open, theirs), append(passed, theirs)
	}
	cmd := &exec.Cmd{
		Path: supervisorPath, Args: []string{"pannier", command}, Env: []string{"GOMAXPROCS=2"}, Dir: "/",
		Stdin: stdin, Stdout: outputW, Stderr: outputW, ExtraFiles: passed, SysProcAttr: attr,
	}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		if proxy != nil {
			proxy.Close()
		}
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	p := &process{order: o, control: orderW, output: outputR, started: started}
	p.wait, p.kill = func() { _ = cmd.Wait() }, func() { _ = cmd.Process.Kill() }
	p.judge = func() (status, error) {
		st, err := readStatus(statusR)
		if err != nil {
			err = fmt.Errorf("the sandbox ended without a status: %s", cmd.ProcessState)
		}
		return st, err
	}
	if o.Proxy {
		p.serve = func() (stop func()) { return serveWhenSent(proxy, o.Serve) }
	}
	open = append(passed, outputW)
	if o.StdinFile == nil {
		open = append(open, stdin)
	}
	if of != nil {
		if err := writeGroup(of.dir, "cgroup.procs", strconv.Itoa(cmd.Process.Pid)); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			for _, f := range []*os.File{orderW, statusR, outputR} {
				f.Close()
			}
			return nil, fmt.Errorf("enter the control group: %w", err)
		}
	}
	// A supervisor that ended answers with its status, or its lack.
	_, _ = orderW.Write(encode(o))
	return p, nil
}

// memoryFile returns a file with a content, which nothing can change.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create standard input: %w", err)
	}
	file := os.NewFile(uintptr(fd), "stdin")
	if _, err := file.Write(content); err != nil {
		file.Close()
		return nil, fmt.Errorf("write standard input: %w", err)
	}
	seals := unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	if _, err2 := file.Seek(0, io.SeekStart); err != nil || err2 != nil {
		file.Close()
		return nil, fmt.Errorf("seal standard input: %w", errors.Join(err, err2))
	}
	return file, nil
}

// follow waits for the end of the supervisor.
func (p *process) follow(ctx context.Context, stdout io.Writer) (Exit, error) {
	out := make(chan outcome, 1)
	go func() { out <- drain(p.output, stdout, p.order.Limits.OutputBytes) }()
	ended := make(chan struct{})
	go func() { p.wait(); close(ended) }()

	stopProxy := func() {}
	if p.serve != nil {
		stopProxy = p.serve()
	}

	exceeded := func() string { return "" }
	if p.group != nil {
		exceeded = p.group.watch(p.order.Limits.CPUSeconds, func() { p.control.Close() })
	}

	var exit Exit
	select {
	case <-ended:
	case <-ctx.Done():
		exit.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
		exit.Canceled = !exit.TimedOut
		p.end(ended)
	}
	exit.Exceeded = exceeded()
	p.control.Close()
	_ = p.output.SetReadDeadline(time.Now().Add(drainWait))
	output := <-out
	p.output.Close()
	exit.OutputBytes, exit.Truncated = output.read, output.read > output.given
	stopProxy()
	exit.Duration = time.Since(p.started)
	st, err := p.judge()
	if err == nil {
		err = st.into(&exit)
	}
	return exit, err
}

// serveWhenSent serves the socket that a supervisor sends, until the returned function is called.
func serveWhenSent(from *os.File, serve func(*os.File) (stop func())) (stop func()) {
	served := make(chan func(), 1)
	go func() {
		_, files, err := receiveFiles(from, 1)
		if err != nil || len(files) != 1 {
			served <- func() {} // the status of the supervisor says why
			return
		}
		served <- serve(files[0])
	}()
	return func() {
		from.Close()
		(<-served)()
	}
}

// end asks the program to end, then kills it.
func (p *process) end(ended <-chan struct{}) {
	grace := p.order.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	_, _ = p.control.Write([]byte{terminate})
	if waitFor(ended, grace) {
		return
	}
	p.control.Close()
	if waitFor(ended, killWait) {
		return
	}
	p.kill()
	<-ended
}

// waitFor reports whether a channel was closed in time.
func waitFor(ended <-chan struct{}, timeout time.Duration) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// readStatus reads the status of a supervisor that has ended.
func readStatus(from *os.File) (st status, err error) {
	defer from.Close()
	_ = from.SetReadDeadline(time.Now().Add(drainWait))
	return st, json.NewDecoder(io.LimitReader(from, 64<<10)).Decode(&st)
}

// into says in exit how the program has ended, and returns why it did not start.
func (st *status) into(exit *Exit) error {
	exit.Code, exit.Signal, exit.ScratchFull = st.Code, st.Signal, st.ScratchFull
	switch {
	case len(st.Unavailable) > 0:
		return unavailable(st.Unavailable)
	case st.NotStarted && st.Errno != 0:
		return fmt.Errorf("%w: %s: %w", ErrNotStarted, st.Error, st.Errno)
	case st.NotStarted:
		return fmt.Errorf("%w: %s", ErrNotStarted, st.Error)
	case st.Error != "":
		return errors.New(st.Error)
	}
	return nil
}

// outcome counts bytes of output.
type outcome struct{ read, given int64 }

// drain reads all output and gives its beginning to a writer. It goes on reading when the writer fails, so that the program does not
// wait for it.
func drain(r io.Reader, w io.Writer, limit int64) (o outcome) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		o.read += int64(n)
		if chunk := buffer[:min(int64(n), limit-o.given)]; len(chunk) > 0 {
			if _, failed := w.Write(chunk); failed != nil {
				limit = o.given
			} else {
				o.given += int64(len(chunk))
			}
		}
		if err != nil {
			return o
		}
	}
}
