package main

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"pannier/publish/client"
)

// TestRunLeavesNoGoroutine runs a sidecar with its embedded platform in this process and ends it in the midst of work.
func TestRunLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	socket := filepath.Join(shortDir(t), "s")
	w := newWorkspace(t)
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int)
	log := &lockedBuffer{}
	go func() {
		code <- execute(ctx, []string{"run", "--workspace", w, "--socket", socket, "--state-dir", filepath.Join(shortDir(t), "state"), "--settle", "1ms", "--listen", "127.0.0.1:0"}, streams{out: log, err: log}, cleanEnviron())
	}()
	c := client.New(socket)
	eventually(t, "the sidecar has pushed its card", func() error {
		_, err := c.Card(t.Context())
		return err
	})
	writeIn(t, w, skillScript("late", "Comes in at the end."))
	need(t, c.Rescan(t.Context()))
	cancel()
	if got := <-code; got != exitYes {
		t.Errorf("exit code %d\n%s", got, log)
	}
	c.Close()
	goleak.VerifyNone(t, before)
}
