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

// notifyTimeout bounds one message to systemd. The library's own way of sending has no bound, and a sidecar must end when it
// asks it to, also if systemd does not read.
const notifyTimeout = time.Second

// systemdNotifier tells the systemd that started this process (sd_notify(3)) that the sidecar is ready, scans
// everything again, stops, and is alive. Nil sends nothing. It is safe for concurrent use.
type systemdNotifier struct {
	log      hclog.Logger
	send     func(state string) error
	watchdog time.Duration // how long it waits for a sign of life; 0 is for none
}

// newSystemdNotifier returns a notifier for the systemd of the environment variables, or nil.
func newSystemdNotifier(log hclog.Logger) *systemdNotifier {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	n := &systemdNotifier{log: log.Named("systemd"), send: func(state string) error { return sendDatagram(socket, state) }}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.log.Warn("systemd watchdog not used", "error", err)
	}
	n.watchdog = watchdog
	return n
}

// sendDatagram sends a message to a unix socket; one that begins with @ has an abstract name (unix(7)).
func sendDatagram(socket, text string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(notifyTimeout)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(text))
	return err
}

// notify sends a message. A message that cannot be sent is logged; systemd acts as it sees fit, and the sidecar goes on.
func (n *systemdNotifier) notify(state string) {
	if n == nil {
		return
	}
	if err := n.send(state); err != nil {
		n.log.Warn("systemd could not be told", "state", state, "error", err)
	}
}

// follow reports the first snapshot, which makes the sidecar ready, later snapshots, a sign of life at half of the
// time that the watchdog gives, as long as alive returns no error, and the shutdown.
func (n *systemdNotifier) follow(ctx context.Context, snapshots <-chan *pannier.Snapshot, alive func() error) {
	if n == nil {
		return
	}
	var ticks <-chan time.Time
	if n.watchdog > 0 {
		ticker := time.NewTicker(n.watchdog / 2)
		defer ticker.Stop()
		ticks = ticker.C
	}
	state := daemon.SdNotifyReady + "\n"
	for {
		select {
		case <-ctx.Done():
			n.notify(daemon.SdNotifyStopping + "\nSTATUS=stopping")
			return
		case s := <-snapshots:
			n.notify(state + status(s))
			state = ""
		case <-ticks:
			if err := alive(); err != nil { // a restart would help
				n.log.Error("systemd watchdog not fed", "error", err)
			} else {
				n.notify(daemon.SdNotifyWatchdog)
			}
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

// reloading reports that a reload began, and returns a function that reports its end. The time is what Type=notify-reload
// asks for.
func (n *systemdNotifier) reloading() (done func()) {
	if n == nil {
		return func() {}
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		n.log.Warn("monotonic clock not read", "error", err)
	}
	n.notify(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/int64(time.Microsecond)))
	return func() { n.notify(daemon.SdNotifyReady) }
}
