package sandbox

import (
	"fmt"
	"unsafe"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// deniedCalls answer EPERM. A name that an architecture does not have is left out there.
var deniedCalls = []string{
	// Other processes.
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd", "perf_event_open",
	"migrate_pages", "move_pages", "get_robust_list",
	// The kernel.
	"bpf", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module",
	"get_kernel_syms", "nfsservctl", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday",
	"clock_settime", "sethostname", "setdomainname", "iopl", "ioperm", "vhangup", "lookup_dcookie", "uselib", "sysfs", "_sysctl",
	"modify_ldt", "userfaultfd", "lsm_set_self_attr",
	// Mounts and namespaces.
	"mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"statmount", "listmount", "setns", "name_to_handle_at", "open_by_handle_at",
	// Keys, and what processes share by name.
	"keyctl", "add_key", "request_key", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd",
	"msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
	// Names of files that Landlock hides.
	"inotify_init", "inotify_init1", "inotify_add_watch", "fanotify_init", "fanotify_mark",
	// Limits are set by the supervisor.
	"setrlimit",
}

// metadataCalls change files that Landlock lets a program name but not open. They are denied unless mounts are read-only.
var metadataCalls = []string{
	"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
	"setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
}

// schedulingCalls change other processes of the same user. They are denied unless the program has a namespace of processes.
var schedulingCalls = []string{
	"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "setpriority", "ioprio_set",
}

// attributeCalls read extended attributes of files that Landlock lets a program name but not open. They answer EOPNOTSUPP, as a file
// system without such attributes does, so that cp and ls do without.
var attributeCalls = []string{
	"getxattr", "lgetxattr", "fgetxattr", "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat",
}

// absentCalls answer ENOSYS, so that programs use another call: clone3 hides its flags from a filter, io_uring its operations.
var absentCalls = []string{"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_secret"}

// networkCalls are denied without a network. A pair of stream sockets needs none of them.
var networkCalls = []string{"socket", "connect", "bind", "listen", "accept", "accept4"}

// newestCall is mseal, the newest call that the lists above were compared with. Later ones answer ENOSYS. The numbers of new calls
// are the same in all architectures.
const newestCall = 462

const (
	newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
		unix.CLONE_NEWCGROUP
	newTime = unix.CLONE_NEWTIME // of unshare; in clone the bit belongs to the signal

	errnoAction = uint32(seccomp.ActionErrno)
	deny        = seccomp.Action(errnoAction | uint32(unix.EPERM))
	unsupported = seccomp.Action(errnoAction | uint32(unix.EOPNOTSUPP))
	absent      = seccomp.Action(errnoAction | uint32(unix.ENOSYS))
)

// isolation says what the namespaces of a program already prevent.
type isolation struct {
	processes bool // it sees its own processes only
	readOnly  bool // it can change nothing but what Spec lets it write
	proc      bool // /proc shows its own processes
	loopback  bool // its network is a loopback interface of its own
}

// equal32 is true if the low 32 bits of an argument have a value. The kernel ignores the others where the argument is an int.
func equal32(argument, value uint32) seccomp.ArgumentConditions {
	conditions := seccomp.ArgumentConditions{{Argument: argument, Operation: seccomp.BitsNotSet, Value: uint64(^value)}}
	for bit := uint32(1); bit != 0; bit <<= 1 {
		if value&bit != 0 {
			conditions = append(conditions, seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: uint64(bit)})
		}
	}
	return conditions
}

// anyBit is true if an argument has one of the bits.
func anyBit(argument uint32, bits uint64) seccomp.ArgumentConditions {
	return seccomp.ArgumentConditions{{Argument: argument, Operation: seccomp.BitsSet, Value: bits}}
}

// deniedArguments are calls that are denied with some arguments.
func deniedArguments(network bool) []seccomp.NameWithConditions {
	list := []seccomp.NameWithConditions{
		{Name: "clone", Conditions: anyBit(0, newNamespaces)},
		{Name: "unshare", Conditions: anyBit(0, newNamespaces|newTime)},
		// Datagram sockets of a pair can send to any path; a stream cannot.
		{Name: "socketpair", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_UNIX}}},
		{Name: "socketpair", Conditions: anyBit(1, unix.SOCK_DGRAM)},
		// A program may ask for its limits, not change them, and not those of another process.
		{Name: "prlimit64", Conditions: anyBit(0, 0xffffffff)},
		{Name: "prlimit64", Conditions: anyBit(2, ^uint64(0))},
		{Name: "ioctl", Conditions: equal32(1, unix.TIOCSTI)},
		{Name: "ioctl", Conditions: equal32(1, unix.TIOCLINUX)},
		{Name: "ioctl", Conditions: equal32(1, unix.TIOCSETD)},
		// The default personality, and the question for it.
		{Name: "personality", Conditions: seccomp.ArgumentConditions{
			{Argument: 0, Operation: seccomp.NotEqual, Value: 0},
			{Argument: 0, Operation: seccomp.NotEqual, Value: 0xffffffff},
			{Argument: 0, Operation: seccomp.NotEqual, Value: ^uint64(0)},
		}},
	}
	if network {
		list = append(list,
			seccomp.NameWithConditions{Name: "socket", Conditions: seccomp.ArgumentConditions{
				{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_INET},
				{Argument: 0, Operation: seccomp.NotEqual, Value: unix.AF_INET6},
			}},
			// Landlock does not see this protocol.
			seccomp.NameWithConditions{Name: "socket", Conditions: equal32(2, unix.IPPROTO_MPTCP)})
	}
	return list
}

// assembleFilter returns the program of the filter. It allows what it does not name, up to newestCall.
func assembleFilter(network bool, has isolation) ([]bpf.RawInstruction, error) {
	listed, err := listedCalls(network, has)
	if err != nil {
		return nil, err
	}
	return bpf.Assemble(listed)
}

// listedCalls returns the instructions of the filter.
func listedCalls(network bool, has isolation) ([]bpf.Instruction, error) {
	native, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	denied := append([]string(nil), deniedCalls...)
	if !network {
		denied = append(denied, networkCalls...)
	}
	if !has.readOnly {
		denied = append(denied, metadataCalls...)
	}
	if !has.processes {
		denied = append(denied, schedulingCalls...)
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Action: absent, Names: known(native, absentCalls)},
		{Action: unsupported, Names: known(native, attributeCalls)},
		{Action: deny, Names: known(native, denied)},
		{Action: deny, NamesWithCondtions: deniedArguments(network)},
	}}
	listed, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// The library allows every call of another architecture, such as those of 32-bit programs, and every later one.
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(native.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)},
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: newestCall, SkipFalse: 1},
		bpf.RetConstant{Val: uint32(absent)},
	}, listed...), nil
}

// known returns the names that an architecture has.
func known(native *arch.Info, names []string) []string {
	var found []string
	for _, name := range names {
		if _, ok := native.SyscallNames[name]; ok {
			found = append(found, name)
		}
	}
	return found
}

// installFilter installs a filter in the calling thread, which has no_new_privs. All that it starts has the filter too.
func installFilter(raw []bpf.RawInstruction) error {
	filter := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("install the seccomp filter: %w", errno)
	}
	return nil
}
