package client

// SetMaxAnswer bounds answers at n bytes.
func (c *Client) SetMaxAnswer(n int64) { c.maxAnswer = n }
