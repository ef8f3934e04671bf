package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pannier"
	"pannier/config"
)

// TestSettingsThatMoveNoStat writes config.yaml through a mapping, which moves its times with the first write alone until the
// kernel has written it back.
func TestSettingsThatMoveNoStat(t *testing.T) {
	dir := t.TempDir()
	writeConfig(t, dir, "name: number 0\n")
	f, err := os.OpenFile(filepath.Join(dir, pannier.WorkspaceFile), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := unix.Mmap(int(f.Fd()), 0, len("name: number 0\n"), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(text)
	now := time.Now().Add(time.Hour)
	r := config.NewWorkspaceReader(dir, 0)
	r.SetClock(func() time.Time { return now })
	for _, step := range []struct {
		write byte
		later time.Duration
		want  string
	}{{'1', 0, "number 1"}, {'2', 5 * time.Minute, "number 2"}, {'3', 5 * time.Minute, "number 3"}} {
		text[bytes.IndexByte(text, '\n')-1] = step.write
		now = now.Add(step.later)
		if w := r.Read(); w.Name != step.want {
			t.Errorf("after %v: name %q, want %q", step.later, w.Name, step.want)
		}
	}
}
