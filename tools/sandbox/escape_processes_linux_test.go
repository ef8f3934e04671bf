package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// proc returns a path below /proc of the victim.
func (v *victim) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(v.PID), name)
}

// supervisorPID is the parent of a program.
func supervisorPID() int { return os.Getppid() }

// procAttempts look at other processes.
var procAttempts = []attempt{
	{name: "read the environment of the sidecar", try: func(v *victim) error { _, err := os.ReadFile(v.proc("environ")); return err }},
	{name: "read the memory of the sidecar", try: func(v *victim) error {
		file, err := os.Open(v.proc("mem"))
		if err != nil {
			return err
		}
		text := make([]byte, len(secretText))
		_, err = file.ReadAt(text, int64(v.Secret))
		return secretIn(text, err)
	}},
	{name: "go through the root of the sidecar", try: func(v *victim) error { return secretIn(os.ReadFile(v.proc("root") + v.Token)) }},
	{name: "list the descriptors of the sidecar", try: func(v *victim) error { _, err := os.ReadDir(v.proc("fd")); return err }},
	{name: "read the arguments of the sidecar", try: func(v *victim) error {
		line, err := os.ReadFile(v.proc("cmdline"))
		if err == nil && !bytes.Contains(line, []byte("test")) {
			return errors.New("another process")
		}
		return err
	}},
	{name: "list the processes of the machine", try: func(v *victim) error {
		entries, err := filepath.Glob("/proc/[0-9]*")
		if err == nil && len(entries) < 4 {
			return fmt.Errorf("%d processes", len(entries))
		}
		return err
	}},
	{name: "read the environment of the supervisor", alone: "supervisor", try: func(v *victim) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", supervisorPID()))
		return err
	}},
	{name: "open the descriptors of the supervisor", alone: "supervisor", try: func(v *victim) error {
		for _, fd := range []string{"3", "4"} {
			if err := opened(fmt.Sprintf("/proc/%d/fd/%s", supervisorPID(), fd), unix.O_WRONLY); err == nil {
				return nil
			}
		}
		return unix.EACCES
	}},
	{name: "find inherited descriptors", alone: "supervisor", try: func(v *victim) error {
		for fd := 3; fd < 1024; fd++ {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
			if err == nil && flags&unix.FD_CLOEXEC == 0 {
				return nil
			}
		}
		return errors.New("none")
	}},
	{name: "find variables of the sidecar", alone: "supervisor", try: func(v *victim) error {
		for _, variable := range os.Environ() {
			if name, _, _ := strings.Cut(variable, "="); name != "PATH" && name != "TMPDIR" && name != "ESCAPE" && name != "PWD" {
				return nil
			}
		}
		return errors.New("none")
	}},
	{name: "write a setting of the kernel", alone: "identity", try: func(v *victim) error { return opened("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }},
	{name: "write below /sys", alone: "identity", try: func(v *victim) error { return opened("/sys/fs/cgroup/cgroup.procs", unix.O_WRONLY) }},
}

// programAttempts execute something that could have more rights.
var programAttempts = []attempt{
	{name: "run a setuid program", alone: "identity", try: func(v *victim) error {
		return runVerdict(v.Setuid, "become root")
	}},
	{name: "become root", alone: "identity", try: func(v *victim) error {
		if os.Geteuid() == 0 {
			return nil
		}
		return call(unix.SYS_SETRESUID, 0, 0, 0)
	}},
	{name: "change the groups", alone: "identity", try: func(v *victim) error {
		group := uint32(0)
		return call(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&group)))
	}},
	{name: "take capabilities", alone: "identity", try: func(v *victim) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
		return unix.Capset(&header, &data[0])
	}},
	{name: "allow new privileges again", alone: "identity", try: func(v *victim) error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) }},
	{name: "read the token file from a program in memory", try: func(v *victim) error {
		text, err := os.ReadFile(v.Program)
		if err != nil {
			return err
		}
		fd, err := unix.MemfdCreate("program", 0)
		if err != nil {
			return err
		}
		if _, err := os.NewFile(uintptr(fd), "program").Write(text); err != nil {
			return err
		}
		return runVerdict(fdPath(fd), "read the token file")
	}},
	{name: "read the token file from an own program", try: func(v *victim) error {
		text, err := os.ReadFile(v.Program)
		if err != nil {
			return err
		}
		own := filepath.Join(v.Scratch, "own")
		if err := os.WriteFile(own, text, 0o755); err != nil {
			return err
		}
		return runVerdict(own, "read the token file")
	}},
}

// runVerdict runs an attempt in another program.
func runVerdict(program, name string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	process, err := os.StartProcess(program, []string{program, "escape", name}, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, w, nil}})
	w.Close()
	if err != nil {
		return err
	}
	text := make([]byte, 4096)
	n, _ := r.Read(text)
	if _, err := process.Wait(); err != nil {
		return err
	}
	if strings.Contains(string(text[:n]), "VERDICT: out") {
		return nil
	}
	return fmt.Errorf("%.100s", text[:n])
}

// processAttempts act on other processes.
var processAttempts = []attempt{
	{name: "send a signal to the sidecar", try: func(v *victim) error { return unix.Kill(v.PID, 0) }},
	{name: "send it with a descriptor of the process", try: func(v *victim) error {
		fd, err := unix.PidfdOpen(v.PID, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	}},
	{name: "send it to a thread", try: func(v *victim) error { return unix.Tgkill(v.PID, v.PID, 0) }},
	{name: "kill the supervisor", alone: "supervisor", try: func(v *victim) error {
		if os.Getppid() != 1 {
			return unix.Kill(supervisorPID(), 0)
		}
		// The kernel accepts a signal to the first process of a namespace and drops it.
		if err := unix.Kill(1, unix.SIGKILL); err != nil {
			return err
		}
		return errors.New("still alive")
	}},
	{name: "trace the sidecar", try: func(v *victim) error { return unix.PtraceSeize(v.PID) }},
	{name: "trace the supervisor", alone: "supervisor", try: func(v *victim) error { return unix.PtraceSeize(supervisorPID()) }},
	{name: "read the memory of the sidecar by a call", try: func(v *victim) error {
		text := make([]byte, len(secretText))
		local := []unix.Iovec{{Base: &text[0], Len: uint64(len(text))}}
		_, err := unix.ProcessVMReadv(v.PID, local, []unix.RemoteIovec{{Base: v.Secret, Len: len(text)}}, 0)
		return secretIn(text, err)
	}},
	{name: "take a descriptor of the sidecar", try: func(v *victim) error {
		fd, err := unix.PidfdOpen(v.PID, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 1, 0)
		return err
	}},
	{name: "read the limits of the sidecar", try: func(v *victim) error {
		var old unix.Rlimit
		return unix.Prlimit(v.PID, unix.RLIMIT_CORE, nil, &old)
	}},
	{name: "change the priority of the sidecar", try: func(v *victim) error {
		own, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less what setpriority takes, and that of the sidecar
		if err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, v.PID, min(20-own+1, 19))
	}},
	{name: "change the processors of the sidecar", try: func(v *victim) error {
		set := unix.CPUSet{}
		set.Set(0)
		set.Set(1)
		return unix.SchedSetaffinity(v.PID, &set)
	}},
}
