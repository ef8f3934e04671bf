package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// fakeSystemd takes what a service tells systemd.
type fakeSystemd struct {
	mu   sync.Mutex
	told []string
}

// listenAsSystemd sets the variables that systemd sets, and listens until the test ends.
func listenAsSystemd(t *testing.T, name, watchdog string) *fakeSystemd {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
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
			w := newWorkspace(t)
			writeIn(t, w, skillScript("one", "Is there."))
			s := startSidecar(t, w, "--platform-url", "off")
			at := systemd.hears(t, 0, `\AREADY=1\nSTATUS=1 of 1 skills can be used, snapshot \d+\z`)
			if err := s.Ready(t.Context()); err != nil {
				t.Errorf("told that it is ready, and it is not: %v", err)
			}
			at = systemd.hears(t, at, `\AWATCHDOG=1\z`)
			at = systemd.hears(t, at, `\AWATCHDOG=1\z`) // not once alone
			s.write(t, skillScript("two", "Comes later."))
			at = systemd.hears(t, at, `\ASTATUS=2 of 2 skills can be used`)
			if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			at = systemd.hears(t, at, `\ARELOADING=1\nMONOTONIC_USEC=[1-9]\d+\z`)
			systemd.hears(t, at, `\AREADY=1\z`)
			if code := s.terminate(t); code != exitYes {
				t.Errorf("exit code %d", code)
			}
			if told := systemd.without(); !strings.HasPrefix(told[0], "READY=1") || !strings.HasPrefix(told[len(told)-1], "STOPPING=1") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestReloadSeesWhatTheKernelDidNotTell has a SIGHUP answered only once a look that began after it is served.
func TestReloadSeesWhatTheKernelDidNotTell(t *testing.T) {
	systemd := listenAsSystemd(t, filepath.Join(shortDir(t), "n"), "")
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off", "--settle", "0", "--debounce", "1h", "--max-wait", "1h")
	at := systemd.hears(t, 0, "READY=1")
	s.write(t, skillScript("late", "Waits an hour for its turn."))
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	at = systemd.hears(t, at, "RELOADING=1")
	systemd.hears(t, at, `\AREADY=1\z`)
	if _, err := s.entry(t, "late"); err != nil {
		t.Error(err)
	}
}

func TestSystemdThatIsGoneStopsNothing(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(shortDir(t), "none"))
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	eventually(t, "the log tells of it", func() error {
		if !strings.Contains(s.log.String(), "systemd could not be told") {
			return errors.New("not yet")
		}
		return nil
	})
	if code := s.terminate(t); code != exitYes {
		t.Errorf("exit code %d", code)
	}
}

// TestWatchdogIsFedWhileAlive stops and goes on with the loop that a restart would help.
func TestWatchdogIsFedWhileAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		m := &manager{log: hclog.NewNullLogger(), watchdog: time.Minute, send: func(string) error {
			told.Add(1)
			return nil
		}}
		var stuck atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		snapshots := make(chan *pannier.Snapshot, 1)
		ended := make(chan struct{})
		go func() {
			m.follow(ctx, snapshots, func() error {
				if stuck.Load() {
					return errors.New("the loop stands")
				}
				return nil
			})
			close(ended)
		}()
		for _, step := range []struct {
			stuck bool
			want  int64
		}{{false, 20}, {true, 0}, {false, 20}} {
			synctest.Wait()
			stuck.Store(step.stuck)
			told.Store(0)
			<-time.After(10 * time.Minute)
			synctest.Wait()
			if count := told.Load(); count != step.want {
				t.Errorf("stuck %t: %d signs of life in ten minutes, want %d", step.stuck, count, step.want)
			}
		}
		cancel()
		<-ended
	})
}

func TestFindManager(t *testing.T) {
	for _, tt := range []struct {
		socket, watchdog, pid string
		found                 bool
		want                  time.Duration
	}{
		{"", "1000000", "", false, 0},
		{"@x", "", "", true, 0},
		{"@x", "1000000", "", true, time.Second},
		{"@x", "1000000", fmt.Sprint(os.Getpid()), true, time.Second},
		{"@x", "1000000", "1", true, 0},
		{"@x", "soon", "", true, 0},
		{"@x", "-1", "", true, 0},
	} {
		t.Setenv("NOTIFY_SOCKET", tt.socket)
		t.Setenv("WATCHDOG_USEC", tt.watchdog)
		t.Setenv("WATCHDOG_PID", tt.pid)
		m := findManager(hclog.NewNullLogger())
		if (m != nil) != tt.found || m != nil && m.watchdog != tt.want {
			t.Errorf("%+v: %+v", tt, m)
		}
	}
}

// TestSystemdThatDoesNotRead is not waited for: its queue is full, and the sidecar ends all the same.
func TestSystemdThatDoesNotRead(t *testing.T) {
	name := filepath.Join(shortDir(t), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for err == nil {
		err = sendDatagram(name, "WATCHDOG=1")
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", name)
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	if code := s.terminate(t); code != exitYes {
		t.Errorf("exit code %d", code)
	}
}
