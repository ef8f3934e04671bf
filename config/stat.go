package config

import (
	"io/fs"
	"syscall"
	"time"
)

// racyWindow is how long before a look a file may have changed so that its stat may stay the same when it changes again:
// clocks of file systems are coarse, and some count whole seconds.
const racyWindow = 2 * time.Second

// mark is the state of a file when it was read. The zero mark is of no file.
type mark struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // unix nanoseconds
	mode         uint32
	proven       bool // an equal stat proves that nothing has changed
	at           time.Time
}

// markOf returns the mark of a file that is read after a look at it at that time.
func markOf(info fs.FileInfo, look time.Time) mark {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return mark{}
	}
	m := mark{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mode: uint32(st.Mode), mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), at: look}
	edge := look.Add(-racyWindow).UnixNano()
	m.proven = m.mtime < edge && m.ctime < edge
	return m
}

// contentInterval is for how long an equal stat proves anything: a write through a mapping need not move it.
const contentInterval = 5 * time.Minute

// holds reports whether a file is certain to be what it was at the mark, now that a look finds it at another.
func (m mark) holds(now mark) bool {
	if now.at.Sub(m.at) >= contentInterval {
		return false
	}
	now.proven, now.at = true, m.at
	return m.proven && m == now
}
