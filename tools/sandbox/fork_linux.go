package sandbox

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A forked supervisor is a copy of the starter that never executes another program, which saves the start of a Go program for each
// call. The Go runtime does not work in it: it has one thread, no stack that grows, and no memory to allocate. So it carries out lists
// of system calls that others have prepared, and the functions below, which call nothing else. The linker checks their stack.

// Descriptors of a forked supervisor. Those that steps open follow in the sequence in which they are opened.
const (
	controlFD = 3 // a socket: an order, then bytes as of the supervisor; answers are records
	childFD   = 4 // tells that a child has ended
	stdinFD   = 5
	outputFD  = 6
	cgroupFD  = 7
	rulesetFD = 8
	firstFD   = 9
)

// step is a system call.
type step struct {
	call      uintptr
	arguments [6]uintptr
	// optional says that the next step follows even if this one fails.
	optional uintptr
}

// orderHead is the beginning of the order of a forked supervisor. Addresses in its steps are those of area.order.
type orderHead struct {
	size             uint64 // of all of the order
	steps            uint64 // where they begin
	supervisor, tool uint64 // numbers of steps, which follow in this sequence
	cgroup           uint64 // 1: the program starts in the control group of cgroupFD
}

// record is an answer of a forked supervisor.
type record struct {
	kind, value, errno uint32
}

// The kinds of records. The value of recordEnded is the wait status of the program.
const (
	recordStarts     = iota // the program is started next; without this record it was not
	recordSupervisor        // the step with the number value has failed
	recordTool
	recordEnded
	recordListener // with the socket of the proxy; nothing has started
)

// orderBytes bounds an order.
const orderBytes = 1 << 20

// area is the memory of a forked supervisor. The starter makes it, so that it has the same address in each of them.
type area struct {
	all, before, child uint64     // sets of signals
	none               [4]uintptr // no set, and the default action of a signal
	pidFD              int32
	poll               [2]unix.PollFd
	message            unix.Msghdr // receives head and descriptors
	text               unix.Iovec
	passed             [64]byte
	signal             [128]byte
	byte               [8]byte
	answer             record
	wait               uint32
	clone              [11]uint64 // arguments of clone3
	prepared           uint64
	prepare            [16]step // what is done before the order
	head               orderHead
	order              [orderBytes]byte // what steps point to, and the steps
}

// fill sets what the kernel needs to find its way in the area, because the forked supervisor can write no pointers.
func (a *area) fill() {
	a.all, a.child = ^uint64(0), 1<<(unix.SIGCHLD-1)
	a.text.Base = (*byte)(unsafe.Pointer(&a.head))
	a.text.SetLen(int(unsafe.Sizeof(a.head)))
	a.message.Iov = &a.text
	a.message.SetIovlen(1)
	a.message.Control = &a.passed[0]
	a.message.SetControllen(len(a.passed))
}

// fork starts a forked supervisor, which gets one end of a socket. It returns when that is there.
//
//go:norace
//go:nosplit
func fork(flags uintptr, control uintptr, a *area) (pid uintptr, errno syscall.Errno) {
	// No handler of the Go runtime may run in the child.
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&a.all)), uintptr(unsafe.Pointer(&a.before)), 8, 0, 0)
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, flags|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&a.pidFD)), 0, 0, 0)
	if errno == 0 && pid == 0 {
		superviseForked(control, a)
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&a.before)), 0, 8, 0, 0)
	return pid, errno
}

// superviseForked is the whole life of a forked supervisor.
//
//go:norace
//go:nosplit
func superviseForked(control uintptr, a *area) {
	for signal := uintptr(1); signal <= 64; signal++ {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(&a.none)), 0, 8, 0, 0)
	}
	syscall.RawSyscall6(unix.SYS_DUP3, control, controlFD, unix.O_CLOEXEC, 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, controlFD+1, 1<<31, 0, 0, 0, 0)
	// The starter has to write the maps of users first.
	n, _, errno := syscall.RawSyscall6(unix.SYS_READ, controlFD, uintptr(unsafe.Pointer(&a.byte)), 1, 0, 0, 0)
	if errno != 0 || n != 1 {
		exit(1)
	}
	if failed, errno := carryOut(&a.prepare[0], uintptr(a.prepared)); errno != 0 {
		tell(a, recordSupervisor, failed, errno)
		exit(1)
	}
	syscall.RawSyscall6(unix.SYS_SIGNALFD4, ^uintptr(0), uintptr(unsafe.Pointer(&a.child)), 8, unix.SFD_CLOEXEC|unix.SFD_NONBLOCK, 0, 0)
	if !receive(a) {
		exit(1)
	}
	steps := (*step)(unsafe.Add(unsafe.Pointer(&a.order), uintptr(a.head.steps)))
	if failed, errno := carryOut(steps, uintptr(a.head.supervisor)); errno != 0 {
		tell(a, recordSupervisor, failed, errno)
		exit(1)
	}
	tell(a, recordStarts, 0, 0)
	var pid uintptr
	if a.head.cgroup == 0 {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	} else {
		a.clone[0], a.clone[4], a.clone[10] = unix.CLONE_INTO_CGROUP, uint64(unix.SIGCHLD), cgroupFD
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&a.clone)), unsafe.Sizeof(a.clone), 0, 0, 0, 0)
	}
	if errno != 0 {
		tell(a, recordTool, 0, errno)
		exit(1)
	}
	if pid == 0 {
		tool := (*step)(unsafe.Add(unsafe.Pointer(steps), uintptr(a.head.supervisor)*unsafe.Sizeof(*steps)))
		failed, errno := carryOut(tool, uintptr(a.head.tool))
		tell(a, recordTool, failed, errno)
		exit(127)
	}
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, stdinFD, 1<<31, 0, 0, 0, 0)
	watch(a, pid)
}

// carryOut carries steps out, and returns the number of the first one that has failed.
//
//go:norace
//go:nosplit
func carryOut(steps *step, count uintptr) (failed uintptr, errno syscall.Errno) {
	for i := uintptr(0); i < count; i++ {
		s := (*step)(unsafe.Add(unsafe.Pointer(steps), i*unsafe.Sizeof(*steps)))
		_, _, errno := syscall.RawSyscall6(s.call, s.arguments[0], s.arguments[1], s.arguments[2], s.arguments[3], s.arguments[4], s.arguments[5])
		if errno != 0 && s.optional == 0 {
			return i, errno
		}
	}
	return 0, 0
}

// receive reads the order and its descriptors.
//
//go:norace
//go:nosplit
func receive(a *area) bool {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMSG, controlFD, uintptr(unsafe.Pointer(&a.message)), unix.MSG_CMSG_CLOEXEC|unix.MSG_WAITALL, 0, 0, 0)
	if errno != 0 || n != unsafe.Sizeof(a.head) || a.message.Flags&unix.MSG_CTRUNC != 0 || a.head.size > orderBytes {
		return false
	}
	for got := uintptr(0); got < uintptr(a.head.size); got += n {
		at := uintptr(unsafe.Pointer(&a.order)) + got
		n, _, errno = syscall.RawSyscall6(unix.SYS_READ, controlFD, at, uintptr(a.head.size)-got, 0, 0, 0)
		if errno != 0 || n == 0 {
			return false
		}
	}
	return true
}

// watch obeys the sidecar and reaps until the program has ended; then it ends all that is left.
//
//go:norace
//go:nosplit
func watch(a *area, pid uintptr) {
	a.poll[0], a.poll[1] = unix.PollFd{Fd: controlFD, Events: unix.POLLIN}, unix.PollFd{Fd: childFD, Events: unix.POLLIN}
	ended := false
	for !ended {
		syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&a.poll)), 2, 0, 0, 8, 0)
		if a.poll[0].Revents != 0 {
			n, _, errno := syscall.RawSyscall6(unix.SYS_READ, controlFD, uintptr(unsafe.Pointer(&a.byte)), 1, 0, 0, 0)
			signal := uintptr(unix.SIGKILL)
			if errno == 0 && n == 1 && a.byte[0] == terminate {
				signal = uintptr(unix.SIGTERM)
			} else {
				a.poll[0].Fd = -1
			}
			syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), signal, 0, 0, 0, 0)
		}
		syscall.RawSyscall6(unix.SYS_READ, childFD, uintptr(unsafe.Pointer(&a.signal)), uintptr(len(a.signal)), 0, 0, 0)
		for {
			child, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&a.wait)), unix.WNOHANG, 0, 0, 0)
			if errno != 0 || child == 0 {
				break
			}
			if child == pid {
				ended, a.answer.value = true, a.wait
			}
		}
	}
	status := uintptr(a.answer.value)
	// No process can fork between the look of the kernel and its signal.
	syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGKILL), 0, 0, 0, 0)
	for {
		if _, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), 0, 0, 0, 0, 0); errno != 0 && errno != unix.EINTR {
			break
		}
	}
	tell(a, recordEnded, status, 0)
	exit(0)
}

// tell sends a record to the sidecar.
//
//go:norace
//go:nosplit
func tell(a *area, kind uint32, value uintptr, errno syscall.Errno) {
	a.answer.kind, a.answer.value, a.answer.errno = kind, uint32(value), uint32(errno)
	syscall.RawSyscall6(unix.SYS_SENDTO, controlFD, uintptr(unsafe.Pointer(&a.answer)), unsafe.Sizeof(a.answer), unix.MSG_NOSIGNAL, 0, 0)
}

// exit ends the process.
//
//go:norace
//go:nosplit
func exit(code uintptr) {
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}
