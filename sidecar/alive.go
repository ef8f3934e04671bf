package sidecar

import (
	"fmt"
	"time"
)

// codeLooksOverdue is the code of the condition that /livez says no.
const codeLooksOverdue = "looks_overdue"

// livenessGrace is how much longer than three resyncs a sidecar may go without a scan, so that a slow disk is not taken
// for a loop that stands.
const livenessGrace = 30 * time.Second

// scanOverdue returns an error if the loop from the watcher to the registry no longer runs, by the time of the last
// scan that ended. Each resync leads to a scan, whatever changed, so that without one for long a restart would help.
// Before the first scan it reports nothing: that is what startup probes ask, and a large workspace may take its time.
// Without resyncs a missing scan means nothing either.
func scanOverdue(now, last time.Time, resync time.Duration) error {
	if resync == 0 || last.IsZero() {
		return nil
	}
	if silence := now.Sub(last); (silence-livenessGrace)/3 > resync {
		return fmt.Errorf("no scan of the workspace has ended for %s, and one is due every %s", silence.Round(time.Second), resync)
	}
	return nil
}

// livenessError says why a restart would help: the sidecar no longer scans what it watches, or clients find no socket.
func (c *core) livenessError() error {
	if err := c.listeners.lost(); err != nil {
		return err
	}
	return c.overdue()
}

// overdue says whether the sidecar still scans what it watches.
func (c *core) overdue() error {
	var last time.Time
	if at := c.scans.last.Load(); at != nil && c.watched() {
		last = *at
	}
	return scanOverdue(time.Now(), last, c.settings.Watch.Resync)
}
