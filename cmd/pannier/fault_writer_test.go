package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
)

// faultWriterEnv makes the test binary a writer of what a shell can not do: a process that changes a tree and nothing else,
// since a writer in the process that watches distorts the very races that these tests are about.
const faultWriterEnv = "PANNIER_TEST_FAULT_WRITER"

func init() {
	if os.Getenv(faultWriterEnv) == "" {
		return
	}
	if err := faultWrite(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, os.Args[1:], err)
		os.Exit(1)
	}
	os.Exit(0)
}

// faultWrites are the commands of a writer, by name, with their arguments.
var faultWrites = map[string]func(args []string) error{
	"replace":  replaceOften,   // replace FILE COUNT MAXPAUSE: by renames, numbered
	"volume":   publishOften,   // volume DIR FROM COUNT PAUSE ORDER KEY...: generations, as a kubelet does
	"skills":   makeSkills,     // skills DIR COUNT DEPTH: each at once with its text
	"storm":    storm,          // storm DIR COUNT: files that come and go
	"rewrite":  rewrite,        // rewrite FILE COUNT PAUSE: in place
	"mmap":     writeMapped,    // mmap FILE FROM TO: through a shared mapping
	"exchange": exchange,       // exchange A B: RENAME_EXCHANGE
	"tmpfile":  linkUnnamed,    // tmpfile FILE PAUSE NUMBER: O_TMPFILE, and linkat after the pause
	"socket":   leaveSocket,    // socket PATH
	"halves":   writeHalves,    // halves FILE PAUSE NUMBER: in place, with a pause in the frontmatter
	"entries":  makeEntries,    // entries DIR COUNT
	"editor":   saveLikeEditor, // editor FILE PAUSE NUMBER: removed, and written anew after the pause
}

func faultWrite(name string, args []string) error {
	do, ok := faultWrites[name]
	if !ok {
		return errors.New("no such command")
	}
	return do(args)
}

// writerProcess returns a writer that does not run yet. It ends with the test at the latest.
func writerProcess(t *testing.T, args ...any) *exec.Cmd {
	t.Helper()
	self := must(os.Executable())(t)
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = fmt.Sprint(arg)
	}
	cmd := exec.CommandContext(t.Context(), self, words...)
	cmd.Env = append(os.Environ(), faultWriterEnv+"=1", "GORACE=atexit_sleep_ms=0")
	return cmd
}

// runWriter runs a writer to its end.
func runWriter(t *testing.T, args ...any) {
	t.Helper()
	if out, err := writerProcess(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("writer: %v\n%s", err, out)
	}
}

// beginWriter runs a writer and returns a function that waits for its end.
func beginWriter(t *testing.T, args ...any) (end func()) {
	t.Helper()
	cmd := writerProcess(t, args...)
	need(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return func() {
		t.Helper()
		if err := <-ended; err != nil {
			t.Fatalf("writer: %v", err)
		}
	}
}

func numbered(name string, n int) string {
	return fmt.Sprintf("---\nname: %s\ndescription: number %d\n---\nDo it.\n", name, n)
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

func pause(s string) { d, _ := time.ParseDuration(s); time.Sleep(d) } // in the writer, never in a test

func replaceOften(args []string) error {
	file, most := args[0], args[2]
	d, _ := time.ParseDuration(most)
	for i := 1; i <= atoi(args[1]); i++ {
		if err := os.WriteFile(file+".tmp", []byte(numbered("one", i)), 0o644); err != nil {
			return err
		}
		if err := os.Rename(file+".tmp", file); err != nil {
			return err
		}
		if d > 0 {
			time.Sleep(rand.N(d))
		}
	}
	return nil
}

// publishOften puts generations of files into a volume. What is right in it are links into its data, which older kubelets
// make before they swap it, and newer ones after.
func publishOften(args []string) error {
	dir, from, count, gap, order, keys := args[0], atoi(args[1]), atoi(args[2]), args[3], args[4], args[5:]
	for n := from; n < from+count; n++ {
		if err := publishGeneration(dir, n, order, keys); err != nil {
			return err
		}
		pause(gap)
	}
	return nil
}

func publishGeneration(dir string, n int, order string, keys []string) error {
	stamp := fmt.Sprintf("..2026_%d_%d", n, os.Getpid())
	for _, key := range keys {
		path := filepath.Join(dir, stamp, key)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		text := numbered(filepath.Base(filepath.Dir(key)), n)
		switch filepath.Base(key) {
		case pannier.WorkspaceFile:
			text = fmt.Sprintf("name: number %d\n", n)
		case pannier.MetaFile:
			text = fmt.Sprintf(`{"version":"%d.0.0"}`, n)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	if order == "before" {
		if err := linkKeys(dir, keys); err != nil {
			return err
		}
	}
	tmp := filepath.Join(dir, "..data_tmp")
	if err := errors.Join(os.Symlink(stamp, tmp), os.Rename(tmp, filepath.Join(dir, "..data"))); err != nil {
		return err
	}
	if order != "before" {
		if err := linkKeys(dir, keys); err != nil {
			return err
		}
	}
	return errors.Join(unlinkOthers(dir, keys), removeGeneration(dir, old))
}

func removeGeneration(dir, name string) error {
	if name == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, name))
}

func linkKeys(dir string, keys []string) error {
	for _, key := range keys {
		top, _, _ := strings.Cut(key, "/")
		err := os.Symlink(filepath.Join("..data", top), filepath.Join(dir, top))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func unlinkOthers(dir string, keys []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, key := range keys {
		top, _, _ := strings.Cut(key, "/")
		kept[top] = true
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "..") && !kept[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func makeSkills(args []string) error {
	dir, depth := args[0], atoi(args[2])
	for i := range atoi(args[1]) {
		name := fmt.Sprintf("s%d-%d", depth, i)
		path := filepath.Join(dir, strings.Repeat(name+"g/", depth-1), name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(path, "SKILL.md"), []byte(numbered(name, i)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func storm(args []string) error {
	for i := range atoi(args[1]) {
		path := filepath.Join(args[0], fmt.Sprintf("storm-%d", i%64))
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func rewrite(args []string) error {
	for i := 1; i <= atoi(args[1]); i++ {
		if err := os.WriteFile(args[0], []byte(numbered("one", i)), 0o644); err != nil {
			return err
		}
		pause(args[2])
	}
	return nil
}

// writeMapped changes a text in a file to another one of the same length.
func writeMapped(args []string) error {
	file, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	text, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	at := strings.Index(string(text), args[1])
	if at < 0 {
		return errors.New("no such text")
	}
	copy(text[at:], args[2])
	return errors.Join(unix.Msync(text, unix.MS_SYNC), unix.Munmap(text))
}

func exchange(args []string) error {
	return unix.Renameat2(unix.AT_FDCWD, args[0], unix.AT_FDCWD, args[1], unix.RENAME_EXCHANGE)
}

func linkUnnamed(args []string) error {
	fd, err := unix.Open(filepath.Dir(args[0]), unix.O_TMPFILE|unix.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), "unnamed")
	defer file.Close()
	if _, err := file.WriteString(numbered("one", atoi(args[2]))); err != nil {
		return err
	}
	pause(args[1]) // the kernel tells of the writing too
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, args[0], unix.AT_SYMLINK_FOLLOW)
}

func leaveSocket(args []string) error {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: args[0]})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false)
	return ln.Close()
}

func writeHalves(args []string) error {
	text := numbered("one", atoi(args[2]))
	file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	half := strings.Index(text, "number")
	if _, err := file.WriteString(text[:half]); err != nil {
		return err
	}
	pause(args[1])
	_, err = file.WriteString(text[half:])
	return err
}

func makeEntries(args []string) error {
	for i := range atoi(args[1]) {
		fd, err := syscall.Open(filepath.Join(args[0], strconv.Itoa(i)), syscall.O_CREAT|syscall.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		syscall.Close(fd)
	}
	return nil
}

func saveLikeEditor(args []string) error {
	if err := os.Remove(args[0]); err != nil {
		return err
	}
	pause(args[1])
	return os.WriteFile(args[0], []byte(numbered("one", atoi(args[2]))), 0o644)
}
