package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Access rights of Landlock.
const (
	accessRead      = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessWriteFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// accessWrite has no device files: nothing of a skill needs them.
	accessWrite = accessRead | accessWriteFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	// accessOfFiles are the rights that a rule for a file can have.
	accessOfFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | accessWriteFile
)

// systemPaths may be read and executed by every program: the directories of the system's programs, libraries and their data, and the
// parts of /etc that the C library, TLS and interpreters need. Directories where people put their own files, such as /usr/src,
// /usr/local/src and /usr/local/etc, are left out.
var systemPaths = []string{
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share", "/usr/include",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec", "/usr/local/share",
	"/usr/local/include", "/usr/local/go", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd", "/etc/group",
	"/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/mime.types", "/etc/os-release",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted", "/etc/ca-certificates",
	"/etc/fonts", "/etc/python3", "/etc/bash.bashrc", "/etc/inputrc", "/etc/magic", "/etc/protocols", "/etc/services",
	"/etc/matplotlibrc",
}

// IsSystem reports whether every program may read and execute a path, as far as its mode lets it.
func IsSystem(path string) bool {
	return slices.ContainsFunc(systemPaths, func(system string) bool { return path == system || strings.HasPrefix(path, system+"/") })
}

// Exposed returns the first of the paths that every program may read, by whichever symlinks it is reached, and the path of the
// system that it lies below; both are empty if there is none. A path may be missing.
func Exposed(paths []string) (path, system string) {
	type file struct{ dev, ino uint64 }
	stat := func(path string) (file, bool) {
		var st unix.Stat_t
		err := unix.Stat(path, &st)
		return file{uint64(st.Dev), st.Ino}, err == nil
	}
	systems := map[file]string{}
	for _, system := range systemPaths {
		if of, ok := stat(system); ok {
			systems[of] = system
		}
	}
	for _, path := range paths {
		at, err := filepath.EvalSymlinks(path)
		for parent := path; err != nil && parent != filepath.Dir(parent); { // what is missing may be created
			parent = filepath.Dir(parent)
			at, err = filepath.EvalSymlinks(parent)
		}
		for ; ; at = filepath.Dir(at) {
			of, ok := stat(at)
			if system := systems[of]; ok && system != "" {
				return path, system
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	return "", ""
}

// networkPaths are system paths of programs that may use the network, loopbackPaths those of programs with a loopback interface.
var (
	networkPaths  = []string{"/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf"}
	loopbackPaths = []string{"/etc/hosts", "/etc/host.conf", "/etc/gai.conf"}
)

// devicePaths may be read and written.
var devicePaths = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlockABI returns the version of Landlock, or 0.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// handled returns what a ruleset restricts in a version of Landlock: everything that the version knows, and connections as far as no
// loopback interface of its own does.
func handled(abi int, network, loopback bool) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER - 1}
	if abi >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && !loopback {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP
		if !network {
			attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return attr
}

// restrictFiles puts the calling thread, and all that it starts, into a Landlock domain. The other threads of the supervisor stay
// outside, so the tool can neither signal nor trace them. go-landlock restricts all threads.
func restrictFiles(spec *Spec, abi int, has isolation) error {
	fd, err := newRuleset(spec, abi, has)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return fmt.Errorf("enter the Landlock domain: %w", errno)
	}
	return nil
}

// newRuleset returns a ruleset of Landlock, which the caller closes.
func newRuleset(spec *Spec, abi int, has isolation) (int, error) {
	attr := handled(abi, spec.Network, has.loopback)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	r := ruleset{fd: int(fd), handled: attr.Handled_access_fs}
	for _, path := range spec.Read {
		r.allow(path, accessRead, true)
	}
	for _, path := range spec.writable() {
		r.allow(path, accessWrite, true)
	}
	for _, path := range systemPaths {
		r.allow(path, accessRead, false)
	}
	for _, path := range devicePaths {
		r.allow(path, accessRead&^unix.LANDLOCK_ACCESS_FS_EXECUTE|accessWriteFile, false)
	}
	var network []string
	if spec.Network {
		network = networkPaths
	}
	if spec.Network || has.loopback {
		network = append(network, loopbackPaths...)
	}
	for _, path := range network {
		r.allow(path, accessRead, false)
	}
	if has.proc {
		r.allow("/proc", accessRead&^unix.LANDLOCK_ACCESS_FS_EXECUTE, true)
	}
	if r.err != nil {
		unix.Close(r.fd)
		return -1, r.err
	}
	return r.fd, nil
}

// ruleset is a Landlock ruleset with its first error.
type ruleset struct {
	fd      int
	handled uint64
	err     error
}

// allow adds a rule. A path that is not needed may be missing.
func (r *ruleset) allow(path string, access uint64, needed bool) {
	if r.err != nil {
		return
	}
	open := openWritable
	if access != accessWrite {
		open = func(path string) (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) }
	}
	fd, err := open(path)
	if err != nil {
		if needed {
			r.err = &os.PathError{Op: "allow", Path: path, Err: err}
		}
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		r.err = &os.PathError{Op: "stat", Path: path, Err: err}
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessOfFiles
	}
	// The kernel's structure is packed: 8 bytes of rights, 4 of the descriptor.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access & r.handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 && !(errors.Is(errno, unix.ENOMSG) && !needed) {
		r.err = &os.PathError{Op: "allow", Path: path, Err: errno}
	}
}

// writable returns the paths that the program may change.
func (s *Spec) writable() []string {
	if s.Scratch == "" {
		return s.Write
	}
	return append([]string{s.Scratch}, s.Write...)
}
