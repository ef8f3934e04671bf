package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"pannier"
)

// TestWatchdogIsFedWhileAlive stops and goes on with the loop that a restart would help.
func TestWatchdogIsFedWhileAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		m := &systemdNotifier{log: hclog.NewNullLogger(), watchdog: time.Minute, send: func(string) error {
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
		m := newSystemdNotifier(hclog.NewNullLogger())
		if (m != nil) != tt.found || m != nil && m.watchdog != tt.want {
			t.Errorf("%+v: %+v", tt, m)
		}
	}
}
