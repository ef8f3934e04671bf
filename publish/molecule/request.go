package molecule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// shutdownGrace is what a request in flight has to finish once its context ends.
const shutdownGrace = 2 * time.Second

const maxRedirects = 3

// bounded reads so many bytes, and then fails with [ErrTooLarge] if there are more.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if int64(len(into)) > b.left+1 {
		into = into[:b.left+1]
	}
	n, err := b.r.Read(into)
	if int64(n) > b.left {
		n, err = int(b.left), ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}

// exchange makes a request and follows redirects. It uses the transport and not an [http.Client], whose errors quote
// addresses.
func (c *Client) exchange(ctx context.Context, r Call) (Answer, error) {
	ctx, cancel := requestContext(ctx, r.Timeout)
	defer cancel()
	for range maxRedirects + 1 {
		a, err := c.roundTrip(ctx, r)
		if err != nil || a.location == "" {
			return a, err
		}
		if r.Target, err = follow(r.Target, a); err != nil {
			return Answer{}, err
		}
	}
	return Answer{}, &redirectError{http.StatusPermanentRedirect, "itself again and again"}
}

// requestContext returns the context of a request; see [Call.Timeout].
func requestContext(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeout(parent, timeout)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		time.AfterFunc(shutdownGrace, func() { cancel(errStopped) })
	})
	timer := time.AfterFunc(totalTimeout, func() { cancel(errTooLong) })
	return ctx, func() {
		stop()
		timer.Stop()
		cancel(nil)
	}
}

func (c *Client) roundTrip(ctx context.Context, r Call) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.Target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, errors.New("the address cannot be requested")
	}
	maps.Copy(req.Header, c.header)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if r.Method == http.MethodGet {
		req.Header.Set("Cache-Control", "no-cache") // a cache before the platform may be older than our own push
	}
	req.Header.Set("User-Agent", "pannier")
	req.Header.Set(WorkspaceHeader, c.workspaceID)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Answer{}, causeOf(ctx, err)
	}
	defer resp.Body.Close()
	c.throttle.record(resp.StatusCode, resp.Header, time.Now())
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return Answer{Status: resp.StatusCode}, nil // the body would be the bare connection, which has no end
	}
	stop := context.AfterFunc(ctx, func() { _ = resp.Body.Close() }) // no body outlasts its request, whatever the transport does
	defer stop()
	a := readAnswer(resp, r)
	if a.broken != nil {
		a.broken = causeOf(ctx, a.broken)
	}
	return a, nil
}

func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// readAnswer reads a response. A body that breaks off changes nothing for a push, which has its status. It is read so
// that the connection can be used again.
func readAnswer(resp *http.Response, c Call) Answer {
	bound := &bounded{resp.Body, c.Limit}
	if c.take != nil && resp.StatusCode/100 == 2 {
		return Answer{Status: resp.StatusCode, broken: c.take(bound)}
	}
	body, err := io.ReadAll(bound)
	a := Answer{Status: resp.StatusCode, Body: body, broken: err}
	switch {
	case a.Status/100 == 2:
		return a
	case a.Status/100 == 3:
		a.location = resp.Header.Get("Location")
	}
	a.Message = messageOf(body)
	a.RetryAfter = retryAfter(resp.Header, time.Now())
	return a
}

func messageOf(body []byte) string {
	var e ErrorResponse
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.Error
}

// follow returns the target of a redirect. Only redirects that keep the method, to the same scheme and host, are
// followed: no other host may get the token.
func follow(from *url.URL, a Answer) (*url.URL, error) {
	to, err := from.Parse(a.location)
	if err != nil || to.Host == "" {
		return nil, &redirectError{a.Status, "an address that cannot be read"}
	}
	keeps := a.Status == http.StatusTemporaryRedirect || a.Status == http.StatusPermanentRedirect
	if !keeps || to.User != nil || to.Scheme != from.Scheme || !strings.EqualFold(to.Host, from.Host) {
		return nil, &redirectError{a.Status, (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()}
	}
	return to, nil
}
