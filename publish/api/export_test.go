package api

import "context"

// WithPeer returns the context of a request from a peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, peerOrError{peer: p})
}
