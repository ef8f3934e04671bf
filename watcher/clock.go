package watcher

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// jumpTimer is how the kernel is asked. Both of its methods fail with [unix.ECANCELED] where the clock has jumped.
type jumpTimer interface {
	// arm asks for the next jump, also if it reports one.
	arm() error
	// Read waits for a jump, if the timer is armed, or until Close.
	Read(expired []byte) (int, error)
	Close() error
}

// listenForClock calls jumped after each jump of the machine's clock, until end has returned: it was set, or the machine was
// suspended. Both go with changes without an event, such as those that a file server saw meanwhile, and with times of files that
// prove nothing. Where the kernel cannot be asked, or not any more, it calls failed; all that is lost then is that the next
// resync comes at its usual time.
func listenForClock(jumped func(), failed func(error)) (end func()) {
	timer, err := openJumpTimer()
	if err != nil {
		failed(err)
		return func() {}
	}
	return listenTo(timer, jumped, failed)
}

// listenTo is listenForClock with a timer, which it closes.
func listenTo(timer jumpTimer, jumped func(), failed func(error)) (end func()) {
	if err := timer.arm(); err != nil && !errors.Is(err, unix.ECANCELED) { // nothing was scanned before the first time
		timer.Close()
		failed(err)
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var expired [8]byte
		for {
			_, err := timer.Read(expired[:])
			for errors.Is(err, unix.ECANCELED) {
				jumped()
				err = timer.arm() // which fails so where the next jump came in between
			}
			if err != nil {
				if !errors.Is(err, os.ErrClosed) {
					failed(err)
				}
				return
			}
		}
	}()
	return func() { // nothing is called after it
		timer.Close()
		<-ended
	}
}

// clockTimer is the timer of the product.
type clockTimer struct{ *os.File }

func openJumpTimer() (jumpTimer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return clockTimer{os.NewFile(uintptr(fd), "timerfd")}, nil
}

// arm asks by a timer that does not go off before and is cancelled by a jump. Where there was one since the last that the timer
// told of, this fails with [unix.ECANCELED] and the timer is armed nevertheless (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET and
// NOTES).
func (t clockTimer) arm() error {
	const never = 1 << 40 // seconds, some 35,000 years
	conn, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		at := unix.ItimerSpec{Value: unix.Timespec{Sec: never}}
		failed = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &at, nil)
	})
	return errors.Join(err, os.NewSyscallError("timerfd_settime", failed))
}
