package contents

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestRunBeforeTheFirstSnapshot: a request before there is a snapshot is followed by the next round only after the usual interval.
func TestRunBeforeTheFirstSnapshot(t *testing.T) {
	p := newBench(t, fixture.NewWorkspace(t), state.Memory())
	synctest.Test(t, func(t *testing.T) {
		o := p.o
		o.Registerer = prometheus.NewRegistry()
		f := New(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.Run(ctx)
		}()
		defer func() {
			cancel()
			<-ended
		}()
		f.Request()
		time.Sleep(10 * time.Microsecond) // of the clock of the test; without an interval, a round takes a nanosecond of it
		synctest.Wait()
		if hintedAll(f) { // the timer has fired: hints stay as they are without a snapshot
			t.Fatal("the next round began at once")
		}
		time.Sleep(readEvery)
		synctest.Wait()
		if !hintedAll(f) {
			t.Errorf("no round began within %s", readEvery)
		}
	})
}

func hintedAll(t *Tracker) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hintAll
}
