package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server returns an HTTP server of the platform. Its timeouts do not hold for event streams.
func (p *Platform) Server() *http.Server {
	return &http.Server{
		Handler: p, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
}

// Serve answers requests on a listener with a server from [Platform.Server] until ctx is done, then closes the listener and the
// platform.
func (p *Platform) Serve(ctx context.Context, server *http.Server, ln net.Listener) error {
	defer p.Close()
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("development platform: %w", err)
	}
	return nil
}
