package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// blackHole is a platform that takes connections and never answers, until the test ends or it is let go.
type blackHole struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	ended chan struct{}
}

func newBlackHole(t *testing.T) *blackHole {
	t.Helper()
	ln := must(net.Listen("tcp", reserveAddress(t)))(t)
	b := &blackHole{Listener: ln, ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, conn)
			b.mu.Unlock()
		}
	}()
	t.Cleanup(b.letGo)
	return b
}

func (b *blackHole) letGo() {
	b.Close()
	<-b.ended
	for _, conn := range b.conns {
		conn.Close()
	}
}

func (b *blackHole) taken() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.conns)
}

// TestStartWaitsForNobody starts beside a platform that hangs, with a workspace that comes later.
func TestStartWaitsForNobody(t *testing.T) {
	t.Parallel()
	platform := newBlackHole(t)
	w := filepath.Join(t.TempDir(), "later")
	s := startSidecar(t, w, "--platform-url", "http://"+platform.Addr().String(), "--platform-token-file", tokenFile(t), "--resync", "1s")
	for _, flag := range []string{"--startup", "--ready", "--live"} {
		checkProbe(t, s.socket, exitYes, "", flag)
	}
	writeIn(t, filepath.Dir(w), "mkdir -p later; cd later; "+skillScript("first", "Comes with the workspace."))
	s.listed(t, "first")
	until(t, "the platform hangs", func() bool { return platform.taken() != 0 })
	for _, flag := range []string{"--startup", "--ready", "--live"} {
		checkProbe(t, s.socket, exitYes, "", flag)
	}
	s.stops(t)
}

// TestSigtermInABurstParksTheCard ends a sidecar in the midst of changes that a hanging platform has not got.
func TestSigtermInABurstParksTheCard(t *testing.T) {
	t.Parallel()
	hole := newBlackHole(t)
	w, stateDir := newWorkspace(t), t.TempDir()
	args := []string{"--platform-token-file", tokenFile(t), "--state-dir", stateDir, "--platform-url", "http://" + hole.Addr().String()}
	s := startSidecar(t, w, args...)
	for i := range 5 {
		s.write(t, skillScript(fmt.Sprintf("burst-%d", i), "One of a burst."))
	}
	until(t, "a card hangs", func() bool { return hole.taken() != 0 })
	s.write(t, skillScript("burst-5", "The last of a burst."))
	s.stops(t)
	hole.letGo()
	platform := &recorder{addr: hole.Addr().String()}
	platform.up(t)
	s = startSidecar(t, w, args...)
	s.acknowledged(t)
	got := platform.received()
	if len(got) != 1 || strings.Count(got[0], "One of a burst.") != 5 || !strings.Contains(got[0], "The last of a burst.") {
		t.Errorf("the platform got %q, want the newest card alone", got)
	}
}

// TestSecondSignalEndsAtOnce holds a request open, which the first signal waits for.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	systemd := listenAsSystemd(t, filepath.Join(shortDir(t), "n"), "")
	s := startSidecar(t, newWorkspace(t), "--platform-url", "off")
	conn := must(net.Dial("unix", s.socket))(t)
	defer conn.Close()
	fmt.Fprintf(conn, "%s /v1/resolve HTTP/1.1\r\nHost: pannier\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n", http.MethodPost)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("the request is not under way: %q, %v", line, err)
	}
	need(t, s.cmd.Process.Signal(syscall.SIGTERM))
	systemd.hears(t, 0, "STOPPING=1")
	eventually(t, "the process ends", func() error {
		select {
		case <-s.done:
			s.done <- nil
			return nil
		default:
			s.cmd.Process.Signal(syscall.SIGTERM)
			return errors.New("it runs")
		}
	})
	if status := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by itself: %v", s.cmd.ProcessState)
	}
}
