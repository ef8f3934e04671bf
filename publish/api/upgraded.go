package api

import (
	"context"
	"math"

	"golang.org/x/sync/semaphore"
)

// upgraded counts the requests under way whose connections the HTTP server has given away, and so does not wait for.
type upgraded struct{ *semaphore.Weighted }

type upgradedKey struct{}

// wait returns when there are none, or ctx is done.
func (u upgraded) wait(ctx context.Context) {
	if u.Acquire(ctx, math.MaxInt64) == nil {
		u.Release(math.MaxInt64)
	}
}

// TrackUpgraded has the server wait for a request although its connection is not the server's any more. It fails once
// the server waits. Where the handler is called without a server, it does nothing.
func TrackUpgraded(ctx context.Context) (leave func(), ok bool) {
	u, served := ctx.Value(upgradedKey{}).(upgraded)
	if !served {
		return func() {}, true
	}
	return func() { u.Release(1) }, u.TryAcquire(1)
}
