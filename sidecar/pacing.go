package sidecar

import (
	"context"
	"time"

	"pannier"
)

// pushInterval is the least time between two pushes of what changed on the disk.
const pushInterval = time.Second

// pusher hands the cards of snapshots to the platforms. It does no I/O; time is passed in.
//
// The first change goes out at once when the tree is quiet. Then the intervals grow as long as each push carries several changes:
// pushInterval, debounce, maxWait. They start again after debounce without a change.
type pusher struct {
	debounce, maxWait time.Duration

	pushed  time.Time // when a card was handed over last
	grown   int       // how often the interval has grown
	changed time.Time // when the latest change came
	first   time.Time // when the first change came that waits
	waiting int       // changes that wait

	newest *pannier.Snapshot // whose card waits; nil for none
	last   pannier.Digest    // of the card that was handed over last

	card  func(*pannier.Snapshot) pannier.Digest // zero where there is none
	offer func(*pannier.Snapshot)
	quiet func() bool // the tree is
}

// put takes a snapshot. What did not change on the disk, or was asked for, is handed over at once with all that waits.
func (p *pusher) put(s *pannier.Snapshot, now time.Time) {
	p.newest = s
	switch {
	case !s.Paced && p.waiting == 0:
		p.send()
	case !s.Paced:
		p.flush(now)
	case p.card(s) == p.last: // nothing to push, or not any more
		p.waiting = 0
		p.send()
	default:
		if now.Sub(p.changed) >= p.debounce {
			p.grown = 0
		}
		if p.changed = now; p.waiting == 0 {
			p.first = now
		}
		p.waiting++
	}
}

// next hands over what is due, and returns when to ask again; zero is when something happens.
func (p *pusher) next(now time.Time) time.Time {
	if p.waiting == 0 {
		return time.Time{}
	}
	due := p.pushed.Add(max(pushInterval, [...]time.Duration{0, p.debounce, p.maxWait}[p.grown]))
	if latest := p.first.Add(p.maxWait); due.Before(latest) && !p.quiet() {
		due = latest
	}
	if due.After(now) {
		return due
	}
	p.flush(now)
	return time.Time{}
}

// flush hands over what waits.
func (p *pusher) flush(now time.Time) {
	if p.waiting > 1 {
		p.grown = min(p.grown+1, 2)
	}
	if p.waiting > 0 {
		p.pushed, p.waiting = now, 0
	}
	p.send()
}

func (p *pusher) send() {
	if p.newest != nil {
		p.offer(p.newest)
		p.last, p.newest = p.card(p.newest), nil
	}
}

// announce reports every new snapshot, whatever made it, and then hands its card to the platforms; in this order, so that
// the event of a change comes before the event that the platform has it. Cards wait until the workspace is watched.
func (c *core) announce(ctx context.Context) {
	snapshots, cancel := c.registry.Subscribe()
	defer cancel()
	p := &pusher{
		debounce: c.settings.Watch.Debounce, maxWait: c.settings.Watch.MaxWait,
		card:  func(s *pannier.Snapshot) pannier.Digest { return c.cards.get(s).Digest },
		offer: c.offer, quiet: func() bool { return c.watcher.Quiet(c.scans.batch.Load()) },
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var before *pannier.Snapshot
	read, armed := c.contents.FirstRead(), c.watcher.Armed()
	for {
		timer.Stop()
		if at := p.next(time.Now()); !at.IsZero() {
			timer.Reset(time.Until(at))
		}
		select {
		case <-ctx.Done():
			p.flush(time.Now()) // for the outbox
			return
		case s := <-snapshots:
			c.report(before, s)
			c.scans.reported.Store(s)
			p.put(s, time.Now())
			before = s
		case <-read:
			if read = nil; before != nil {
				c.offer(before)
			}
		case <-armed:
			if armed = nil; before != nil {
				c.offer(before)
			}
		case <-c.scans.done: // the tree may be quiet now
		case <-timer.C:
		}
	}
}
