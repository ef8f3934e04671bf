package molecule

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"pannier"
)

// maxStrangers bounds the workspaces that are known to be no peers.
const maxStrangers = 4096

// applyToPeers brings the list of peers up to date by an event of another workspace, and reports whether the list needs no
// reading for that. Each event carries the whole card, and all sidecars of one address share the platform's rate limit, so
// the list is only read where an event is about a workspace that is neither in it nor known to be no peer, or about how
// workspaces are arranged.
func (p *Publisher) applyToPeers(f frame) (done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.peers.list, func(peer pannier.Peer) bool { return strings.EqualFold(peer.ID, f.WorkspaceID) })
	if i < 0 {
		id := strings.ToLower(f.WorkspaceID)
		if _, stranger := p.strangers[id]; stranger && f.Event == FrameCardUpdated {
			return true
		}
		if p.unknown == nil || len(p.unknown) >= maxStrangers {
			p.unknown = map[string]struct{}{}
		}
		p.unknown[id] = struct{}{}
		return false
	}
	list := slices.Clone(p.peers.list) // which readers may have
	peer := &list[i]
	switch f.Event {
	case FrameCardUpdated:
		peer.Card = cardOfEvent(f)
	case FrameOnline:
		peer.Status = "online"
		if len(f.Payload.AgentCard) > 0 { // a registration, not a heartbeat
			peer.Card = cardOfEvent(f)
		}
	case FrameOffline:
		peer.Status = "offline"
	case FrameRemoved:
		list = slices.Delete(list, i, i+1)
	default:
		return false
	}
	if f.Event != FrameRemoved && !samePeer(peer, &p.peers.list[i]) {
		peer.UpdatedAt = time.Now().UTC().Truncate(time.Millisecond)
	}
	if cardBytes(list) > maxPeerCardsBytes {
		return false
	}
	p.peers.list = list
	p.metrics.peers.Set(float64(len(list)))
	return true
}

// cardOfEvent returns the card of an event as a list of peers would have it; nil for one that is too large.
func cardOfEvent(f frame) []byte {
	if bytes.Equal(f.Payload.AgentCard, foreign) {
		return nil
	}
	return peerCard(f.Payload.AgentCard)
}

func cardBytes(list []pannier.Peer) (sum int) {
	for _, peer := range list {
		sum += len(peer.Card)
	}
	return sum
}

// noteStrangersLocked takes in that a list which was read after events does not have their workspaces. Where there are too
// many, all are forgotten, and each costs one reading again.
func (p *Publisher) noteStrangersLocked(list []pannier.Peer) {
	if len(p.strangers)+len(p.unknown) > maxStrangers {
		p.strangers = nil
	}
	if p.strangers == nil {
		p.strangers = map[string]struct{}{}
	}
	for _, peer := range list {
		id := strings.ToLower(peer.ID)
		delete(p.unknown, id)
		delete(p.strangers, id)
	}
	maps.Copy(p.strangers, p.unknown)
	p.unknown = nil
}
