package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limit is a resource limit of the program.
type limit struct {
	resource   int
	soft, hard uint64
	// needed says that the supervisor cannot live with it.
	needed bool
}

// limitsOf returns the limits of a program.
func limitsOf(o *order) []limit {
	l := o.Limits
	cpu, tasks := uint64(l.CPUSeconds), processes(o)
	return []limit{
		{unix.RLIMIT_CORE, 0, 0, false},
		{unix.RLIMIT_CPU, cpu, cpu + 1, false},
		{unix.RLIMIT_FSIZE, uint64(l.FileBytes), uint64(l.FileBytes), false},
		{unix.RLIMIT_NOFILE, uint64(l.OpenFiles), uint64(l.OpenFiles), false},
		// Not RLIMIT_AS: programs in Go, Java and JavaScript reserve more addresses than they use.
		{unix.RLIMIT_DATA, uint64(l.MemoryBytes), uint64(l.MemoryBytes), true},
		{unix.RLIMIT_NPROC, tasks, tasks, true},
		{unix.RLIMIT_MEMLOCK, 64 << 10, 64 << 10, false},
		{unix.RLIMIT_MSGQUEUE, 0, 0, false},
	}
}

// supervisorThreads are the threads of the supervisor that count as processes of an ordinary user.
const supervisorThreads = 16

// processes returns the limit of processes. In a namespace of users, the kernel counts those of this program. Elsewhere it counts
// all of the user.
func processes(o *order) uint64 {
	count := uint64(o.Limits.Processes) + supervisorThreads
	if o.User {
		return count
	}
	uid := uint32(os.Getuid())
	if uid == 0 {
		id, _ := o.identity()
		uid = uint32(id)
	}
	return count + tasksOf(uid)
}

// tasksOf counts the threads of a user.
func tasksOf(uid uint32) (count uint64) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Stat("/proc/"+entry.Name(), &st) != nil || st.Uid != uid {
			continue
		}
		tasks, _ := os.ReadDir("/proc/" + entry.Name() + "/task")
		count += uint64(len(tasks))
	}
	return count
}

// limits are those of a program, with those of the supervisor before.
type limits struct {
	set    []limit
	before []unix.Rlimit
}

// readLimits returns the limits of the program, none above those of the supervisor.
func readLimits(o *order) (*limits, error) {
	l := &limits{set: limitsOf(o)}
	l.before = make([]unix.Rlimit, len(l.set))
	for i, one := range l.set {
		if err := unix.Getrlimit(one.resource, &l.before[i]); err != nil {
			return nil, fmt.Errorf("read limit %d: %w", one.resource, err)
		}
		l.set[i].hard = min(one.hard, l.before[i].Max)
		l.set[i].soft = min(one.soft, l.before[i].Max)
	}
	return l, nil
}

// lower sets the limits of the supervisor, because a process inherits limits when it is created. Those that the supervisor itself
// needs later are only soft until fix; the filter forbids the program to raise them. The supervisor must not need memory or threads
// between lower and restore.
func (l *limits) lower() error {
	for i, one := range l.set {
		hard := one.hard
		if one.needed {
			hard = l.before[i].Max
		}
		if err := unix.Setrlimit(one.resource, &unix.Rlimit{Cur: one.soft, Max: hard}); err != nil {
			return fmt.Errorf("set limit %d: %w", one.resource, err)
		}
	}
	return nil
}

// restore gives the supervisor back what it needs.
func (l *limits) restore() error {
	for i, one := range l.set {
		if !one.needed {
			continue
		}
		if err := unix.Setrlimit(one.resource, &l.before[i]); err != nil {
			return fmt.Errorf("restore limit %d: %w", one.resource, err)
		}
	}
	return nil
}

// fix lowers the hard limits of the program. Root without CAP_SYS_RESOURCE may not do that to another user; the filter holds the soft
// limits. Otherwise it is not an error that the program has ended.
func (l *limits) fix(pid int, filtered bool) error {
	for _, one := range l.set {
		if !one.needed {
			continue
		}
		err := unix.Prlimit(pid, one.resource, &unix.Rlimit{Cur: one.soft, Max: one.hard}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) && !(filtered && errors.Is(err, unix.EPERM)) {
			return fmt.Errorf("fix limit %d: %w", one.resource, err)
		}
	}
	return nil
}
