package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"pannier/internal/testbench/oracle"
)

// chaos makes trouble for the sidecar while others write.
type chaos struct {
	idle    []net.Conn // event streams without a reader
	stopped bool       // by SIGSTOP
	over    time.Time
}

// run makes trouble for that long.
func (c *chaos) run(ctx context.Context, s *soak, d time.Duration) error {
	deadline := time.Now().Add(d)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		if err := c.trouble(ctx, s); err != nil {
			return err
		}
		pause(ctx, min(time.Until(deadline), time.Duration(s.rng.IntN(400))*time.Millisecond))
	}
	return nil
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// trouble does one thing, mostly nothing.
func (c *chaos) trouble(ctx context.Context, s *soak) error {
	switch s.rng.IntN(40) {
	case 0, 1, 2, 3:
		faults := oracle.Faults()
		return s.endpoint.Set(faults[s.rng.IntN(len(faults))])
	case 4, 5, 6:
		return s.endpoint.Set(oracle.Up)
	case 7:
		return c.kill(ctx, s)
	case 8:
		c.stopped = true
		return s.side.signal(syscall.SIGSTOP)
	case 9, 10:
		c.stopped = false
		return s.side.signal(syscall.SIGCONT)
	case 11, 18:
		return c.storm(ctx, s)
	case 12, 13:
		c.observe(s)
	case 14, 15, 16, 17:
		c.read(ctx, s)
	}
	return nil
}

// kill kills the sidecar and starts it anew. In the second half of a soak it lives on, so that growth would show.
func (c *chaos) kill(ctx context.Context, s *soak) error {
	if time.Since(s.began) > s.duration/2 {
		return nil
	}
	c.stopped = false
	s.side.kill()
	pause(ctx, time.Duration(s.rng.IntN(500))*time.Millisecond)
	return s.revive(ctx)
}

// storm makes the sidecar look again and again while others write, and judges what it shows meanwhile.
func (c *chaos) storm(ctx context.Context, s *soak) error {
	for range 20 {
		if c.stopped {
			return nil
		}
		if err := s.side.signal(syscall.SIGHUP); err != nil {
			return err
		}
		card, err := s.side.get(ctx, "/v1/card")
		if err != nil {
			continue // there may be no descriptor left to answer with
		}
		if err := s.states.judge(card); err != nil {
			return fmt.Errorf("card shown: %w", err)
		}
		pause(ctx, time.Duration(s.rng.IntN(20))*time.Millisecond)
	}
	return nil
}

// observe opens an event stream and never reads it.
func (c *chaos) observe(s *soak) {
	if len(c.idle) >= 8 {
		return
	}
	conn, err := net.Dial("unix", filepath.Join(s.dir, "s"))
	if err != nil {
		return
	}
	c.idle = append(c.idle, conn)
	conn.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: pannier\r\nLast-Event-ID: 0\r\n\r\n"))
}

// read asks for much at the same time. What is answered does not matter here.
func (c *chaos) read(ctx context.Context, s *soak) {
	if c.stopped {
		return
	}
	const readers = 20
	done := make(chan struct{}, readers)
	paths := []string{"/v1/skills?include=problems", "/v1/card", "/v1/prompt", "/v1/health", "/v1/skills/s01/content", "/metrics"}
	for i := range readers {
		go func() {
			s.side.get(ctx, paths[i%len(paths)])
			done <- struct{}{}
		}()
	}
	for range readers {
		<-done
	}
}

// end ends all trouble.
func (c *chaos) end(s *soak) error {
	for _, conn := range c.idle {
		conn.Close()
	}
	c.idle = nil
	var err error
	if c.stopped {
		err, c.stopped = s.side.signal(syscall.SIGCONT), false
	}
	err = errors.Join(err, s.endpoint.Set(oracle.Up))
	c.over = time.Now()
	return err
}
