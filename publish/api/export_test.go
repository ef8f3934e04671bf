package api

import (
	"context"
	"slices"
)

// WithPeer returns the context of a request from a peer.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, peerOrError{peer: p})
}

// Patterns are the routes of a handler, with the names that the query of each may hold.
func (h *Handler) Patterns() map[string][]string { return h.patterns }

// Told returns the query parameters that the OpenAPI document tells of each route.
func Told() map[string][]string {
	told := map[string][]string{}
	for pattern, o := range operations {
		told[pattern] = o.queryOf()
	}
	return told
}

// queryOf returns the names of the query parameters that the document tells of a route.
func (o operation) queryOf() []string {
	var names []string
	for _, p := range o.parameters {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	slices.Sort(names)
	return names
}

// ActorOf is who asks.
var ActorOf = actorOf

// WhileHeld is done when a token does not hold any more.
var WhileHeld = whileHeld
