package fsx

import "syscall"

// statTimes returns when a file was written and when it changed, in Unix nanoseconds.
func statTimes(st *syscall.Stat_t) (mtime, ctime int64) {
	return st.Mtimespec.Nano(), st.Ctimespec.Nano()
}
