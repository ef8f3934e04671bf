package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victim is what attempts are made on: files, sockets and the process of a sidecar, here of the test. The sandbox's own directories
// are among its paths.
type victim struct {
	Dir, Token, State, OtherSkill, Outside string
	// Program is the test, copied into the directory of the skill.
	Skill, Program string
	// Scratch and Foreign are made for each attempt: its own directory, and that of another call.
	Scratch, Foreign string
	SharedMemory     string // a file in /dev/shm
	Setuid           string // a setuid program of root, if root could make one
	Stream, Dgram    string // sockets in the file system
	Abstract         string
	TCP, UDP         int
	PID, SegmentID   int
	QueueID, SemID   int
	// Secret is the address of a text in the memory of the victim.
	Secret   uintptr
	terminal *os.File
}

const secretText = "the secret of the victim"

// newVictim makes everything that attempts need, owned by the user of the test.
func newVictim(t *testing.T) *victim {
	dir := openDir(t)
	v := &victim{
		Dir: dir, Token: filepath.Join(dir, "token"), State: filepath.Join(dir, "state"), OtherSkill: filepath.Join(dir, "other"),
		Outside: filepath.Join(dir, "outside"), Skill: filepath.Join(dir, "skill"),
		PID: os.Getpid(), Setuid: os.Getenv("ESCAPES_SETUID"),
	}
	if v.Setuid == "" {
		v.Setuid = setuidProgram(t)
	}
	v.Program = filepath.Join(v.Skill, "program")
	for _, sub := range []string{v.State, v.OtherSkill, v.Skill} {
		must(t, os.Mkdir(sub, 0o777))
		must(t, os.Chmod(sub, 0o777))
	}
	// Readable and writable for all, so that root's program is not stopped by the permissions alone.
	for _, file := range []string{v.Token, filepath.Join(v.State, "audit"), filepath.Join(v.OtherSkill, "SKILL.md"), filepath.Join(v.Skill, "SKILL.md")} {
		must(t, os.WriteFile(file, []byte(secretText), 0o666))
		must(t, os.Chmod(file, 0o666))
	}
	if err := unix.Setxattr(v.Token, "user.secret", []byte(secretText), 0); err != nil {
		t.Logf("attributes are not tried: %v", err)
	}
	copyProgram(t, v.Program, 0o755)
	copyProgram(t, v.Outside, 0o755)
	v.listen(t)
	v.share(t)
	secret := []byte(secretText)
	v.Secret = uintptr(unsafe.Pointer(&secret[0]))
	t.Cleanup(func() { _ = append(secret[:0], "gone"...) })
	v.terminal = terminal(t)
	return v
}

// forAttempt returns the victim of one attempt.
func (v *victim) forAttempt() (*victim, error) {
	of := *v
	dir, err := os.MkdirTemp(v.Dir, "call-")
	if err != nil {
		return nil, err
	}
	of.Scratch, of.Foreign = filepath.Join(dir, "scratch"), filepath.Join(dir, "foreign")
	for _, sub := range []string{of.Scratch, of.Foreign, filepath.Join(of.Foreign, "empty")} {
		err = errors.Join(err, os.Mkdir(sub, 0o777), os.Chmod(sub, 0o777))
	}
	file := filepath.Join(of.Foreign, "file")
	return &of, errors.Join(err, os.Chmod(dir, 0o777), os.WriteFile(file, []byte(secretText), 0o666), os.Chmod(file, 0o666))
}

// listen opens the sockets.
func (v *victim) listen(t *testing.T) {
	v.Stream, v.Dgram, v.Abstract = filepath.Join(v.Dir, "s"), filepath.Join(v.Dir, "d"), "@sandbox-"+strconv.Itoa(os.Getpid())
	for _, address := range []string{v.Stream, v.Abstract} {
		listener, err := net.Listen("unix", address)
		must(t, err)
		t.Cleanup(func() { listener.Close() })
	}
	dgram, err := net.ListenPacket("unixgram", v.Dgram)
	must(t, err)
	t.Cleanup(func() { dgram.Close() })
	must(t, os.Chmod(v.Stream, 0o777))
	must(t, os.Chmod(v.Dgram, 0o777))
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { tcp.Close() })
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { udp.Close() })
	v.TCP, v.UDP = tcp.Addr().(*net.TCPAddr).Port, udp.LocalAddr().(*net.UDPAddr).Port
}

// share makes what processes share by name.
func (v *victim) share(t *testing.T) {
	file, err := os.CreateTemp("/dev/shm", "sandbox-")
	must(t, err)
	v.SharedMemory = file.Name()
	must(t, file.Chmod(0o666))
	file.Close()
	t.Cleanup(func() { os.Remove(v.SharedMemory) })
	v.SegmentID, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o666|unix.IPC_CREAT)
	must(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(v.SegmentID, unix.IPC_RMID, nil) })
	queue, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, 0o666|unix.IPC_CREAT, 0)
	must(t, orNil(errno))
	v.QueueID = int(queue)
	t.Cleanup(func() { unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0) })
	sem, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, 0o666|unix.IPC_CREAT)
	must(t, orNil(errno))
	v.SemID = int(sem)
	t.Cleanup(func() { unix.Syscall(unix.SYS_SEMCTL, sem, 0, unix.IPC_RMID) })
}

// terminal returns a terminal, which programs get as standard input.
func terminal(t *testing.T) *os.File {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Logf("no terminal: %v", err)
		null, err := os.Open("/dev/null")
		must(t, err)
		t.Cleanup(func() { null.Close() })
		return null
	}
	t.Cleanup(func() { master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	must(t, orNil(errno))
	file := os.NewFile(slave, "terminal")
	t.Cleanup(func() { file.Close() })
	return file
}

// copyProgram copies the test program.
func copyProgram(t *testing.T, to string, mode os.FileMode) {
	from, err := os.Open("/proc/self/exe")
	must(t, err)
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(file, from)
	must(t, errors.Join(err, file.Close()))
	must(t, os.Chmod(to, mode))
}

// setuidProgram makes a setuid program of the user of the test, who may be root.
func setuidProgram(t *testing.T) string {
	path := filepath.Join(openDir(t), "setuid")
	copyProgram(t, path, 0o755|os.ModeSetuid)
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func orNil(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// call makes a system call and returns its error.
func call(number uintptr, arguments ...uintptr) error {
	var a [6]uintptr
	copy(a[:], arguments)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	return orNil(errno)
}

// path returns a pointer to a path for call.
func path(text string) uintptr {
	b, err := unix.BytePtrFromString(text)
	if err != nil {
		panic(fmt.Sprintf("%q: %v", text, err))
	}
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

// kept holds what system calls point to.
var kept []*byte
