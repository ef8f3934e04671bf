package molecule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pannier/publish/push"
)

// shutdownGrace is what a request in flight has to finish once Run is told to stop.
const shutdownGrace = 2 * time.Second

const maxRedirects = 3

// What a request can end with besides the errors of net/http.
var (
	errTooLong = fmt.Errorf("no complete answer within %v: %w", totalTimeout, context.DeadlineExceeded)
	errStopped = errors.New("stopped before the platform answered")
	errToken   = errors.New("read token")
)

// redirectError is a redirect that is not followed.
type redirectError struct {
	status int
	// target is where it pointed, without credentials and query.
	target string
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("the platform answered %d and pointed to %s", e.status, e.target)
}

// answer is what is kept of a response.
type answer struct {
	status int
	// message is what the platform says about an error, empty where it says nothing readable.
	message  string
	location string
	after    time.Duration
	// body is what was read of it, and broken says why that is not all.
	body   []byte
	broken error
}

// call is a request to the platform.
type call struct {
	method string
	target *url.URL
	body   []byte // nil for none
	token  string
	// most is how much of an answer is read; one that has more is broken.
	most int64
	// take, where there is one, reads a 2xx as it comes, in the place of keeping it.
	take func(body io.Reader) error
}

var errTooLarge = errors.New("the answer is too large")

// bounded reads so many bytes, and then ends in [errTooLarge] where there are more.
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
		n, err = int(b.left), errTooLarge
	}
	b.left -= int64(n)
	return n, err
}

// client makes requests for one workspace. It is safe for concurrent use.
type client struct {
	base        *url.URL
	workspaceID string
	header      http.Header
	token       func() (string, error)
	network     *network
	transport   http.RoundTripper // network; a field for the tests
	throttle    throttle
}

// readToken returns the present token.
func (c *client) readToken() (string, error) {
	token, err := c.token()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errToken, err)
	}
	return strings.TrimSpace(token), nil
}

// do makes a request with the present token, which it returns.
func (c *client) do(ctx context.Context, r call) (a answer, token string, err error) {
	if token, err = c.readToken(); err != nil {
		return answer{}, "", err
	}
	r.token = token
	a, err = c.exchange(ctx, r)
	return a, token, err
}

// complaint says what went wrong with a request, without secrets.
func (c *client) complaint(token string, a answer, err error) string {
	return secretsOf(token, c.header).complaint(a, err)
}

// sideRequestOutcome returns the outcome of a request that is not a push, with the name of what failed.
func (c *client) sideRequestOutcome(what, token string, a answer, err error) (push.Outcome, error) {
	o := c.classify(a, err)
	switch {
	case errors.Is(err, errTooLarge):
		o.Plan, o.Reason, o.Hint = push.Slow, push.Other, hintSize
	case o.Plan == push.Stop || errors.Is(err, errNoStream) || errors.Is(err, errNoList) || errors.Is(err, errNoDescription):
		o.Plan, o.Reason, o.Hint = push.Slow, push.Other, hintOther
	}
	if o.Plan == push.Done {
		return o, nil
	}
	return o, errors.New(what + ": " + c.complaint(token, a, err))
}

// Wait is how long requests rest that can wait; see [push.Throttler].
func (c *client) Wait() time.Duration { return c.throttle.left(time.Now()) }

// Close closes the connections that no request is on.
func (c *client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// exchange makes a request and follows redirects. It goes to the transport itself and not through an [http.Client],
// because the errors of that quote addresses as they came.
func (c *client) exchange(ctx context.Context, r call) (answer, error) {
	ctx, cancel := requestContext(ctx)
	defer cancel()
	for range maxRedirects + 1 {
		a, err := c.roundTrip(ctx, r)
		if err != nil || a.location == "" {
			return a, err
		}
		if r.target, err = follow(r.target, a); err != nil {
			return answer{}, err
		}
	}
	return answer{}, &redirectError{http.StatusPermanentRedirect, "itself again and again"}
}

// requestContext returns the context of a request: it outlives parent by the grace, and ends after the total timeout.
func requestContext(parent context.Context) (context.Context, context.CancelFunc) {
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

func (c *client) roundTrip(ctx context.Context, r call) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, r.target.String(), bytes.NewReader(r.body))
	if err != nil {
		return answer{}, errors.New("the address can not be requested")
	}
	maps.Copy(req.Header, c.header)
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	if r.method == http.MethodGet {
		req.Header.Set("Cache-Control", "no-cache") // what a cache before the platform holds may be older than our own push
	}
	req.Header.Set("User-Agent", "pannier")
	req.Header.Set(WorkspaceHeader, c.workspaceID)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return answer{}, causeOf(ctx, err)
	}
	defer resp.Body.Close()
	c.throttle.note(resp.StatusCode, resp.Header, time.Now())
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer{status: resp.StatusCode}, nil // what follows is the bare connection, which has no end
	}
	stop := context.AfterFunc(ctx, func() { _ = resp.Body.Close() }) // no body outlasts its request, whatever the transport does
	defer stop()
	a := readAnswer(resp, r)
	if a.broken != nil {
		a.broken = causeOf(ctx, a.broken)
	}
	return a, nil
}

// causeOf says why the context ended where that is what ended the request.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// readAnswer reads what is needed of a response. A body that breaks off changes nothing for a push: the status has been
// said. It is read so that the connection can be used again.
func readAnswer(resp *http.Response, c call) answer {
	bound := &bounded{resp.Body, c.most}
	if c.take != nil && resp.StatusCode/100 == 2 {
		return answer{status: resp.StatusCode, broken: c.take(bound)}
	}
	body, err := io.ReadAll(bound)
	a := answer{status: resp.StatusCode, body: body, broken: err}
	switch {
	case a.status/100 == 2:
		return a
	case a.status/100 == 3:
		a.location = resp.Header.Get("Location")
	}
	a.message = messageOf(body)
	a.after = retryAfter(resp.Header, time.Now())
	return a
}

// messageOf returns what an error body says.
func messageOf(body []byte) string {
	var e ErrorResponse
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.Error
}

// follow returns where a redirect leads. Only those that keep the method, to the same scheme and host, are followed:
// anybody else must not get the token.
func follow(from *url.URL, a answer) (*url.URL, error) {
	to, err := from.Parse(a.location)
	if err != nil || to.Host == "" {
		return nil, &redirectError{a.status, "an address that can not be read"}
	}
	keeps := a.status == http.StatusTemporaryRedirect || a.status == http.StatusPermanentRedirect
	if !keeps || to.User != nil || to.Scheme != from.Scheme || !strings.EqualFold(to.Host, from.Host) {
		return nil, &redirectError{a.status, (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()}
	}
	return to, nil
}
