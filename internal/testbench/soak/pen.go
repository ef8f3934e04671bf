package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// pen is the driver's end of one writer process.
type pen struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Scanner
}

// startPen runs this program again in another role.
func startPen(role string, args ...string) (*pen, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &pen{cmd: cmd, in: in, answers: bufio.NewScanner(out)}, cmd.Start()
}

// tell gives the writer a command.
func (p *pen) tell(command string) error {
	_, err := fmt.Fprintln(p.in, command)
	return err
}

// done is what a process has done so far.
type done struct {
	ops, tokens int
	at          time.Time // when it was done with the last of them
}

// line is what a process says of it.
func (d done) line() string { return fmt.Sprintln(d.ops, d.tokens, d.at.UnixNano()) }

// rest waits until the process has paused, and returns what it has done.
func (p *pen) rest() (done, error) {
	if !p.answers.Scan() {
		return done{}, fmt.Errorf("a writer has ended: %v", p.answers.Err())
	}
	var d done
	var nanoseconds int64
	if _, err := fmt.Sscan(p.answers.Text(), &d.ops, &d.tokens, &nanoseconds); err != nil {
		return done{}, fmt.Errorf("writer said %q: %w", p.answers.Text(), err)
	}
	d.at = time.Unix(0, nanoseconds)
	return d, nil
}

// close ends the writer and waits for it.
func (p *pen) close() error {
	p.in.Close()
	return p.cmd.Wait()
}
