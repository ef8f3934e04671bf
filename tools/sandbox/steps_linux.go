package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// steps are system calls of one process, with what each is for.
type steps struct {
	list  []step
	names []string
}

func (s *steps) add(name string, call uintptr, arguments ...uintptr) {
	one := step{call: call}
	copy(one.arguments[:], arguments)
	s.list, s.names = append(s.list, one), append(s.names, name)
}

func (s *steps) addOptional(name string, call uintptr, arguments ...uintptr) {
	s.add(name, call, arguments...)
	s.list[len(s.list)-1].optional = 1
}

// memory is what steps point to, at an address of the process that carries them out.
type memory struct {
	at   uintptr
	data []byte
}

// put copies a value and returns its address.
func (m *memory) put(value []byte) uintptr {
	m.data = append(m.data, make([]byte, -len(m.data)&7)...)
	address := m.at + uintptr(len(m.data))
	m.data = append(m.data, value...)
	return address
}

func (m *memory) text(text string) uintptr { return m.put(append([]byte(text), 0)) }

// texts returns the address of a list of texts, as execve takes it.
func (m *memory) texts(list []string) uintptr {
	var pointers []byte
	for _, text := range list {
		pointers = binary.NativeEndian.AppendUint64(pointers, uint64(m.text(text)))
	}
	return m.put(append(pointers, make([]byte, 8)...))
}

// bytesOf returns the memory of a value without pointers.
func bytesOf[T any](value *T) []byte {
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value)))
}

const atCWD = ^uintptr(99) // AT_FDCWD, -100

// loopbackSteps are the last steps of a preparation, which are left out in the network of the sidecar.
const loopbackSteps = 3

// preparation is what a forked supervisor does before it has an order. Its memory is that of the starter.
func preparation() []step {
	var s steps
	var kept memory
	kept.data = make([]byte, 0, 256) // it must not move
	kept.at = uintptr(unsafe.Pointer(unsafe.SliceData(kept.data)))
	preparationMemory = kept.data
	s.add("hide the supervisor", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0)
	s.add("begin a session", unix.SYS_SETSID)
	none, root, proc := kept.text(""), kept.text("/"), kept.text("/proc")
	s.add("make the mounts private", unix.SYS_MOUNT, none, root, none, unix.MS_REC|unix.MS_PRIVATE, none)
	s.add("mount /proc", unix.SYS_MOUNT, kept.text("proc"), proc, kept.text("proc"), unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, none)
	var up struct { // struct ifreq
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(up.name[:], "lo")
	up.flags = unix.IFF_UP
	s.add("open a socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	s.add("start the loopback interface", unix.SYS_IOCTL, childFD, unix.SIOCSIFFLAGS, kept.put(bytesOf(&up)))
	s.add("close the socket", unix.SYS_CLOSE, childFD)
	return s.list
}

// preparationMemory keeps what the steps point to.
//
//lint:ignore U1000 the kernel reads it
var preparationMemory []byte

// program is an order for a forked supervisor.
type program struct {
	order            *order
	path             string // of the program
	landlock         int    // ABI
	supervisor, tool steps
	memory           memory
	cgroup           bool
}

// compile returns the order as steps. The address is that of its memory.
func compile(o *order, path string, landlock int, cgroup bool, address uintptr) (*program, error) {
	p := &program{order: o, path: path, landlock: landlock, cgroup: cgroup, memory: memory{at: address}}
	p.mounts()
	if o.Proxy {
		p.listener()
	}
	p.identity()
	if err := p.limits(); err != nil {
		return nil, err
	}
	return p, p.start()
}

// mounts makes all mounts read-only except those of the paths that may be written; see makeReadOnly.
func (p *program) mounts() {
	s, m := &p.supervisor, &p.memory
	writable := p.order.writable()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	howAt, none := m.put(bytesOf(&how)), m.text("")
	tree := func(i int) uintptr { return uintptr(firstFD + 2*i + 1) }
	for i, path := range writable {
		name, at := "bind "+path, tree(i)-1
		s.add(name, unix.SYS_OPENAT2, atCWD, m.text(path), howAt, unsafe.Sizeof(how))
		s.add(name, unix.SYS_OPEN_TREE, at, none, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		s.add(name, unix.SYS_MOVE_MOUNT, tree(i), none, at, none, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	s.add("make the mounts read-only", unix.SYS_MOUNT_SETATTR, atCWD, m.text("/"), unix.AT_RECURSIVE, m.put(bytesOf(&attr)), unsafe.Sizeof(attr))
	attr = unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	clear := m.put(bytesOf(&attr))
	for i, path := range writable {
		s.add("make "+path+" writable", unix.SYS_MOUNT_SETATTR, tree(i), none, unix.AT_EMPTY_PATH, clear, unsafe.Sizeof(attr))
	}
	s.add("close the mounts", unix.SYS_CLOSE_RANGE, firstFD, 1<<31, 0)
}

// listener opens the port of the proxy and sends the socket; see sendListener. The record comes first, so that it is read with it.
func (p *program) listener() {
	s, m := &p.supervisor, &p.memory
	address := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&address.Port))[:], ProxyPort)
	answer := record{kind: recordListener}
	text := struct{ base, size uintptr }{m.put(bytesOf(&answer)), unsafe.Sizeof(answer)}
	rights := unix.UnixRights(firstFD)
	message := struct { // struct msghdr, with addresses in the place of pointers
		name, nameSize, iov, iovs, control, controlSize, flags uintptr
	}{0, 0, m.put(bytesOf(&text)), 1, m.put(rights), uintptr(len(rights)), 0}
	s.add("open the socket of the proxy", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	s.add("open the port of the proxy", unix.SYS_BIND, firstFD, m.put(bytesOf(&address)), unsafe.Sizeof(address))
	s.add("open the port of the proxy", unix.SYS_LISTEN, firstFD, unix.SOMAXCONN)
	s.add("send the socket of the proxy", unix.SYS_SENDMSG, controlFD, m.put(bytesOf(&message)), unix.MSG_NOSIGNAL)
	s.add("close the socket of the proxy", unix.SYS_CLOSE, firstFD)
}

// isolationOf says what the namespaces prevent. Where they cannot do all of it, no supervisor is forked.
func isolationOf(o *order) isolation {
	return isolation{processes: true, readOnly: true, proc: true, loopback: !o.Network}
}

// identity takes every right from the program but its files and its filter; see dropIdentity.
func (p *program) identity() {
	s, m := &p.tool, &p.memory
	s.add("begin a session", unix.SYS_SETSID)
	s.add("set no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	s.add("clear ambient capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	for capability := range lastCapability() + 1 {
		s.addOptional("drop a capability", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability)
	}
	if p.landlock > 0 {
		s.add("open /proc", unix.SYS_OPENAT, atCWD, m.text("/proc"), unix.O_PATH|unix.O_CLOEXEC)
		access := uint64(accessRead &^ unix.LANDLOCK_ACCESS_FS_EXECUTE)
		rule := unix.LandlockPathBeneathAttr{Allowed_access: access & handled(p.landlock, p.order.Network, !p.order.Network).Handled_access_fs, Parent_fd: firstFD}
		s.add("allow /proc", unix.SYS_LANDLOCK_ADD_RULE, rulesetFD, unix.LANDLOCK_RULE_PATH_BENEATH, m.put(bytesOf(&rule)), 0)
		s.add("enter the Landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, rulesetFD, 0)
	}
}

// limits lowers the limits, and then changes the user, who may not lower them below what is used.
func (p *program) limits() error {
	s, m := &p.tool, &p.memory
	lim, err := readLimits(p.order)
	if err != nil {
		return err
	}
	for _, one := range lim.set {
		s.add("set limit "+strconv.Itoa(one.resource), unix.SYS_PRLIMIT64, 0, uintptr(one.resource), m.put(bytesOf(&unix.Rlimit{Cur: one.soft, Max: one.hard})), 0)
	}
	if os.Getuid() == 0 {
		uid, gid := p.order.identity()
		s.add("drop the groups", unix.SYS_SETGROUPS, 0, 0)
		s.add("change the group", unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
		s.add("change the user", unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	s.add("drop capabilities", unix.SYS_CAPSET, m.put(bytesOf(&header)), m.put(bytesOf(&none)))
	return nil
}

// The names of the steps that say more than that the sandbox does not work.
const (
	stepDirectory = "enter the directory"
	stepFilter    = "install the seccomp filter"
	stepExecute   = "execute"
)

// start gives the program its descriptors and its filter, and executes it.
func (p *program) start() error {
	s, m := &p.tool, &p.memory
	for fd, of := range []uintptr{stdinFD, outputFD, outputFD} {
		s.add("connect input and output", unix.SYS_DUP3, of, uintptr(fd), 0)
	}
	s.add("close descriptors", unix.SYS_CLOSE_RANGE, 3, 1<<31, unix.CLOSE_RANGE_CLOEXEC)
	s.add(stepDirectory, unix.SYS_CHDIR, m.text(p.order.Dir))
	argv, envp, path, signals := m.texts(p.order.Argv), m.texts(p.order.Env), m.text(p.path), m.put(make([]byte, 8))
	raw, err := filterFor(true, isolationOf(p.order))
	if err != nil {
		return fmt.Errorf("assemble the seccomp filter: %w", err)
	}
	var filter []byte
	for _, in := range raw {
		filter = append(filter, bytesOf(&unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K})...)
	}
	// struct sock_fprog, with the address in the place of the pointer
	code := struct {
		count  uint16
		filter uintptr
	}{uint16(len(raw)), m.put(filter)}
	s.add("unblock signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, signals, 0, 8)
	install := s.add
	if p.order.Level == BestEffort {
		install = s.addOptional
	}
	install(stepFilter, unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, m.put(bytesOf(&code)))
	s.add(stepExecute, unix.SYS_EXECVE, path, argv, envp)
	return nil
}

// encode returns the head and the rest of the order.
func (p *program) encode() (head, rest []byte) {
	h := orderHead{supervisor: uint64(len(p.supervisor.list)), tool: uint64(len(p.tool.list))}
	if p.cgroup {
		h.cgroup = 1
	}
	h.steps = uint64(p.memory.put(nil) - p.memory.at)
	for _, list := range [][]step{p.supervisor.list, p.tool.list} {
		rest := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(step{})))
		p.memory.data = append(p.memory.data, rest...)
	}
	h.size = uint64(len(p.memory.data))
	return bytesOf(&h), p.memory.data
}

// filters are those that were assembled, by what they depend on.
var filters sync.Map

func filterFor(network bool, has isolation) ([]bpf.RawInstruction, error) {
	type key struct {
		network bool
		has     isolation
	}
	if found, ok := filters.Load(key{network, has}); ok {
		return found.([]bpf.RawInstruction), nil
	}
	made, err := assembleFilter(network, has)
	if err == nil {
		filters.Store(key{network, has}, made)
	}
	return made, err
}

// lastCapability returns the number of the last one that the kernel knows.
var lastCapability = sync.OnceValue(func() uintptr {
	text, _ := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	last, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 6)
	if err != nil {
		return 63
	}
	return uintptr(last)
})
