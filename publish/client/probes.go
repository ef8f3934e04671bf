package client

import (
	"context"

	"pannier"
)

// Session returns who the caller is to the sidecar, and what it may do.
func (c *Client) Session(ctx context.Context) (pannier.Session, error) {
	return Get[pannier.Session](ctx, c, "/v1/session")
}

// Metrics returns the metrics in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) (string, error) {
	_, text, err := c.getText(ctx, "/metrics", "text/plain")
	return string(text), err
}

// Ready fails unless the first scan is served and all directories are watched.
func (c *Client) Ready(ctx context.Context) error { return c.probe(ctx, "/readyz") }

// Live fails where a restart would help.
func (c *Client) Live(ctx context.Context) error { return c.probe(ctx, "/livez") }

func (c *Client) probe(ctx context.Context, path string) error {
	_, _, err := c.getText(ctx, path, "text/plain")
	return err
}
