package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unprivilegedID is the user and the group of a program that root runs, unless Spec names others.
const unprivilegedID = 65534

// startInThread gives up every right in a thread of its own and starts the program from there. The thread is never used again: its
// goroutine stays locked to it, and the Go runtime starts no thread from a locked one.
func startInThread(o *order, has isolation, lim *limits) (pid int, st status) {
	type result struct {
		pid int
		st  status
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The kernel judges access to a process by its first thread, so that one has to stay outside the domain.
			pid, st := startInThread(o, has, lim)
			done <- result{pid, st}
			select {}
		}
		pid, st := restrictAndStart(o, has, lim)
		done <- result{pid, st}
		select {} // the death of this thread must not be seen by the program
	}()
	r := <-done
	return r.pid, r.st
}

// restrictAndStart restricts the calling thread. Nothing is started if a layer fails that the level requires.
func restrictAndStart(o *order, has isolation, lim *limits) (int, status) {
	st := status{Landlock: landlockABI(), ReadOnly: has.readOnly, Proc: has.proc, Loopback: has.loopback}
	credential, err := dropIdentity(o)
	if err != nil {
		return 0, status{Error: err.Error()}
	}
	path, err := lookUp(o)
	if err != nil {
		return 0, status{Error: err.Error(), NotStarted: true}
	}
	required := o.Level != BestEffort
	if required && st.Landlock < RequiredABI {
		return 0, status{Unavailable: []string{missingLandlock(st.Landlock)}}
	}
	if st.Landlock > 0 {
		if err := restrictFiles(&o.Spec, st.Landlock, has); err != nil {
			return 0, status{Error: err.Error()}
		}
	}
	filter, err := assembleFilter(o.Network || has.loopback, has)
	if err != nil {
		return 0, status{Error: fmt.Sprintf("assemble the seccomp filter: %v", err)}
	}
	attr := &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: credential},
	}
	// The filter forbids to change limits.
	if err := lim.lower(); err != nil {
		return 0, status{Error: err.Error()}
	}
	if err := installFilter(filter); err != nil {
		if required {
			return 0, status{Unavailable: []string{err.Error()}}
		}
		st.Refused = err.Error()
	} else {
		st.Seccomp = true
	}
	if o.Probe {
		return 0, st
	}
	pid, err := syscall.ForkExec(path, o.Argv, attr)
	if err != nil {
		errno, _ := errors.AsType[unix.Errno](err)
		return 0, status{Error: "start " + path, NotStarted: true, Errno: errno}
	}
	return pid, st
}

// dropIdentity takes all capabilities from the calling thread that the program must not get, and returns the identity that the
// program starts with. Capabilities are those of a thread; users and groups are changed in the new process only.
func dropIdentity(o *order) (*syscall.Credential, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for capability := uintptr(0); capability < 64; capability++ {
		// An ordinary user cannot empty the bounding set. It does not need to: nothing raises its capabilities again.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			break
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if os.Getuid() != 0 {
		if err := unix.Capset(&header, &data[0]); err != nil {
			return nil, fmt.Errorf("drop capabilities: %w", err)
		}
		return nil, nil
	}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil, fmt.Errorf("read capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &data[0]); err != nil {
		return nil, fmt.Errorf("drop inheritable capabilities: %w", err)
	}
	// The change from root to another user drops the rest.
	uid, gid := o.identity()
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}, nil
}

// identity returns the user and the group of a program that root runs; never root.
func (s *Spec) identity() (uid, gid int) {
	uid, gid = s.UID, s.GID
	if uid <= 0 {
		uid = unprivilegedID
	}
	if gid <= 0 {
		gid = uid
	}
	return uid, gid
}

// lookUp finds the program in PATH of its environment.
func lookUp(o *order) (string, error) {
	if o.Probe {
		return "", nil
	}
	name := o.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, variable := range o.Env {
		list, ok := strings.CutPrefix(variable, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("program %q not found in PATH", name)
}

// missingLandlock says what is wrong with a version of Landlock.
func missingLandlock(abi int) string {
	if abi == 0 {
		return "the kernel has no Landlock"
	}
	return fmt.Sprintf("the kernel has Landlock ABI %d, and ABI %d is required", abi, RequiredABI)
}
