package molecule

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"pannier"
)

const (
	// kinQuiet is the least time after an event at which the peers are read, since events come in bunches, and kinSpread the
	// random part that is added: all sidecars hear the same event, and the platform counts requests by address.
	kinQuiet  = 250 * time.Millisecond
	kinSpread = 2 * time.Second
	// streamFirst is how long the first reading waits for the event stream.
	streamFirst = time.Second
	// kinApart is the least between two readings, however many events there are.
	kinApart = 10 * time.Second
)

// peerList is what the platform last told of the peers.
type peerList struct {
	list []pannier.Peer // ordered by id; never changed once it is here
	at   time.Time      // when that was, zero before the first time
}

func (l peerList) words() string {
	if l.at.IsZero() {
		return "the peers of the workspace are not known"
	}
	return fmt.Sprintf("the list of peers is still that of %s, with %d in it", l.at.UTC().Format(time.RFC3339), len(l.list))
}

// Peers returns the peers of the workspace, as the platform last told of them, ordered by id. The caller must not change
// them.
func (p *Publisher) Peers() []pannier.Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peers.list
}

// keepPeers reads the peers at once, after each signal of kin, and every five minutes. What it reads first should be of after
// the connection to the event stream, or else it has to be read again for that.
func (p *Publisher) keepPeers(ctx context.Context) {
	if p.stream != nil {
		wait(ctx, streamFirst, p.kin)
	}
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		o, status := p.readPeers(ctx)
		if ctx.Err() != nil {
			return
		}
		var signalled bool
		if o.err == nil {
			failures = 0
			signalled = wait(ctx, checkLeast+p.jitter(checkSpread), p.kin)
		} else {
			failures++
			wait(ctx, o.after, nil)
			signalled = wait(ctx, p.besidesDelay(o, status, failures)-o.after, p.kin)
		}
		if signalled {
			wait(ctx, max(kinQuiet+p.jitter(kinSpread), kinApart-time.Since(begun)), nil)
		}
		wait(ctx, p.throttle.left(time.Now()), nil)
		select {
		case <-p.kin: // what it is about is read now
		default:
		}
	}
}

// readPeers asks for the peers once.
func (p *Publisher) readPeers(ctx context.Context) (o outcome, status int) {
	token, err := p.readToken()
	var a answer
	var list []pannier.Peer
	if err == nil {
		a, err = p.exchange(ctx, call{method: http.MethodGet, target: p.family, token: token, most: p.peersMost, take: func(body io.Reader) (err error) {
			list, err = peersOf(body, p.workspaceID)
			return err
		}})
	}
	if err == nil && a.status/100 == 2 {
		err = a.broken
	}
	o = p.besides("read peers", token, a, err)
	if o.err == nil {
		p.takePeers(list)
		return o, a.status
	}
	if ctx.Err() == nil && p.blame(&p.stale, faultOf(o, hintNoPeers)) {
		p.log.Debug("peers not read", "error", o.err)
	}
	return o, a.status
}

// takePeers takes over a list. A peer that is as it was keeps its time.
func (p *Publisher) takePeers(list []pannier.Peer) {
	now := time.Now()
	p.acquit(&p.stale)
	p.metrics.peers.Set(float64(len(list)))
	p.mu.Lock()
	defer p.mu.Unlock()
	before := make(map[string]*pannier.Peer, len(p.peers.list))
	for i := range p.peers.list {
		before[p.peers.list[i].ID] = &p.peers.list[i]
	}
	for i := range list {
		peer := &list[i]
		peer.UpdatedAt = now.UTC().Truncate(time.Millisecond)
		if old := before[peer.ID]; old != nil && samePeer(old, peer) {
			*peer = *old
		}
	}
	p.noteStrangersLocked(list)
	p.peers = peerList{list, now}
}

func samePeer(a, b *pannier.Peer) bool {
	return a.Name == b.Name && a.Role == b.Role && a.Status == b.Status && bytes.Equal(a.Card, b.Card)
}
