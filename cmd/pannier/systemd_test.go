package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fakeSystemd takes what a service tells systemd.
type fakeSystemd struct {
	mu   sync.Mutex
	told []string
}

// listenAsSystemd sets the variables that systemd sets, and listens until the test ends.
func listenAsSystemd(t *testing.T, name, watchdog string) *fakeSystemd {
	t.Helper()
	conn := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}))(t)
	f, ended := &fakeSystemd{}, make(chan struct{})
	go func() {
		defer close(ended)
		for text := make([]byte, 4096); ; {
			n, err := conn.Read(text)
			if err != nil {
				return
			}
			f.mu.Lock()
			f.told = append(f.told, string(text[:n]))
			f.mu.Unlock()
		}
	}()
	t.Cleanup(func() { conn.Close(); <-ended })
	t.Setenv("NOTIFY_SOCKET", name)
	t.Setenv("WATCHDOG_USEC", watchdog)
	t.Setenv("WATCHDOG_PID", "")
	return f
}

// without returns what was told, but for signs of life.
func (f *fakeSystemd) without() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.told), func(s string) bool { return s == "WATCHDOG=1" })
}

// hears waits until a message that matches comes after the first so many, and returns how many there are then.
func (f *fakeSystemd) hears(t *testing.T, after int, pattern string) (count int) {
	t.Helper()
	eventually(t, "systemd is told "+pattern, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, text := range f.told {
			if i >= after && regexp.MustCompile(pattern).MatchString(text) {
				count = i + 1
				return nil
			}
		}
		return fmt.Errorf("told %q", f.told)
	})
	return count
}

func TestSystemd(t *testing.T) {
	for kind, name := range map[string]string{"path": filepath.Join(shortDir(t), "n"), "abstract": fmt.Sprintf("@pannier-test-%d", os.Getpid())} {
		t.Run(kind, func(t *testing.T) {
			systemd := listenAsSystemd(t, name, "400000")
			s := startSidecar(t, workspaceWith(t, skillScript("one", "Is there.")), "--platform-url", "off")
			at := systemd.hears(t, 0, `\AREADY=1\nSTATUS=1 of 1 skills can be used, snapshot \d+\z`)
			if err := s.Ready(t.Context()); err != nil {
				t.Errorf("told that it is ready, and it is not: %v", err)
			}
			at = systemd.hears(t, at, `\AWATCHDOG=1\z`)
			at = systemd.hears(t, at, `\AWATCHDOG=1\z`) // not once alone
			s.write(t, skillScript("two", "Comes later."))
			at = systemd.hears(t, at, `\ASTATUS=2 of 2 skills can be used`)
			need(t, s.cmd.Process.Signal(syscall.SIGHUP))
			at = systemd.hears(t, at, `\ARELOADING=1\nMONOTONIC_USEC=[1-9]\d+\z`)
			at = systemd.hears(t, at, `\AREADY=1\z`)
			s.stops(t)
			systemd.hears(t, at, `\ASTOPPING=1`) // it may arrive after the process has ended
			if told := systemd.without(); !strings.HasPrefix(told[0], "READY=1") || !strings.HasPrefix(told[len(told)-1], "STOPPING=1") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestReloadSeesWhatTheKernelDidNotTell has a SIGHUP answered only once a look that began after it is served.
func TestReloadSeesWhatTheKernelDidNotTell(t *testing.T) {
	systemd := listenAsSystemd(t, filepath.Join(shortDir(t), "n"), "")
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--settle", "0", "--debounce", "1h")
	at := systemd.hears(t, 0, "READY=1")
	s.write(t, skillScript("late", "Waits an hour for its turn."))
	need(t, s.cmd.Process.Signal(syscall.SIGHUP))
	at = systemd.hears(t, at, "RELOADING=1")
	systemd.hears(t, at, `\AREADY=1\z`)
	if _, err := s.entry(t, "late"); err != nil {
		t.Error(err)
	}
}

func TestSystemdThatIsGoneStopsNothing(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(shortDir(t), "none"))
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	s.logs(t, "systemd could not be told")
	s.stops(t)
}

// TestSystemdThatDoesNotRead is not waited for: its queue is full, and the sidecar ends all the same.
func TestSystemdThatDoesNotRead(t *testing.T) {
	name := filepath.Join(shortDir(t), "n")
	conn := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"}))(t)
	defer conn.Close()
	full, err := net.Dial("unixgram", name)
	need(t, err)
	defer full.Close()
	for err == nil {
		_ = full.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, err = full.Write([]byte("WATCHDOG=1"))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", name)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	s.stops(t)
}
