package contents

import (
	"context"
	"time"
)

// pacer waits until work of some cost may go on; its error ends the work. Nil does not wait.
type pacer func(ctx context.Context, cost int64) error

// pace lets work go on at a rate. It is for one caller at a time.
type pace struct {
	rate  int64     // of cost in a second
	until time.Time // when what was spent so far is paid for
}

// shortest is how long a pause is at least. What is less is added to the next.
const shortest = 10 * time.Millisecond

// wait pauses for as long as a cost takes at that rate. It fails only when ctx is done.
func (p *pace) wait(ctx context.Context, cost int64) error {
	now := time.Now()
	if p.until.Before(now) {
		p.until = now
	}
	p.until = p.until.Add(time.Duration(cost) * time.Second / time.Duration(p.rate))
	pause := p.until.Sub(now)
	if pause < shortest {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
