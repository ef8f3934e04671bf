package files

import (
	"context"
	"time"
)

// Waiting has a client call f where it would wait.
func (c *Client) Waiting(f func(time.Duration)) {
	c.wait = func(_ context.Context, d time.Duration) error {
		f(d)
		return nil
	}
}
