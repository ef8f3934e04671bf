package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The starter is a process that forks supervisors, so that none of them has to start a Go program, and none is a copy of the sidecar
// with what it knows. No order comes to the starter, so nothing of a call is in a supervisor that it forks later.

// starterCommand is the hidden subcommand of the starter.
const starterCommand = "sandbox-starter"

// starterWait bounds an answer of the starter, and of a forked supervisor to its order.
const starterWait = 5 * time.Second

// wanted asks the starter for a supervisor.
type wanted struct {
	Flags  uintptr `json:"flags"` // of clone
	UIDs   string  `json:"uids,omitempty"`
	GIDs   string  `json:"gids,omitempty"`
	Groups bool    `json:"groups,omitempty"` // the program may change groups until it starts
}

// forked is the answer, with a socket of the supervisor and a descriptor of its process.
type forked struct {
	Order uintptr `json:"order"` // the address of its order
	Error string  `json:"error,omitempty"`
}

// serveForks is the starter. It ends with the connection at descriptor 3.
func serveForks() int {
	runtime.LockOSThread()
	signal.Ignore(syscall.SIGCHLD) // the kernel reaps
	memory, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(area{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 1
	}
	a := (*area)(unsafe.Pointer(&memory[0]))
	a.fill()
	prepared := uint64(copy(a.prepare[:], preparation()))
	message := make([]byte, 4096)
	for {
		n, err := unix.Read(orderFD, message)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return 0
		}
		var w wanted
		if json.Unmarshal(message[:n], &w) != nil {
			return 1
		}
		answer := forked{Order: uintptr(unsafe.Pointer(&a.order))}
		if a.prepared = prepared; w.Flags&unix.CLONE_NEWNET == 0 {
			a.prepared -= loopbackSteps
		}
		files, err := forkSupervisor(&w, a)
		if err != nil {
			answer.Error = err.Error()
		}
		var rights []byte
		if len(files) > 0 {
			rights = unix.UnixRights(files...)
		}
		err = unix.Sendmsg(orderFD, encode(answer), rights, nil, unix.MSG_NOSIGNAL)
		for _, fd := range files {
			unix.Close(fd)
		}
		if err != nil {
			return 1
		}
	}
}

// forkSupervisor forks a supervisor and returns the other end of its socket, and a descriptor of its process.
func forkSupervisor(w *wanted, a *area) (files []int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	pid, errno := fork(w.Flags, uintptr(pair[1]), a)
	if errno != 0 {
		unix.Close(pair[0])
		return nil, errno
	}
	files = []int{pair[0], int(a.pidFD)}
	if w.UIDs != "" {
		err = writeMaps(int(pid), w)
	}
	if err == nil {
		_, err = unix.Write(pair[0], []byte{0})
	}
	if err != nil { // the end of its socket ends the supervisor
		for _, fd := range files {
			unix.Close(fd)
		}
		return nil, err
	}
	return files, nil
}

func writeMaps(pid int, w *wanted) error {
	write := func(name, text string) error {
		return os.WriteFile("/proc/"+strconv.Itoa(pid)+"/"+name, []byte(text), 0)
	}
	groups := "deny"
	if w.Groups {
		groups = "allow"
	}
	return errors.Join(write("uid_map", w.UIDs), write("setgroups", groups), write("gid_map", w.GIDs))
}

// starter is the sidecar's side of the starter, with one supervisor that waits for its order.
type starter struct {
	mu    sync.Mutex
	conn  *os.File // nil while there is no starter
	cmd   *exec.Cmd
	spare *supervisorProcess
}

// supervisorProcess is a forked supervisor without an order.
type supervisorProcess struct {
	wanted wanted
	order  uintptr
	conn   *os.File
	pid    *os.File
}

func (s *supervisorProcess) close() {
	s.conn.Close()
	s.pid.Close()
}

// take returns a supervisor, and has another one made for the next call.
func (s *starter) take(w wanted) (*supervisorProcess, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.spare
	s.spare = nil
	if got != nil && got.wanted != w {
		got.close()
		got = nil
	}
	if got == nil {
		var err error
		if got, err = s.make(w); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// prepare makes the supervisor of the next call, if there is none.
func (s *starter) prepare(w wanted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare == nil && s.conn != nil {
		s.spare, _ = s.make(w) // the next call says why there is none
	}
}

// make has a supervisor forked. A starter that does not answer is replaced once.
func (s *starter) make(w wanted) (got *supervisorProcess, err error) {
	for range 2 {
		if s.conn == nil {
			if err = s.start(); err != nil {
				return nil, err
			}
		}
		if got, err = s.ask(w); !errors.Is(err, errStarter) {
			return got, err
		}
		s.stop()
	}
	return nil, err
}

// errStarter says that the starter does not work.
var errStarter = errors.New("the starter forks no supervisor")

func (s *starter) start() error {
	ours, theirs, err := socketFiles(unix.SOCK_SEQPACKET)
	if err != nil {
		return err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return err
	}
	defer null.Close()
	cmd := &exec.Cmd{
		Path: supervisorPath, Args: []string{"pannier", starterCommand}, Env: []string{"GOMAXPROCS=1"}, Dir: "/", Stdin: null, Stdout: null, Stderr: null,
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return fmt.Errorf("start the sandbox: %w", err)
	}
	s.conn, s.cmd = ours, cmd
	return nil
}

// stop ends the starter and the supervisor that waits.
func (s *starter) stop() {
	if s.spare != nil {
		s.spare.close()
		s.spare = nil
	}
	if s.conn != nil {
		s.conn.Close()
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.conn, s.cmd = nil, nil
	}
}

// ask has the starter fork a supervisor.
func (s *starter) ask(w wanted) (*supervisorProcess, error) {
	_ = s.conn.SetDeadline(time.Now().Add(starterWait))
	if _, err := s.conn.Write(encode(w)); err != nil {
		return nil, errStarter
	}
	text, files, err := receiveFiles(s.conn, 1024)
	var answer forked
	if err != nil || json.Unmarshal(text, &answer) != nil {
		return nil, errStarter
	}
	if answer.Error != "" || len(files) != 2 {
		return nil, fmt.Errorf("%w: %s", errStarter, answer.Error)
	}
	return &supervisorProcess{wanted: w, order: answer.Order, conn: files[0], pid: files[1]}, nil
}

// sendFiles sends a message with descriptors.
func sendFiles(to *os.File, message []byte, files []int) error {
	raw, err := to.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		failed = unix.Sendmsg(int(fd), message, unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL)
		return !errors.Is(failed, unix.EAGAIN)
	})
	return errors.Join(err, failed)
}

// receiveFiles receives a message of at most so many bytes, with descriptors.
func receiveFiles(from *os.File, size int) (message []byte, files []*os.File, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	message, rights := make([]byte, size), make([]byte, unix.CmsgSpace(2*4))
	var n, rn int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, rn, _, _, failed = unix.Recvmsg(int(fd), message, rights, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(failed, unix.EAGAIN)
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	for i := range messages {
		fds, _ := unix.ParseUnixRights(&messages[i])
		for _, fd := range fds {
			_ = unix.SetNonblock(fd, true) // for deadlines
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return message[:n], files, err
}

// socketFiles returns both ends of a socket, the first one with deadlines.
func socketFiles(kind int) (a, b *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a socket for the sandbox: %w", err)
	}
	_ = unix.SetNonblock(pair[0], true)
	return os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket"), nil
}
