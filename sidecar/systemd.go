package sidecar

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"pannier"
)

// notifyPatience bounds one message to systemd. The library's own way of sending has no bound, and a sidecar must end when it
// asks it to, also if systemd does not read.
const notifyPatience = time.Second

// systemdNotifier is the systemd that started this process, and is told how it is (sd_notify(3)): that it is ready, looks at
// everything again, stops, and is alive. Nil is none, and is told nothing. It is for any number of callers.
type systemdNotifier struct {
	log      hclog.Logger
	send     func(state string) error
	watchdog time.Duration // how long it waits for a sign of life; 0 is for none
}

// newSystemdNotifier returns the systemd that the variables of this process tell of, or nil.
func newSystemdNotifier(log hclog.Logger) *systemdNotifier {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	m := &systemdNotifier{log: log.Named("systemd"), send: func(state string) error { return sendDatagram(socket, state) }}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn("systemd watchdog not used", "error", err)
	}
	m.watchdog = watchdog
	return m
}

// sendDatagram sends a message to a unix socket; one that begins with @ has an abstract name (unix(7)).
func sendDatagram(socket, text string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyPatience)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(text))
	return err
}

// notify sends a message. A message that cannot be sent is logged; systemd acts as it sees fit, and the sidecar goes on.
func (m *systemdNotifier) notify(state string) {
	if m == nil {
		return
	}
	if err := m.send(state); err != nil {
		m.log.Warn("systemd could not be told", "state", state, "error", err)
	}
}

// follow tells of the first snapshot, which makes the sidecar ready, of those that come after it, of life at half of the
// time that the watchdog gives, as long as alive finds any, and of the end.
func (m *systemdNotifier) follow(ctx context.Context, snapshots <-chan *pannier.Snapshot, alive func() error) {
	if m == nil {
		return
	}
	var ticks <-chan time.Time
	if m.watchdog > 0 {
		ticker := time.NewTicker(m.watchdog / 2)
		defer ticker.Stop()
		ticks = ticker.C
	}
	state := daemon.SdNotifyReady + "\n"
	for {
		select {
		case <-ctx.Done():
			m.notify(daemon.SdNotifyStopping + "\nSTATUS=stopping")
			return
		case s := <-snapshots:
			m.notify(state + status(s))
			state = ""
		case <-ticks:
			m.feedWatchdog(alive())
		}
	}
}

// status is the line that `systemctl status` shows.
func status(s *pannier.Snapshot) string {
	usable := 0
	for i := range s.Entries {
		if s.Entries[i].Usable {
			usable++
		}
	}
	return fmt.Sprintf("STATUS=%d of %d skills can be used, snapshot %d", usable, len(s.Entries), s.Version)
}

// feedWatchdog keeps the watchdog quiet, unless a restart would help.
func (m *systemdNotifier) feedWatchdog(dead error) {
	if dead != nil {
		m.log.Error("systemd watchdog not fed", "error", dead)
		return
	}
	m.notify(daemon.SdNotifyWatchdog)
}

// reloading tells that everything is looked at again, and returns what tells that it was. The time is what Type=notify-reload
// asks for.
func (m *systemdNotifier) reloading() (done func()) {
	if m == nil {
		return func() {}
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		m.log.Warn("monotonic clock not read", "error", err)
	}
	m.notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/int64(time.Microsecond)))
	return func() { m.notify(daemon.SdNotifyReady) }
}

// notifySystemd tells systemd how the sidecar is until ctx is done.
func (c *core) notifySystemd(ctx context.Context) {
	c.awaitWatched(ctx)
	snapshots, cancel := c.registry.Subscribe()
	defer cancel()
	c.systemd.follow(ctx, snapshots, c.alive)
}

// rescanNotified scans everything again, and notifies systemd when it begins and ends. Before the sidecar is ready
// there is nothing to load again.
func (c *core) rescanNotified(ctx context.Context) {
	if c.registry.Current() == nil || !c.watched() {
		c.requestRescan()
		return
	}
	done := c.systemd.reloading()
	if _, err := c.registry.Wait(ctx, c.requestRescan()); err == nil {
		done()
	}
}
