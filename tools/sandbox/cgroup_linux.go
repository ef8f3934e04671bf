package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the name of the control group of a process of pannier, which has those of its calls. The process holds a lock on
// it, so that the next one can tell which are left from processes that were killed.
const groupPrefix = "pannier-"

const (
	// spareGroups bounds the control groups that are kept for further calls. What the kernel keeps of a group that was removed takes
	// memory, so groups are used again.
	spareGroups = 8
	// supervisorBytes is what the supervisor may use where it is in the control group of its program.
	supervisorBytes = 32 << 20
)

// controlGroups are the control groups of this process's calls.
type controlGroups struct {
	bounds []string // of a whole call; empty where there are no groups
	why    string   // there are not all of them
	dir    string
	lock   *os.File

	mu     sync.Mutex
	spare  []*group
	made   int
	closed bool
}

// shared are the control groups of this process, nil until they are needed.
var shared struct {
	mu     sync.Mutex
	groups *controlGroups
}

// sharedGroups finds where control groups can be made, once.
func sharedGroups() *controlGroups {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.groups == nil {
		shared.groups = newGroups("/proc/self")
	}
	return shared.groups
}

// releaseGroups removes the control groups without a call.
func releaseGroups() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.groups != nil {
		shared.groups.close()
	}
	shared.groups = nil
}

// newGroups finds where control groups can be made. That is below the own one, if it has no other process, or below the one above it if
// systemd has delegated that.
func newGroups(proc string) *controlGroups {
	g := &controlGroups{}
	own, err := ownGroup(proc)
	if err != nil {
		g.why = err.Error()
		return g
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); errno == unix.ENOSYS {
		g.why = "the kernel, or a seccomp profile, has no clone3"
		return g
	}
	base := own
	if above := filepath.Dir(own); isDelegated(above) {
		base = above
	}
	if err = g.take(base); err != nil {
		g.bounds, g.why = nil, err.Error()
	}
	return g
}

// isDelegated reports whether systemd has left a control group to its user.
func isDelegated(dir string) bool {
	value := make([]byte, 8)
	n, err := unix.Getxattr(dir, "user.delegate", value)
	return err == nil && string(value[:n]) == "1"
}

// ownGroup returns the directory of the control group of version 2 that this process is in.
func ownGroup(proc string) (string, error) {
	membership, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	if err != nil {
		return "", fmt.Errorf("read the control group: %w", err)
	}
	var path string
	for line := range strings.Lines(string(membership)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	if strings.HasPrefix(path, "/..") { // it is outside of the namespace
		return "", errors.New("the control group is not visible here")
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return "", fmt.Errorf("read the mounts: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		// 30 23 0:26 ROOT MOUNTPOINT options - cgroup2 ...
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		if rel, err := filepath.Rel(fields[3], path); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(fields[4], rel), nil
		}
	}
	return "", errors.New("no control group of version 2 is mounted here")
}

// take makes the control group of this process below another one.
func (g *controlGroups) take(base string) error {
	removeStaleGroups(base)
	dir, err := os.MkdirTemp(base, groupPrefix)
	if err != nil {
		return fmt.Errorf("make a control group: %w", err)
	}
	g.dir = dir
	if g.lock, err = os.Open(dir); err == nil {
		err = unix.Flock(int(g.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = g.enable(base)
	}
	if err == nil {
		var first *group
		if first, err = g.make(); err == nil {
			g.spare = append(g.spare, first)
		}
	}
	if err != nil && g.lock != nil {
		removeGroup(dir)
		g.lock.Close()
	}
	return err
}

// enable turns the controllers on that there are. Where the own process is in the way, it moves into a group of its own.
func (g *controlGroups) enable(base string) error {
	offered := wordsOf(filepath.Join(base, "cgroup.controllers"))
	g.bounds = []string{BoundProcessor}
	var lacking []string
	for _, c := range []struct{ controller, bound string }{{"memory", BoundMemory}, {"pids", BoundProcesses}} {
		if !offered[c.controller] {
			lacking = append(lacking, c.controller)
			continue
		}
		err := g.turnOn(base, c.controller)
		if err != nil {
			return err
		}
		g.bounds = append(g.bounds, c.bound)
	}
	if len(lacking) > 0 {
		g.why = "the control group has no controller for " + strings.Join(lacking, " and ")
	}
	return nil
}

// turnOn turns a controller on for the calls.
func (g *controlGroups) turnOn(base, controller string) error {
	if !wordsOf(filepath.Join(base, "cgroup.subtree_control"))[controller] {
		err := writeGroup(base, "cgroup.subtree_control", "+"+controller)
		if errors.Is(err, unix.EBUSY) && aloneIn(base) {
			own := filepath.Join(g.dir, "own")
			if err = os.Mkdir(own, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				err = writeGroup(own, "cgroup.procs", strconv.Itoa(os.Getpid()))
			}
			if err == nil {
				err = writeGroup(base, "cgroup.subtree_control", "+"+controller)
			}
		}
		if errors.Is(err, unix.EBUSY) {
			return errors.New("the control group has other processes")
		}
		if err != nil {
			return err
		}
	}
	return writeGroup(g.dir, "cgroup.subtree_control", "+"+controller)
}

// aloneIn reports whether this process is the only one of a control group.
func aloneIn(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	return err == nil && strings.TrimSpace(string(text)) == strconv.Itoa(os.Getpid())
}

func wordsOf(file string) map[string]bool {
	text, _ := os.ReadFile(file)
	words := map[string]bool{}
	for _, word := range strings.Fields(string(text)) {
		words[word] = true
	}
	return words
}

func writeGroup(dir, file, text string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0)
}

// removeStaleGroups removes the groups of processes that were killed, with what is left in them.
func removeStaleGroups(base string) {
	stale, _ := filepath.Glob(filepath.Join(base, groupPrefix+"*"))
	for _, dir := range stale {
		lock, err := os.Open(dir)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			removeGroup(dir)
		}
		lock.Close()
	}
}

// removeGroup removes a group with those below, after their processes were killed.
func removeGroup(dir string) {
	_ = writeGroup(dir, "cgroup.kill", "1")
	for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		below, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
		for _, file := range below {
			_ = unix.Rmdir(filepath.Dir(file))
		}
		if err := unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return
		}
	}
}

// close removes the groups; those of calls that run follow when they end. Where this process has moved into one, that stays, and the
// next process removes it.
func (g *controlGroups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, spare := range g.spare {
		spare.remove()
	}
	g.spare = nil
	g.removeOwn()
}

// removeOwn removes the group above those of the calls, if none is left.
func (g *controlGroups) removeOwn() {
	if g.dir != "" && unix.Rmdir(g.dir) == nil {
		g.lock.Close()
	}
}

// group is the control group of one call at a time.
type group struct {
	dir  string
	file *os.File // of the directory
	// processor and kills are what it had counted before the call.
	processor time.Duration
	kills     int64
	limits    Limits // that it has; zero before the first call
}

func (g *controlGroups) make() (*group, error) {
	g.made++
	made := &group{dir: filepath.Join(g.dir, strconv.Itoa(g.made))}
	err := os.Mkdir(made.dir, 0o755)
	if err == nil {
		made.file, err = os.OpenFile(made.dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	return made, nil
}

// acquireGroup returns a group for a call, nil where none can be made. If the groups were removed meanwhile, it makes others. Supervised
// says that the supervisor is in it too.
func acquireGroup(l Limits, supervised bool) (of *group, release func(), err error) {
	for range 2 {
		g := sharedGroups()
		if len(g.bounds) == 0 {
			return nil, func() {}, nil
		}
		if of, err = g.acquire(l, supervised); err == nil {
			return of, func() { g.release(of) }, nil
		}
		releaseGroups()
	}
	return nil, nil, err
}

func (g *controlGroups) acquire(l Limits, supervised bool) (got *group, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last := len(g.spare) - 1; last >= 0 {
		got, g.spare = g.spare[last], g.spare[:last]
	} else if got, err = g.make(); err != nil {
		return nil, err
	}
	if supervised {
		l.MemoryBytes += supervisorBytes
		l.Processes += supervisorThreads
	}
	if _, err = os.Stat(got.dir); err == nil {
		err = got.limit(g.bounds, l, supervised)
	}
	if err != nil {
		got.remove()
		return nil, fmt.Errorf("control group of the call: %w", err)
	}
	got.processor, got.kills = got.used(), got.killed()
	return got, nil
}

// limit sets the limits of a call.
func (g *group) limit(bounds []string, l Limits, supervised bool) (err error) {
	if g.limits == l {
		return nil
	}
	set := func(file, text string) {
		if err == nil {
			err = writeGroup(g.dir, file, text)
		}
	}
	for _, bound := range bounds {
		switch bound {
		case BoundMemory:
			set("memory.max", strconv.FormatInt(l.MemoryBytes, 10))
			_ = writeGroup(g.dir, "memory.swap.max", "0") // a kernel without swap does not have it
			// The supervisor has to tell how the call ended.
			whole := "1"
			if supervised {
				whole = "0"
			}
			set("memory.oom.group", whole)
		case BoundProcesses:
			set("pids.max", strconv.Itoa(l.Processes))
		}
	}
	if err == nil {
		g.limits = l
	}
	return err
}

// release ends a call, and keeps the group for another one if no process is left.
func (g *controlGroups) release(of *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed && len(g.spare) < spareGroups && of.isEmpty() {
		g.spare = append(g.spare, of)
		return
	}
	of.remove()
	if g.closed {
		g.removeOwn()
	}
}

func (g *group) isEmpty() bool {
	text, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
	return err == nil && bytes.Contains(text, []byte("populated 0"))
}

func (g *group) remove() {
	g.file.Close()
	removeGroup(g.dir)
}

// used returns the processor time that the group has counted.
func (g *group) used() time.Duration {
	return time.Duration(g.counter("cpu.stat", "usage_usec")) * time.Microsecond
}

// killed counts the processes that were killed for memory.
func (g *group) killed() int64 { return g.counter("memory.events", "oom_kill") }

func (g *group) counter(file, name string) int64 {
	text, _ := os.ReadFile(filepath.Join(g.dir, file))
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

// watch calls kill when the processes of a call have used their processor time together, or one was killed for memory. It returns how to
// end, and then what the call has exceeded.
func (g *group) watch(seconds int, kill func()) (stop func() string) {
	ended, done := make(chan struct{}), make(chan struct{})
	exceeded := ""
	go func() {
		defer close(done)
		tick := time.NewTicker(scratchInterval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			switch {
			case g.used()-g.processor > time.Duration(seconds)*time.Second:
				exceeded = BoundProcessor
			case g.killed() > g.kills: // half a call is of no use
				exceeded = BoundMemory
			default:
				continue
			}
			kill()
			return
		}
	}()
	return func() string {
		close(ended)
		<-done
		if exceeded == "" && g.killed() > g.kills {
			exceeded = BoundMemory
		}
		return exceeded
	}
}
