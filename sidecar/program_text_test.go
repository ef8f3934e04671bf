package sidecar

import (
	"os"
	"regexp"
	"strconv"
	"testing"
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

func TestProgramTextIsReleased(t *testing.T) {
	before := rssFile(t)
	releaseText()
	if after := rssFile(t); after > before-1024 {
		t.Errorf("%d kB of files in memory, %d before", after, before)
	}
}
