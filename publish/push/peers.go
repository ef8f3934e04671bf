package push

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pannier"
)

const (
	// peersQuiet is the least time after an event at which the peers are read, since events come in bursts. A random
	// part of peersSpread is added: all sidecars get the same event, and the platform limits requests for each address.
	peersQuiet  = 250 * time.Millisecond
	peersSpread = 2 * time.Second
	// peersApart is the least between two readings, however many events there are.
	peersApart = 10 * time.Second
	// The first reading comes after a random part of peersFirst, unless a client asks for the peers: sidecars that start
	// together would use up what the platform allows their address. askedWait is how long the client waits for it.
	peersFirst = time.Minute
	askedWait  = time.Second
	// MaxPeerCardsBytes bounds the cards of all peers together.
	MaxPeerCardsBytes = 8 << 20
	// maxStrangers bounds the workspaces that are known not to be peers.
	maxStrangers = 4096
)

// peerList is what the target last reported of the peers. It is safe for concurrent use.
type peerList struct {
	mu   sync.Mutex
	list []pannier.Peer // ordered by id; never changed in place, since readers have it
	at   time.Time      // zero before the first reading
	// first is closed after the first attempt to read the list; nil before [Publisher.Run].
	first chan struct{}
	// unknown are workspaces of events since the last reading, strangers those that are not peers, by id in lower case.
	unknown, strangers map[string]struct{}
}

func (l *peerList) age() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() {
		return "the peers of the workspace are not known"
	}
	return fmt.Sprintf("the list of peers is still that of %s, with %d in it", l.at.UTC().Format(time.RFC3339), len(l.list))
}

// replace sets the list after a reading. A peer that has not changed keeps its time.
func (l *peerList) replace(list []pannier.Peer, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := make(map[string]*pannier.Peer, len(l.list))
	for i := range l.list {
		before[l.list[i].ID] = &l.list[i]
	}
	for i := range list {
		peer := &list[i]
		peer.UpdatedAt = now.UTC().Truncate(time.Millisecond)
		if old := before[peer.ID]; old != nil && isSamePeer(old, peer) {
			*peer = *old
		}
	}
	// Workspaces of events before the reading that are not in the list are strangers. If there are too many, all are
	// forgotten, and each costs one reading again.
	if l.strangers == nil || len(l.strangers)+len(l.unknown) > maxStrangers {
		l.strangers = map[string]struct{}{}
	}
	for _, peer := range list {
		id := strings.ToLower(peer.ID)
		delete(l.unknown, id)
		delete(l.strangers, id)
	}
	maps.Copy(l.strangers, l.unknown)
	l.unknown = nil
	l.list, l.at = list, now
}

// apply updates the list by an event and reports whether that is enough. Events carry the whole card, and all sidecars
// behind one address share the platform's rate limit, so the list is read only if an event is about a workspace that is
// neither in it nor known not to be a peer. It returns the number of peers.
func (l *peerList) apply(c PeerChange) (n int, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.list, func(peer pannier.Peer) bool { return strings.EqualFold(peer.ID, c.ID) })
	if i < 0 {
		id := strings.ToLower(c.ID)
		if _, stranger := l.strangers[id]; stranger && c.HasCard && c.Status == "" {
			return len(l.list), true
		}
		if l.unknown == nil || len(l.unknown) >= maxStrangers {
			l.unknown = map[string]struct{}{}
		}
		l.unknown[id] = struct{}{}
		return len(l.list), false
	}
	list := slices.Clone(l.list)
	if c.Removed {
		l.list = slices.Delete(list, i, i+1)
		return len(l.list), true
	}
	peer := &list[i]
	if c.HasCard {
		peer.Card = c.Card
	}
	if c.Status != "" {
		peer.Status = c.Status
	}
	if !isSamePeer(peer, &l.list[i]) {
		peer.UpdatedAt = time.Now().UTC().Truncate(time.Millisecond)
	}
	size := 0
	for _, peer := range list {
		size += len(peer.Card)
	}
	if size > MaxPeerCardsBytes {
		return len(l.list), false
	}
	l.list = list
	return len(l.list), true
}

func isSamePeer(a, b *pannier.Peer) bool {
	return a.Name == b.Name && a.Role == b.Role && a.Status == b.Status && bytes.Equal(a.Card, b.Card)
}

// Peers returns the peers of the workspace ordered by id, as the target last reported them. The caller must not change
// them.
//
// Before the first attempt to read them it asks for that, and waits up to a second.
func (p *Publisher) Peers() []pannier.Peer {
	p.peers.mu.Lock()
	first := p.peers.first
	p.peers.mu.Unlock()
	if first != nil {
		signal(p.peersAsked)
		wait(context.Background(), askedWait, first)
	}
	p.peers.mu.Lock()
	defer p.peers.mu.Unlock()
	return p.peers.list
}

// readPeers reads the peers within a minute or when a client asks, after each signal, and about every five minutes,
// until ctx is done.
func (p *Publisher) readPeers(ctx context.Context) {
	first := make(chan struct{})
	endFirst := sync.OnceFunc(func() { close(first) })
	defer endFirst()
	p.peers.mu.Lock()
	p.peers.first = first
	p.peers.mu.Unlock()
	for d := p.jitter(peersFirst); d > 0 && ctx.Err() == nil && !wait(ctx, d, p.peersAsked); {
		if d = p.throttled(); d > 0 {
			d += p.jitter(restSpread)
		}
	}
	clearSignal(p.peersChanged)
	for failures := 0; ctx.Err() == nil; {
		begun := time.Now()
		a := p.readPeersOnce(ctx)
		endFirst()
		if ctx.Err() != nil {
			return
		}
		var signalled bool
		if a.err == nil {
			failures = 0
			signalled = wait(ctx, p.checkInterval(), p.peersChanged)
		} else {
			failures++
			wait(ctx, a.After, nil)
			signalled = wait(ctx, p.delay(a.Outcome, failures)-a.After, p.peersChanged)
		}
		if signalled {
			wait(ctx, max(peersQuiet+p.jitter(peersSpread), peersApart-time.Since(begun)), nil)
		}
		p.rest(ctx)
		clearSignal(p.peersChanged) // the next reading covers it
	}
}

func (p *Publisher) readPeersOnce(ctx context.Context) attempt {
	list, o, err := p.lister.Peers(ctx)
	a := attempt{o, err}
	switch {
	case err == nil:
		p.peersFault.clear()
		p.metrics.peers.Set(float64(len(list)))
		p.peers.replace(list, time.Now())
	case ctx.Err() == nil && p.peersFault.set(faultOf(a)):
		p.log.Debug("peers not read", "error", err)
	}
	return a
}
