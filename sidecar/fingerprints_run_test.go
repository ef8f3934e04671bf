package sidecar

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestRunBeforeTheFirstSnapshot: a request before there is a snapshot is followed by the next round only after the usual interval.
func TestRunBeforeTheFirstSnapshot(t *testing.T) {
	p := newEngineWithFingerprints(t, fixture.NewWorkspace(t), state.Memory())
	synctest.Test(t, func(t *testing.T) {
		f := newFingerprints(p.engine.rules, p.engine.registry, p.verdicts, p.policy, p.log)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			f.run(ctx)
		}()
		defer func() {
			cancel()
			<-ended
		}()
		f.request()
		time.Sleep(10 * time.Microsecond) // of the clock of the test; without an interval, a round takes a nanosecond of it
		synctest.Wait()
		if _, all := f.hints.drain(); all { // the timer has fired: hints stay as they are without a snapshot
			t.Fatal("the next round began at once")
		}
		time.Sleep(fingerprintEvery)
		synctest.Wait()
		if _, all := f.hints.drain(); !all {
			t.Errorf("no round began within %s", fingerprintEvery)
		}
	})
}
