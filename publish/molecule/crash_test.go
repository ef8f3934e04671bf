package molecule_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
)

// writing are the steps of a write to the outbox, in order.
var writing = []string{"create", "write", "sync", "rename", "sync directory"}

// TestCrashHere is the process that TestCrash kills: it offers a card and dies in the step that it is told.
func TestCrashHere(t *testing.T) {
	at := os.Getenv("PANNIER_CRASH_AT")
	if at == "" {
		t.Skip("only a process that TestCrash starts has something to do here")
	}
	p := newPublisher(t, options{
		URL: os.Getenv("PANNIER_CRASH_URL"), Outbox: os.Getenv("PANNIER_CRASH_OUTBOX"),
		Token: func() (string, error) { return token, nil },
	})
	var mu sync.Mutex
	steps, kept := map[string]int{}, make(chan struct{})
	if os.Getenv("PANNIER_CRASH_UNKEPT") != "" {
		close(kept)
	}
	p.SetStep(func(name string) error {
		if name == "send" {
			<-kept // so that the record before the push and the one after it are written both
		} else if name == "create" && os.Getenv("PANNIER_CRASH_UNKEPT") != "" {
			select {} // the disk does not answer
		}
		mu.Lock()
		defer mu.Unlock()
		steps[name]++
		if fmt.Sprint(name, " ", steps[name]) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // not one instruction more
		}
		if name == "sync directory" && steps[name] == 1 {
			close(kept)
		}
		return nil
	})
	p.Offer(cardOf("b"))
	_ = p.Run(t.Context())
}

// TestCrash kills a process at each step of a push. Whatever card is offered after the restart, the platform ends up with
// it, and with the one that was in the outbox where none is.
func TestCrash(t *testing.T) {
	var steps []string
	for n, between := range [][]string{{"send 1", "sent 1"}, nil} {
		for _, step := range writing {
			steps = append(steps, fmt.Sprint(step, " ", n+1))
		}
		steps = append(steps, between...)
	}
	for _, step := range steps {
		for _, offer := range []string{"b", "c", "a", ""} {
			for _, readBack := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/offered %q/read back %v", step, offer, readBack), func(t *testing.T) {
					t.Parallel()
					crash(t, step, offer, readBack, true)
				})
			}
		}
	}
	// The disk has not taken anything yet, so that the outbox is older than what the platform holds.
	for _, step := range []string{"send 1", "sent 1"} {
		for _, offer := range []string{"b", "c", "a"} {
			for _, readBack := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, nothing kept/offered %q/read back %v", step, offer, readBack), func(t *testing.T) {
					t.Parallel()
					crash(t, step, offer, readBack, false)
				})
			}
		}
	}
}

func crash(t *testing.T, step, offer string, readBack, keeps bool) {
	m := newMolecule(t).known(t)
	s := httptest.NewServer(m.Platform)
	t.Cleanup(s.Close)
	o := options{URL: s.URL, Outbox: t.TempDir(), ReadBack: readBack}
	run := func(name string) (p *publisher) {
		synctest.Test(t, func(t *testing.T) {
			p = facing(t, m, o)
			if name != "" {
				p.Offer(cardOf(name))
			}
			stop := start(t, p)
			synctest.Wait()
			stop()
		})
		return p
	}
	run("a")
	o.OutboxStale = true
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCrashHere$")
	child.Env = append(os.Environ(), "PANNIER_CRASH_AT="+step, "PANNIER_CRASH_URL="+s.URL, "PANNIER_CRASH_OUTBOX="+o.Outbox)
	if !keeps {
		child.Env = append(child.Env, "PANNIER_CRASH_UNKEPT=1")
	}
	out, err := child.CombinedOutput()
	killed, ok := errors.AsType[*exec.ExitError](err)
	if !ok || ctx.Err() != nil || killed.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process ended with %v:\n%s", err, out)
	}
	m.took()
	p := run(offer)
	want := offer
	if want == "" {
		want = "b"
		if written := strings.HasSuffix(step, "1") && !strings.HasPrefix(step, "sen"); written && step != "sync directory 1" {
			want = "a" // nobody but the dead process ever knew of b
		}
	}
	m.expectCard(t, string(cardOf(want).JSON))
	if h := p.Health(); h.Desired != cardOf(want).Digest || h.Acknowledged != h.Desired {
		t.Errorf("health %+v", h)
	}
	if step == "sync directory 2" && want == "b" && readBack && strings.Contains(m.took(), "b") {
		t.Error("the card was pushed again although the outbox says that it was taken")
	}
	if left, err := filepath.Glob(filepath.Join(o.Outbox, "*.json")); err != nil || len(left) != 1 {
		t.Errorf("the outbox holds %v, %v", left, err)
	}
}

// TestOutboxThatCanNotBeWritten: pushing goes on from memory, and the health has nothing to say of it.
func TestOutboxThatCanNotBeWritten(t *testing.T) {
	for _, step := range writing {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, reg, logs := newMolecule(t).known(t), prometheus.NewRegistry(), &buffer{}
				o := options{
					Outbox: t.TempDir(), Registerer: reg,
					Logger: hclog.New(&hclog.LoggerOptions{Output: logs, Level: hclog.Info}),
				}
				p := facing(t, m, o)
				full := true // only Run's goroutine writes, and the bubble waits for it
				p.SetStep(func(name string) error {
					if full && name == step {
						return syscall.ENOSPC
					}
					return nil
				})
				start(t, p)
				p.Offer(cardOf("a"))
				synctest.Wait()
				if h := p.Health(); h.Acknowledged != cardOf("a").Digest || h.LastError != "" || h.Hint != "" {
					t.Errorf("health %+v", h)
				}
				if left, err := os.ReadDir(o.Outbox); err != nil || len(left) != 0 {
					t.Errorf("the outbox holds %v (%v), want nothing that is not true", left, err)
				}
				if got := strings.Count(logs.String(), "[WARN]"); got != 1 || !strings.Contains(logs.String(), "no space left") {
					t.Errorf("log:\n%s", logs)
				}
				full = false
				p.Offer(cardOf("b"))
				synctest.Wait()
				if r := readRecord(t, p); r.Pending || r.Digest != cardOf("b").Digest {
					t.Errorf("outbox %+v", r)
				}
				if strings.Count(logs.String(), "[WARN]") != 1 || strings.Count(logs.String(), "outbox written again") != 1 {
					t.Errorf("log:\n%s", logs)
				}
				if m.took() != "a b" {
					t.Error("not pushed")
				}
			})
		})
	}
}

// TestOutboxBelowAFile has a real file system refuse.
func TestOutboxBelowAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m, reg := newMolecule(t).known(t), prometheus.NewRegistry()
		p := facing(t, m, options{Outbox: filepath.Join(file, "outbox"), Registerer: reg})
		expectOutboxErrors(t, reg, 1)
		start(t, offered(p, "a"))
		pass(time.Minute)
		if h := p.Health(); h.Acknowledged != cardOf("a").Digest || h.LastError != "" {
			t.Errorf("health %+v", h)
		}
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families { // of the writes, those that came meanwhile are one
			if n := f.GetMetric()[0].GetCounter().GetValue(); f.GetName() == "pannier_outbox_errors_total" && n < 2 {
				t.Errorf("%v errors", n)
			}
		}
	})
}
