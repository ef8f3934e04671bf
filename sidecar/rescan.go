package sidecar

import (
	"context"
	"os"

	"pannier"
)

// rescan scans everything again; see [service.Options].
func (c *core) rescan(ctx context.Context, wait bool) (*pannier.Snapshot, error) {
	seq := c.requestRescan()
	if !wait {
		return c.registry.Current(), nil
	}
	return c.registry.Wait(ctx, seq)
}

// requestRescan asks for a scan of everything, and has the card offered again to platforms that have refused it.
func (c *core) requestRescan() (seq uint64) {
	c.platforms.retry()
	return c.watcher.Rescan()
}

// rescanOnHangup scans everything again at each SIGHUP, and notifies systemd when that begins and ends.
func (c *core) rescanOnHangup(ctx context.Context, hangups <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		c.log.Info("scanning everything again", "cause", "SIGHUP")
		if c.registry.Current() == nil || !c.watched() { // before the sidecar is ready there is nothing to load again
			c.requestRescan()
			continue
		}
		done := c.systemd.reloading()
		if _, err := c.registry.Wait(ctx, c.requestRescan()); err == nil {
			done()
		}
	}
}
