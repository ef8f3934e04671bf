package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// secretIn returns nil if a text has the secret.
func secretIn(text []byte, err error) error {
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(secretText)) {
		return fmt.Errorf("other content: %.40q", text)
	}
	return nil
}

// fdPath is the path of a descriptor, by number.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// opened opens a file and returns its error.
func opened(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// fileAttempts read and change files elsewhere. The victim's permissions allow all of it.
var fileAttempts = []attempt{
	{name: "read the token file", try: func(v *victim) error { return secretIn(os.ReadFile(v.Token)) }},
	{name: "read a file of the state directory", try: func(v *victim) error { return secretIn(os.ReadFile(filepath.Join(v.State, "audit"))) }},
	{name: "read a file of another skill", try: func(v *victim) error { return secretIn(os.ReadFile(filepath.Join(v.OtherSkill, "SKILL.md"))) }},
	{name: "list the state directory", try: func(v *victim) error { _, err := os.ReadDir(v.State); return err }},
	{name: "list the directory above its own", try: func(v *victim) error { _, err := os.ReadDir(".."); return err }},
	{name: "change its own skill", try: func(v *victim) error { return opened(filepath.Join(v.Skill, "SKILL.md"), unix.O_WRONLY) }},
	{name: "add a file to its own skill", try: func(v *victim) error { return opened(filepath.Join(v.Skill, "new"), unix.O_CREAT|unix.O_WRONLY) }},
	{name: "append to the token file", try: func(v *victim) error { return opened(v.Token, unix.O_APPEND|unix.O_WRONLY) }},
	{name: "truncate the token file", try: func(v *victim) error { return unix.Truncate(v.Token, 1<<20) }},
	{name: "remove a file elsewhere", try: func(v *victim) error { return unix.Unlink(filepath.Join(v.Foreign, "file")) }},
	{name: "remove a directory elsewhere", try: func(v *victim) error {
		return unix.Rmdir(filepath.Join(v.Foreign, "empty"))
	}},
	{name: "move a file into its own directory", try: func(v *victim) error {
		return unix.Rename(filepath.Join(v.Foreign, "file"), filepath.Join(v.Scratch, "moved"))
	}},
	{name: "link the token file into its own directory", try: func(v *victim) error {
		to := filepath.Join(v.Scratch, "hard")
		if err := unix.Link(v.Token, to); err != nil {
			return err
		}
		return secretIn(os.ReadFile(to))
	}},
	{name: "read through a symlink", try: func(v *victim) error {
		to := filepath.Join(v.Scratch, "soft")
		if err := os.Symlink(v.Token, to); err != nil {
			return err
		}
		return secretIn(os.ReadFile(to))
	}},
	{name: "write through a symlink", try: func(v *victim) error {
		to := filepath.Join(v.Scratch, "soft")
		if err := os.Symlink(v.Token, to); err != nil {
			return err
		}
		return opened(to, unix.O_WRONLY)
	}},
	{name: "make a file in /tmp", try: func(v *victim) error { return madeIn("/tmp") }},
	{name: "make a file in /var/tmp", try: func(v *victim) error { return madeIn("/var/tmp") }},
	{name: "make a file in the directory of another call", try: func(v *victim) error { return madeIn(v.Foreign) }},
	{name: "make a symlink elsewhere", try: func(v *victim) error {
		return removing(filepath.Join(v.Foreign, "l"), func(p string) error { return os.Symlink("/", p) })
	}},
	{name: "make a directory elsewhere", try: func(v *victim) error {
		return removing(filepath.Join(v.Foreign, "d"), func(p string) error { return os.Mkdir(p, 0o777) })
	}},
	{name: "make a FIFO elsewhere", try: func(v *victim) error {
		return removing(filepath.Join(v.Foreign, "f"), func(p string) error { return unix.Mkfifo(p, 0o666) })
	}},
	{name: "make a device file", alone: "identity", try: func(v *victim) error {
		return unix.Mknod(filepath.Join(v.Scratch, "mem"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1)))
	}},
	{name: "open a path descriptor again", try: func(v *victim) error {
		fd, err := unix.Open(v.Token, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return secretIn(os.ReadFile(fdPath(fd)))
	}},
	{name: "open below a path descriptor", try: func(v *victim) error {
		dir, err := unix.Open(v.State, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		_, err = unix.Openat(dir, "audit", unix.O_RDONLY, 0)
		return err
	}},
	{name: "open below a changed working directory", try: func(v *victim) error {
		if err := os.Chdir(v.State); err != nil {
			return err
		}
		return secretIn(os.ReadFile("audit"))
	}},
	{name: "open by file handle", alone: "identity", try: func(v *victim) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, v.Token, 0)
		if err != nil {
			return err
		}
		mount, err := unix.Open(v.Scratch, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
		return err
	}},
	{name: "read the disk below the file system", alone: "identity", try: func(v *victim) error {
		for _, device := range []string{"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/mem", "/dev/kmsg"} {
			if opened(device, unix.O_RDONLY) == nil {
				return nil
			}
		}
		return unix.EACCES
	}},
	{name: "watch the names of the state directory", try: func(v *victim) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, v.State, unix.IN_CREATE)
		return err
	}},
	{name: "run a program outside", try: func(v *victim) error { return runProgram(v.Outside, "-test.list", "^$") }},
	{name: "read with a shell", try: func(v *victim) error { return runProgram("/bin/sh", "-c", "grep -q secret <"+v.Token) }},
	{name: "search with find", try: func(v *victim) error {
		return runProgram("/bin/sh", "-c", "find "+v.State+" -name audit | grep -q audit")
	}},
}

// metadataAttempts change what Landlock does not know: owners, permissions, times and attributes.
var metadataAttempts = []attempt{
	{name: "make the token file readable for all", try: func(v *victim) error { return unix.Chmod(v.Token, 0o666) }},
	{name: "do so with a path descriptor", try: func(v *victim) error {
		fd, err := unix.Open(v.Token, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return unix.Chmod(fdPath(fd), 0o666)
	}},
	{name: "do so with fchmodat2", try: func(v *victim) error {
		return unix.Fchmodat(unix.AT_FDCWD, v.Token, 0o666, unix.AT_SYMLINK_NOFOLLOW)
	}},
	{name: "change the owner of the token file", try: func(v *victim) error { return unix.Chown(v.Token, os.Getuid(), os.Getgid()) }},
	{name: "change the times of the token file", try: func(v *victim) error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, v.Token, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
	}},
	{name: "read an attribute of the token file", try: func(v *victim) error {
		value := make([]byte, 100)
		n, err := unix.Getxattr(v.Token, "user.secret", value)
		return secretIn(value[:max(n, 0)], err)
	}},
	{name: "list attributes of the token file", try: func(v *victim) error {
		_, err := unix.Listxattr(v.Token, make([]byte, 100))
		return err
	}},
	{name: "set an attribute of the token file", try: func(v *victim) error { return unix.Setxattr(v.Token, "user.x", []byte("1"), 0) }},
	{name: "set it with a call that filters do not know", try: func(v *victim) error {
		args := struct {
			value uint64
			size  uint32
			flags uint32
		}{uint64(path("1")), 1, 0}
		return call(463, ^uintptr(99), path(v.Token), 0, path("user.y"), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	}},
	{name: "change the permissions of its own skill", try: func(v *victim) error { return unix.Chmod(v.Skill, 0o777) }},
}

// madeIn makes a file in a directory.
func madeIn(dir string) error {
	return removing(filepath.Join(dir, "sandbox-"+strconv.Itoa(os.Getpid())), func(p string) error {
		return opened(p, unix.O_CREAT|unix.O_WRONLY)
	})
}

// removing removes what a function made.
func removing(path string, make func(string) error) error {
	err := make(path)
	if err == nil {
		os.Remove(path)
	}
	return err
}

// runProgram runs a program and waits for it.
func runProgram(argv ...string) error {
	process, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, nil, nil}})
	if err != nil {
		return err
	}
	state, err := process.Wait()
	if err != nil {
		return err
	}
	if !state.Success() {
		return errors.New(state.String())
	}
	return nil
}
