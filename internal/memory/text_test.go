package memory

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "github.com/prometheus/client_golang/prometheus/promhttp" // makes the program as large as others are
	"golang.org/x/sys/unix"
)

// rssFile returns how many kB of files are in memory for this process.
func rssFile(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(text)
	if found == nil {
		t.Skip("this kernel does not tell RssFile")
	}
	kB, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kB
}

// populateText has the kernel map all pages of the program, of which a test uses a small part.
func populateText(t *testing.T) {
	t.Helper()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var access string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &access); err != nil || !strings.HasSuffix(line, program+"\n") || access[1] == 'w' {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_POPULATE_READ); errno != 0 {
			t.Skip("this kernel does not map pages on request: ", errno)
		}
	}
}

func TestProgramTextIsReleased(t *testing.T) {
	populateText(t)
	before := rssFile(t)
	releaseText()
	if after := rssFile(t); after > before-1024 {
		t.Errorf("%d kB of files in memory, %d before", after, before)
	}
}
