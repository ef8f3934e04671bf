package watcher

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// clockSet tells of each jump of the machine's clock: somebody has set it, or the machine has slept. Both go with changes that
// nobody told of, such as those that a file server saw meanwhile, and with times of files that prove nothing.
type clockSet struct {
	timer *os.File
	ended chan struct{}
}

// listenForClock calls jumped after each jump, until end has returned. Where the kernel can not be asked it never does; all that
// is lost then is that the next resync comes at its usual time.
func listenForClock(jumped func()) (end func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return func() {}
	}
	c := &clockSet{timer: os.NewFile(uintptr(fd), "timerfd"), ended: make(chan struct{})}
	if err := c.arm(); err != nil {
		c.timer.Close()
		return func() {}
	}
	go c.listen(jumped)
	return c.close
}

// arm asks for the next jump, by a timer that does not go off before and is cancelled by one (timerfd_create(2),
// TFD_TIMER_CANCEL_ON_SET).
func (c *clockSet) arm() error {
	const never = 1 << 40 // seconds, some 35,000 years
	conn, err := c.timer.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		at := unix.ItimerSpec{Value: unix.Timespec{Sec: never}}
		failed = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &at, nil)
	})
	return errors.Join(err, failed)
}

// listen ends with the timer.
func (c *clockSet) listen(jumped func()) {
	defer close(c.ended)
	var expired [8]byte
	for {
		if _, err := c.timer.Read(expired[:]); !errors.Is(err, unix.ECANCELED) {
			return
		}
		if c.arm() != nil {
			return
		}
		jumped()
	}
}

// close waits until jumped is called no more.
func (c *clockSet) close() {
	c.timer.Close()
	<-c.ended
}
