package molecule_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// mountTmpfs returns a directory on a file system of its own, of a size.
func mountTmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("this needs a file system of its own, and mounting one is not allowed here: " + err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestOutboxOnARealDisk that is full, or can only be read: the card goes out from memory, what the file says is true or it
// is not there, and with room again it is written again.
func TestOutboxOnARealDisk(t *testing.T) {
	large := strings.Repeat("x", 20<<10) // more than the file before it gives room for
	for _, test := range []struct {
		name         string
		cards        [2]string // while it is so
		break_, mend func(t *testing.T, dir string)
		says         string // in the log; empty where the card can be kept all the same
	}{
		{"full", [2]string{large + "b", large + "c"}, fill, empty, "no space left"},
		{"full, and the card before made room", [2]string{"b", "c"}, fill, empty, ""},
		{"read-only", [2]string{"b", "c"}, remount(syscall.MS_RDONLY), remount(0), "read-only"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, logs, e := mountTmpfs(t, "256k"), &buffer{}, newEvents()
			s := serve(t, newVisits(), status(200, `{"status":"updated"}`))
			o := options{
				URL: s.URL, Outbox: filepath.Join(dir, "outbox"), Emit: e.emit,
				Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info}),
			}
			p := newPublisher(t, o)
			stop := start(t, p)
			push := func(name string) {
				t.Helper()
				p.Offer(cardOf(name))
				if kind, push := e.await(t); kind != pannier.EventCardPushed || push.Digest != cardOf(name).Digest {
					t.Fatalf("event %v %+v", kind, push)
				}
			}
			push("a")
			if err := p.AwaitOutbox(t.Context()); err != nil {
				t.Fatal(err)
			}
			test.break_(t, dir)
			push(test.cards[0])
			push(test.cards[1])
			if err := p.AwaitOutbox(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := os.Stat(p.OutboxFile())
			if kept := err == nil; kept != (test.says != "no space left") {
				t.Errorf("the record: %v", err)
			}
			test.mend(t, dir)
			push("d")
			stop()
			if r := readRecord(t, p); r.Pending || r.Digest != cardOf("d").Digest {
				t.Errorf("outbox %+v", r)
			}
			checkComplaint(t, logs.String(), test.says)
			if left, err := filepath.Glob(filepath.Join(o.Outbox, "*")); err != nil || len(left) != 1 {
				t.Errorf("the outbox holds %v, %v", left, err)
			}
		})
	}
}

// checkComplaint holds a log against what it has to say of the outbox: one complaint and its end, or nothing.
func checkComplaint(t *testing.T, log, says string) {
	t.Helper()
	warnings, ends := strings.Count(log, "[WARN]"), strings.Count(log, "outbox written again")
	if says == "" && log != "" || says != "" && (warnings != 1 || ends != 1 || !strings.Contains(log, says)) {
		t.Errorf("log:\n%s", log)
	}
}

func empty(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
		t.Fatal(err)
	}
}

// fill leaves no byte of a file system free.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	chunk := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// remount changes what can be done on a file system.
func remount(flags uintptr) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
}
