package runner

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ReleaseMemory gives back what an idle runner does not need: free memory of the heap, and the pages of the executable that were used to
// start. The kernel maps them again when they are used.
func ReleaseMemory() {
	debug.FreeOSMemory()
	for _, m := range executableMappings() {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

type mapping struct{ start, end uintptr }

// executableMappings returns the read-only mappings of the executable of which no page differs from the file, so that no content is
// lost with the pages.
func executableMappings() (found []mapping) {
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer f.Close()
	var now mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if start, end, ok := strings.Cut(fields[0], "-"); ok {
			now = mapping{}
			if len(fields) >= 6 && strings.Join(fields[5:], " ") == executable && (fields[1] == "r-xp" || fields[1] == "r--p") {
				from, err1 := strconv.ParseUint(start, 16, 64)
				to, err2 := strconv.ParseUint(end, 16, 64)
				if err1 == nil && err2 == nil {
					now = mapping{uintptr(from), uintptr(to)}
				}
			}
			continue
		}
		if fields[0] == "Anonymous:" && len(fields) > 1 && fields[1] == "0" && now.end > now.start {
			found = append(found, now)
		}
	}
	return found
}
