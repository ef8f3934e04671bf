package memory

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseText takes the pages of the program out of this process. A start uses most of it, a sidecar at rest a small
// part, which comes back from the page cache of the kernel when it is used. Where that fails, nothing is lost.
func releaseText() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer file.Close()
	var from, to uintptr
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		var low, high uintptr
		var access string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &low, &high, &access); n == 3 {
			from, to = 0, 0
			if strings.HasSuffix(line, " "+program) && !strings.Contains(access, "w") {
				from, to = low, high
			}
		} else if from < to && strings.HasPrefix(line, "Anonymous:") && strings.Contains(line, " 0 kB") {
			// Anonymous pages are copies that are not in the file: those that a loader relocated.
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
			from, to = 0, 0
		}
	}
}
