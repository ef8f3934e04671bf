package push

import (
	"context"
	"errors"
	"time"
)

const (
	// streamSteady is how long a connection must have held for the next failure to count as the first.
	streamSteady = time.Minute
	// streamLatest is how long the first connection waits at most for the first attempt to push a card.
	streamLatest = 30 * time.Second
	// streamSpread is the random part after that. Sidecars that start together then know from the answer how many they
	// are, before they send what can wait.
	streamSpread = 2 * time.Second
)

var errEnded = errors.New("the connection ended")

func (p *Publisher) follow(ctx context.Context) {
	defer p.metrics.following.Set(0)
	wait(ctx, streamLatest, p.attempted)
	wait(ctx, p.jitter(streamSpread), nil)
	for failures := 0; ctx.Err() == nil; {
		var connected time.Time
		o, err := p.follower.Follow(ctx, func(e Event) {
			if e.Kind == Connected {
				connected = time.Now()
			}
			p.handle(e)
		})
		if ctx.Err() != nil {
			return
		}
		p.connected.Store(false)
		p.metrics.following.Set(0)
		if !connected.IsZero() && time.Since(connected) >= streamSteady {
			failures = 0
		}
		failures++
		if err == nil {
			err = errEnded
		}
		if p.streamFault.set(faultOf(attempt{o, err})) && failures == 1 {
			p.log.Info("event stream not followed, trying again", append([]any{"error", err}, p.newHint(o.Hint)...)...)
		} else {
			p.log.Debug("event stream not followed", "error", err, "failures", failures)
		}
		wait(ctx, max(o.After, p.delay(o, failures)), nil)
		p.rest(ctx)
	}
}

func (p *Publisher) handle(e Event) {
	switch e.Kind {
	case Connected: // events before it were missed; and a target that is back need not be waited for any longer
		p.connected.Store(true)
		p.metrics.following.Set(1)
		if p.streamFault.clear() {
			p.log.Debug("event stream followed again")
		}
		p.suspect(false)
		signal(p.peersChanged)
		signal(p.cardReady)
	case Uncertain:
		p.suspect(false)
		signal(p.peersChanged)
	case CardChanged:
		p.cardChanged(e)
	case PeersChanged:
		signal(p.peersChanged)
	case PeerChanged:
		if n, done := p.peers.apply(e.Peer); done {
			p.metrics.peers.Set(float64(n))
		} else {
			signal(p.peersChanged)
		}
	}
}
