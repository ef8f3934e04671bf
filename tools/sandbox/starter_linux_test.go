package sandbox

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// needFork skips a test where no supervisor can be forked, and gives it a starter of its own.
func needFork(t *testing.T) {
	t.Helper()
	needSandbox(t)
	if !supported().whole {
		t.Skip("no namespaces for a forked supervisor")
	}
	ownStarter(t)
}

// spareOf waits for the supervisor of the next call.
func spareOf(t *testing.T) *supervisorProcess {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		warm.mu.Lock()
		spare := warm.spare
		warm.mu.Unlock()
		if spare != nil {
			return spare
		}
		if time.Now().After(deadline) {
			t.Fatal("no supervisor waits for the next call")
		}
	}
}

// TestWarmIsKilled kills what waits for calls, and what carries one out.
func TestWarmIsKilled(t *testing.T) {
	needFork(t)
	for _, victim := range []string{"nothing", "spare", "starter", "both"} {
		runs(t, shell("true"))
		spare := spareOf(t)
		if victim == "spare" || victim == "both" {
			if err := unix.PidfdSendSignal(int(spare.pid.Fd()), unix.SIGKILL, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		if victim == "starter" || victim == "both" {
			if err := warm.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if exit, out := runs(t, shell("echo ran")); exit.Code != 0 || out != "ran\n" {
				t.Errorf("%s was killed: %q, %+v", victim, out, exit)
			}
		}
	}
	// The supervisor of a call is killed while its program runs: the error says so, and nothing is left.
	spare := spareOf(t)
	mark := "1000031.5"
	var once sync.Once
	kill := writerFunc(func([]byte) {
		once.Do(func() { _ = unix.PidfdSendSignal(int(spare.pid.Fd()), unix.SIGKILL, nil, 0) })
	})
	spec := shell("setsid sleep " + mark + " & echo started; sleep " + mark)
	if exit, err := Run(t.Context(), spec, kill); err == nil || !strings.Contains(err.Error(), "without a status") {
		t.Errorf("the supervisor was killed: %+v, %v", exit, err)
	}
	if left := processesWith("sleep\x00" + mark); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	pid := warm.cmd.Process.Pid
	Release()
	if err := unix.Kill(pid, 0); err != unix.ESRCH {
		t.Errorf("the starter is there after Release: %v", err)
	}
	if exit, out := runs(t, shell("echo ran")); exit.Code != 0 || out != "ran\n" {
		t.Errorf("after Release: %q, %+v", out, exit)
	}
}

// TestNothingOfEarlierCalls looks from inside for what an earlier call had.
func TestNothingOfEarlierCalls(t *testing.T) {
	needFork(t)
	scratch := openDir(t)
	secret := shell("mkdir $TMPDIR/a; sleep 0.01 & echo $SECRET")
	secret.Env = append(secret.Env, "SECRET=of-the-first-call", "TMPDIR="+scratch)
	secret.Stdin, secret.Scratch = []byte("input-of-the-first-call"), scratch
	look := shell(`env; ls -l /proc/self/fd; cat /proc/self/mountinfo; cat /proc/net/unix /proc/net/tcp 2>&1; cat; ls /proc | grep -c '^[0-9]'`)
	_, before := runs(t, look)
	for range 3 {
		if _, out := runs(t, secret); out != "of-the-first-call\n" {
			t.Fatalf("%q", out)
		}
		os.Remove(scratch + "/a")
	}
	_, after := runs(t, look)
	if strings.Contains(after, "first-call") || strings.Contains(after, scratch) {
		t.Errorf("something of the first call is there:\n%s", after)
	}
	if lines, was := strings.Count(after, "\n"), strings.Count(before, "\n"); lines != was {
		t.Errorf("%d lines, before other calls %d:\n%s", lines, was, after)
	}
}

// TestManyForks runs programs at a time, in a namespace of users or not, with the network and without.
func TestManyForks(t *testing.T) {
	needFork(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 5 {
				spec := shell("cat; exit 7")
				spec.Stdin, spec.Network = []byte{byte('a' + i)}, i%4 == 0
				var out bytes.Buffer
				exit, err := Run(t.Context(), spec, &out)
				if err != nil || exit.Code != 7 || out.String() != string(spec.Stdin) {
					t.Errorf("%d: %q, %+v, %v", i, &out, exit, err)
				}
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if exit, err := Run(ctx, shell("sleep 1000"), &bytes.Buffer{}); err != nil || !exit.Canceled {
		t.Errorf("canceled before: %+v, %v", exit, err)
	}
	spec := shell("true")
	spec.Env = append(spec.Env, "LARGE="+strings.Repeat("x", orderBytes))
	if exit, err := Run(t.Context(), spec, &bytes.Buffer{}); err == nil {
		t.Errorf("an environment that no program can have: %+v", exit)
	}
}
