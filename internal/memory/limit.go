package memory

import (
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// Limit has garbage collected more often where the heap comes near the limit of the control group, unless the
// variable GOMEMLIMIT is set. The limit of the runtime is soft and does not count the text of the program.
func Limit() {
	if limit := cgroupLimit(os.DirFS("/")); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// cgroupLimit returns how many bytes the control group of the process may have, 0 for no limit. In a container, the
// paths of version 1 begin outside of what is mounted, so that only their last parents are found.
func cgroupLimit(root fs.FS) (limit int64) {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		_, group, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, _ := strings.Cut(group, ":")
		dir, file := "sys/fs/cgroup", "memory.max"
		switch controllers {
		case "": // version 2
		case "memory":
			dir, file = dir+"/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group = path.Join("/", group); ; group = path.Dir(group) { // the smallest of a group and its parents counts
			text, err := fs.ReadFile(root, path.Join(dir, group, file))
			// Version 2 has the word max for no limit, version 1 the largest number of pages.
			if n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && 0 < n && n < 1<<60 && (limit == 0 || n < limit) {
				limit = n
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}
