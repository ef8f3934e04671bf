package api

import (
	"context"
	"sync"
)

// upgraded counts the requests under way whose connections the HTTP server has given away, and so does not wait for.
type upgraded struct {
	mu    sync.Mutex
	count int
	// none is closed once there are none, and nil unless a caller waits.
	none chan struct{}
}

type upgradedKey struct{}

// enter counts one; leave has to be called when it has ended.
func (u *upgraded) enter() (leave func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count++
	return sync.OnceFunc(func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.count--; u.count == 0 && u.none != nil {
			close(u.none)
			u.none = nil
		}
	})
}

// wait returns when there are none, or ctx is done.
func (u *upgraded) wait(ctx context.Context) {
	u.mu.Lock()
	if u.count == 0 {
		u.mu.Unlock()
		return
	}
	if u.none == nil {
		u.none = make(chan struct{})
	}
	none := u.none
	u.mu.Unlock()
	select {
	case <-none:
	case <-ctx.Done():
	}
}

// trackUpgraded has the server wait for a request although its connection is not the server's any more. Where the handler
// is called without a server, it does nothing.
func trackUpgraded(ctx context.Context) (leave func()) {
	if u, ok := ctx.Value(upgradedKey{}).(*upgraded); ok {
		return u.enter()
	}
	return func() {}
}
