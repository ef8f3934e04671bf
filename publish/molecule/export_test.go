package molecule

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"time"
)

// SetTransport puts t in the place of the network, and Transport returns it.
func (t *Target) SetTransport(transport http.RoundTripper) { t.transport = transport }

func (t *Target) Transport() http.RoundTripper { return t.transport }

// SetDial keeps the real transport, on connections that dial makes, without a proxy.
func (t *Target) SetDial(dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	t.network.now.DialContext, t.network.now.Proxy = dial, nil
}

// SetSilence sets how long nothing may come on a connection of HTTP/2 before it is asked for a sign of life, how long that may
// take, and how long the head of an answer may.
func (t *Target) SetSilence(after, ping, head time.Duration) {
	now := t.network.now
	now.HTTP2.SendPingTimeout, now.HTTP2.PingTimeout, now.ResponseHeaderTimeout = after, ping, head
}

// SetHosts has addresses stand for others, and keeps the rest of the real transport, its proxies among it.
func (t *Target) SetHosts(hosts map[string]string) {
	dial := t.network.now.DialContext
	t.network.now.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(ctx, network, cmp.Or(hosts[addr], addr))
	}
}

// SetPeersMost bounds how much of a list of peers is read, in bytes.
func (t *Target) SetPeersMost(most int64) { t.peersMax = most }

// The functions of these names.
var (
	RetryAfter = retryAfter
	Holds      = holds
	PeersOf    = peersOf
)

// Merge returns our card with what is kept of the registered one.
func Merge(own, registered json.RawMessage, limit int) (merged json.RawMessage, dropped []string) {
	merged, dropped, _ = appendMerged(nil, parseCard(own), parseCard(registered), limit)
	return merged, dropped
}

// ObjectOf returns the members of an object.
func ObjectOf(text json.RawMessage) map[string]json.RawMessage { return objectOf(text) }

// The bounds of what is taken over of peers, and of events.
const (
	MaxPeers         = maxPeers
	MaxPeerCardBytes = maxPeerCardBytes
	MaxPeerCardDepth = maxPeerCardDepth
	MaxFrameBytes    = maxFrameBytes
)
