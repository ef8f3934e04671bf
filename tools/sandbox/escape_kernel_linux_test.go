package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// connects connects without waiting.
func connects(family, kind, protocol int, address unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, address); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	if in4, ok := address.(*unix.SockaddrInet4); ok && in4.Addr[0] == 127 && kind == unix.SOCK_DGRAM {
		// Nothing is sent before. On a loopback interface without a receiver, the error comes at once.
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return err
		}
	}
	failed, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	return errors.Join(err, orNil(unix.Errno(failed)))
}

func loopback(port int) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

// opensSocket makes a socket and returns its error.
func opensSocket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// socketAttempts reach something by a socket.
var socketAttempts = []attempt{
	{name: "connect to a port of loopback", try: func(v *victim) error { return connects(unix.AF_INET, unix.SOCK_STREAM, 0, loopback(v.TCP)) }},
	{name: "do so by MPTCP", try: func(v *victim) error {
		return connects(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, loopback(v.TCP))
	}},
	{name: "connect to the metadata address", try: func(v *victim) error {
		return connects(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: 80, Addr: [4]byte{169, 254, 169, 254}})
	}},
	{name: "send a datagram to loopback", try: func(v *victim) error { return connects(unix.AF_INET, unix.SOCK_DGRAM, 0, loopback(v.UDP)) }},
	{name: "resolve a name", try: func(v *victim) error {
		return connects(unix.AF_INET, unix.SOCK_DGRAM, 0, &unix.SockaddrInet4{Port: 53, Addr: [4]byte{192, 0, 2, 1}})
	}},
	{name: "listen on a port of the machine", try: func(v *victim) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Bind(fd, loopback(v.TCP))
		}
		if errors.Is(err, unix.EADDRINUSE) {
			return nil // a program of the machine has it
		}
		return errors.Join(err, errors.New("the port is another one"))
	}},
	{name: "connect to a socket in the file system", try: func(v *victim) error {
		return connects(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: v.Stream})
	}},
	{name: "send a datagram to such a socket", try: func(v *victim) error {
		return connects(unix.AF_UNIX, unix.SOCK_DGRAM, 0, &unix.SockaddrUnix{Name: v.Dgram})
	}},
	{name: "do so with a socket of a pair", try: func(v *victim) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: v.Dgram})
	}},
	{name: "connect a stream of a pair to it", alone: "kernel", try: func(v *victim) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Connect(pair[0], &unix.SockaddrUnix{Name: v.Stream})
	}},
	{name: "connect to an abstract socket", try: func(v *victim) error {
		return connects(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: v.Abstract})
	}},
	{name: "hide the family in high bits", try: func(v *victim) error { return call(unix.SYS_SOCKET, unix.AF_UNIX|1<<32, unix.SOCK_STREAM, 0) }},
	{name: "open a netlink socket", try: func(v *victim) error { return opensSocket(unix.AF_NETLINK, unix.SOCK_RAW, 0) }},
	{name: "open a raw socket", alone: "identity", try: func(v *victim) error { return opensSocket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{name: "open a socket to the hypervisor", try: func(v *victim) error { return supportedBy(opensSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)) }},
	{name: "open a socket of the kernel's cryptography", try: func(v *victim) error { return supportedBy(opensSocket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)) }},
}

// listed are the hosts that the proxy may ask for: names and addresses of the victim, and a port of which it has none.
func (v *victim) listed() []string {
	port := strconv.Itoa(v.TCP)
	return []string{"localhost:" + port, "127.0.0.1:" + port, "[::ffff:127.0.0.1]:" + port, "0.0.0.0:" + port, "169.254.169.254", "localhost"}
}

// asksProxy sends a request to the proxy. It returns nil if that reaches a host.
func asksProxy(request string) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(ProxyPort)), time.Minute)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "HTTP/1.1 200") {
		err = errors.New(line)
	}
	return err
}

// tunnels asks the proxy for a tunnel.
func tunnels(address string) error {
	return asksProxy("CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n")
}

// proxyAttempts ask the proxy for what a program must not reach. The proxy lists the hosts, so it is their address that it refuses.
var proxyAttempts = []attempt{
	{name: "ask the proxy for a port of loopback", alone: "proxy", try: func(v *victim) error { return tunnels("127.0.0.1:" + strconv.Itoa(v.TCP)) }},
	{name: "ask it by a name of loopback", alone: "proxy", try: func(v *victim) error { return tunnels("localhost:" + strconv.Itoa(v.TCP)) }},
	{name: "ask it by a mapped address", alone: "proxy", try: func(v *victim) error { return tunnels("[::ffff:127.0.0.1]:" + strconv.Itoa(v.TCP)) }},
	{name: "ask it by the unspecified address", alone: "proxy", try: func(v *victim) error { return tunnels("0.0.0.0:" + strconv.Itoa(v.TCP)) }},
	{name: "ask it for the metadata address", alone: "proxy", try: func(v *victim) error { return tunnels("169.254.169.254:80") }},
	{name: "ask it for another port", alone: "proxy", try: func(v *victim) error { return tunnels("169.254.169.254:" + strconv.Itoa(v.TCP)) }},
	{name: "ask it for a host that is not listed", alone: "proxy", try: func(v *victim) error { return tunnels("192.0.2.1:443") }},
	{name: "ask it by plain http", alone: "proxy", try: func(v *victim) error {
		return asksProxy("GET http://127.0.0.1:" + strconv.Itoa(v.TCP) + "/ HTTP/1.1\r\nHost: x\r\n\r\n")
	}},
	{name: "hide the host in the header", alone: "proxy", try: func(v *victim) error {
		return asksProxy("GET / HTTP/1.1\r\nHost: 127.0.0.1:" + strconv.Itoa(v.TCP) + "\r\n\r\n")
	}},
}

// supportedBy turns a lack of the kernel into a success: only a refusal counts as stopped.
func supportedBy(err error) error {
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPROTONOSUPPORT) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// sharedAttempts use what processes share by name or number.
var sharedAttempts = []attempt{
	{name: "open shared memory of another process", try: func(v *victim) error { return opened(v.SharedMemory, unix.O_RDWR) }},
	{name: "make shared memory", try: func(v *victim) error { return madeIn("/dev/shm") }},
	{name: "attach a segment of System V", try: func(v *victim) error { _, err := unix.SysvShmAttach(v.SegmentID, 0, 0); return err }},
	{name: "send to a queue of System V", try: func(v *victim) error {
		message := [2]int64{1, 1}
		return call(unix.SYS_MSGSND, uintptr(v.QueueID), uintptr(unsafe.Pointer(&message)), 8, unix.IPC_NOWAIT)
	}},
	{name: "change a semaphore of System V", try: func(v *victim) error { return call(unix.SYS_SEMCTL, uintptr(v.SemID), 0, 16, 0) }},
	{name: "add to a keyring of the user", try: func(v *victim) error {
		_, err := unix.AddKey("user", "sandbox", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
		return err
	}},
	{name: "type into the terminal", alone: "kernel", try: func(v *victim) error { return types(unix.TIOCSTI) }},
	{name: "hide that call in high bits", alone: "kernel", try: func(v *victim) error { return types(unix.TIOCSTI | 1<<32) }},
}

// types types a character into the terminal that is standard input.
func types(request uintptr) error {
	character := byte('x')
	return call(unix.SYS_IOCTL, 0, request, uintptr(unsafe.Pointer(&character)))
}

// namespaceAttempts get rights in new namespaces, or change the mounts.
var namespaceAttempts = []attempt{
	{name: "make a namespace of users", try: func(v *victim) error { return forks(unix.CLONE_NEWUSER) }},
	{name: "make it with clone3", try: func(v *victim) error {
		args := [11]uint64{unix.CLONE_NEWUSER, 0, 0, 0, uint64(unix.SIGCHLD)}
		return forkResult(unix.RawSyscall(435, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0))
	}},
	{name: "make it with unshare", try: func(v *victim) error { return runProgram("/usr/bin/unshare", "-U", "/bin/true") }},
	{name: "make a namespace of mounts", alone: "identity", try: func(v *victim) error { return forks(unix.CLONE_NEWNS) }},
	{name: "enter the namespace of the sidecar", alone: "identity", try: func(v *victim) error {
		fd, err := unix.PidfdOpen(supervisorPID(), 0)
		if err != nil {
			return err
		}
		return unix.Setns(fd, unix.CLONE_NEWNS)
	}},
	{name: "mount a file system", alone: "identity", try: func(v *victim) error { return unix.Mount("x", v.Scratch, "tmpfs", 0, "") }},
	{name: "mount it with the newer calls", alone: "identity", try: func(v *victim) error { _, err := unix.Fsopen("tmpfs", 0); return err }},
	{name: "make a mount writable", alone: "identity", try: func(v *victim) error {
		return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{name: "unmount /proc", alone: "identity", try: func(v *victim) error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
	{name: "change the root directory", alone: "identity", try: func(v *victim) error { return unix.Chroot(v.State) }},
}

// forks starts a process with flags, which ends at once.
func forks(flags uintptr) error {
	return forkResult(unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0))
}

// forkResult ends the new process.
func forkResult(pid, _ uintptr, errno unix.Errno) error {
	if errno == 0 && pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return orNil(errno)
}

// kernelAttempts use rare parts of the kernel.
var kernelAttempts = []attempt{
	{name: "load a program into the kernel", alone: "identity", try: func(v *victim) error {
		var attr [16]uint64
		return call(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}},
	{name: "load a module", alone: "identity", try: func(v *victim) error { return unix.FinitModule(0, "", 0) }},
	{name: "load another kernel", alone: "identity", try: func(v *victim) error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) }},
	{name: "restart the machine", alone: "identity", try: func(v *victim) error { return call(unix.SYS_REBOOT, 0, 0, 0, 0) }},
	{name: "change the name of the machine", alone: "identity", try: func(v *victim) error { return unix.Sethostname([]byte("x")) }},
	{name: "set the clock", alone: "identity", try: func(v *victim) error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}) }},
	{name: "handle page faults", try: func(v *victim) error { return supportedBy(call(unix.SYS_USERFAULTFD, 1)) }},
	{name: "submit calls by io_uring", try: func(v *victim) error {
		var params [15]uint64
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{name: "count events of the processor", alone: "kernel", try: func(v *victim) error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	}},
	{name: "choose fixed addresses", try: func(v *victim) error { return call(unix.SYS_PERSONALITY, 0x40000) }},
	{name: "use calls of x32", alone: "kernel", try: func(v *victim) error { return call(0x40000000 | unix.SYS_GETPID) }},
	{name: "use calls of 32-bit programs", try: func(v *victim) error {
		program := filepath.Join(v.Scratch, "i386")
		if err := os.WriteFile(program, program386(), 0o755); err != nil {
			return err
		}
		return runProgram(program)
	}},
	{name: "use a call newer than the filter", try: func(v *victim) error {
		if err := call(469, ^uintptr(99), path(v.Token), 0, 0, 0); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EFAULT) {
			return err
		}
		return nil // the kernel has looked at the arguments
	}},
}

// program386 is a 32-bit program that makes a unix socket, and succeeds if that does.
func program386() []byte {
	code := []byte{
		0xb8, 0x67, 0x01, 0x00, 0x00, // mov eax, 359: socket
		0xbb, 0x01, 0x00, 0x00, 0x00, // mov ebx, AF_UNIX
		0xb9, 0x01, 0x00, 0x00, 0x00, // mov ecx, SOCK_STREAM
		0x31, 0xd2, // xor edx, edx
		0xcd, 0x80, // int 0x80
		0x89, 0xc3, // mov ebx, eax
		0xc1, 0xeb, 0x1f, // shr ebx, 31
		0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1: exit
		0xcd, 0x80, // int 0x80
	}
	const base, head = 0x08048000, 52 + 32
	var b []byte
	b = append(b, 0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	u16 := func(values ...uint16) {
		for _, value := range values {
			b = binary.LittleEndian.AppendUint16(b, value)
		}
	}
	u32 := func(values ...uint32) {
		for _, value := range values {
			b = binary.LittleEndian.AppendUint32(b, value)
		}
	}
	u16(2, 3)
	u32(1, base+head, 52, 0, 0)
	u16(52, 32, 1, 0, 0, 0)
	size := uint32(head + len(code))
	u32(1, 0, base, base, size, size, 5, 0x1000)
	return append(b, code...)
}

// waits is long enough for a measurement of the scratch directory.
const waits = 45 * time.Second
