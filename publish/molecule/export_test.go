package molecule

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"
)

// SetTransport puts t in the place of the network.
func (p *Publisher) SetTransport(t http.RoundTripper) { p.transport = t }

// SetDial keeps the real transport, on connections that dial makes, without a proxy.
func (p *Publisher) SetDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	p.network.now.DialContext, p.network.now.Proxy = dial, nil
}

// SetSilence sets how long nothing may come on a connection of HTTP/2 before it is asked for a sign of life, how long that may
// take, and how long the head of an answer may.
func (p *Publisher) SetSilence(after, ping, head time.Duration) {
	t := p.network.now
	t.HTTP2.SendPingTimeout, t.HTTP2.PingTimeout, t.ResponseHeaderTimeout = after, ping, head
}

// SetHosts has addresses stand for others, and keeps the rest of the real transport, its proxies among it.
func (p *Publisher) SetHosts(hosts map[string]string) {
	dial := p.network.now.DialContext
	p.network.now.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(ctx, network, cmp.Or(hosts[addr], addr))
	}
}

// SetJitter puts jitter in the place of chance.
func (p *Publisher) SetJitter(jitter func(most time.Duration) time.Duration) { p.jitter = jitter }

// Jitter draws from the real one.
func (p *Publisher) Jitter(most time.Duration) time.Duration { return p.jitter(most) }

// RetryAfter is retryAfter.
var RetryAfter = retryAfter

// Merge, Holds and Canonical are merge, holds and canonical.
var (
	Merge     = merge
	Holds     = holds
	Canonical = canonical
)

// SetStep has step called before each request and each step of a write to the outbox.
func (p *Publisher) SetStep(step func(name string) error) { p.step = step }

// OutboxFile is the path of the record.
func (p *Publisher) OutboxFile() string { return p.outbox.path() }

// AwaitOutbox returns when the outbox says what the publisher knows.
func (p *Publisher) AwaitOutbox(ctx context.Context) error { return p.records.Wait(ctx) }

// SetPeersMost bounds how much of a list of peers is read, in bytes.
func (p *Publisher) SetPeersMost(most int64) { p.peersMost = most }

// PeersOf is peersOf.
var PeersOf = peersOf

// The bounds of what is taken over of peers, and the two of the event stream.
const (
	MaxPeers          = maxPeers
	MaxPeerCardBytes  = maxPeerCardBytes
	MaxPeerCardsBytes = maxPeerCardsBytes
	MaxPeerCardDepth  = maxPeerCardDepth
	MaxFrameBytes     = maxFrameBytes
)

// What a wait is a random part of, by which tests tell what follows a try.
const (
	BackoffBase = backoffBase
	SlowSpread  = slowSpread
)

// Difference is difference.
var Difference = difference
