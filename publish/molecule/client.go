package molecule

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pannier/publish/push"
)

// What a request can end with besides the errors of net/http. [Client.Call] returns errors that are one of the exported
// ones.
var (
	ErrToken    = errors.New("read token")
	ErrTooLarge = errors.New("the answer is too large")
	ErrRedirect = errors.New("redirected to another address")

	errTooLong = fmt.Errorf("no complete answer within %v: %w", totalTimeout, context.DeadlineExceeded)
	errStopped = errors.New("stopped before the platform answered")
)

type redirectError struct {
	status int
	target string // without credentials and query
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("the platform answered %d and pointed to %s", e.status, e.target)
}

func (e *redirectError) Is(err error) bool { return err == ErrRedirect }

// callError is the text of an error without secrets. It is what the error was, and does not unwrap to it.
type callError struct {
	text  string
	cause error
}

func (e *callError) Error() string { return e.text }

func (e *callError) Is(err error) bool { return errors.Is(e.cause, err) }

// Call is a request to the platform.
type Call struct {
	Method string
	Target *url.URL
	Body   []byte // JSON; nil for none
	// Limit bounds the answer, in bytes; a larger one is [ErrTooLarge].
	Limit int64
	// Timeout is of the whole request, which also ends with its context. With 0 it is 15 s, and a request in flight has
	// 2 s when its context ends.
	Timeout time.Duration

	token string
	// take, if it is set, reads a 2xx as it comes, and the body is not kept.
	take func(body io.Reader) error
}

// Answer is what is kept of a response.
type Answer struct {
	Status int
	Body   []byte
	// Message is what the platform says about an error; empty if it says nothing readable.
	Message string
	// RetryAfter is how long the platform asks to be left alone.
	RetryAfter time.Duration

	location string
	broken   error // why Body is not complete
}

// Client makes requests for one workspace of a platform. It is safe for concurrent use.
type Client struct {
	base        *url.URL
	workspaceID string
	header      http.Header
	token       func() (string, error)
	network     *network
	transport   http.RoundTripper // network; a field for the tests
	throttle    throttle
}

// NewClient returns a client. It uses the options of the connection alone; see [New]. Nothing is sent.
func NewClient(o Options) (*Client, error) {
	base, err := baseOf(o.URL)
	if err != nil {
		return nil, fmt.Errorf("platform url: %w", err)
	}
	if o.WorkspaceID == "" {
		return nil, errors.New("platform: the workspace id is missing")
	}
	header, err := headerOf(o.Header)
	if err != nil {
		return nil, fmt.Errorf("platform header: %w", err)
	}
	token := o.Token
	if token == nil {
		token = func() (string, error) { return "", nil }
	}
	network := newNetwork(o)
	return &Client{base: base, workspaceID: o.WorkspaceID, header: header, token: token, network: network, transport: network}, nil
}

// URL returns an address below that of the platform. The parts are escaped.
func (c *Client) URL(parts ...string) *url.URL {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return c.base.JoinPath(parts...)
}

// Call makes a request with the present token. Neither its errors nor the message of the answer hold a secret.
func (c *Client) Call(ctx context.Context, r Call) (Answer, error) {
	a, token, err := c.do(ctx, r)
	if err == nil {
		err = a.broken
	}
	clean := secretsOf(token, c.header).clean
	if err != nil {
		return Answer{}, &callError{clean(err.Error()), err}
	}
	a.Message = clean(a.Message)
	return a, nil
}

func (c *Client) do(ctx context.Context, r Call) (a Answer, token string, err error) {
	if token, err = c.readToken(); err != nil {
		return Answer{}, "", err
	}
	r.token = token
	a, err = c.exchange(ctx, r)
	return a, token, err
}

func (c *Client) readToken() (string, error) {
	token, err := c.token()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	return strings.TrimSpace(token), nil
}

func (c *Client) complaint(token string, a Answer, err error) string {
	return secretsOf(token, c.header).complaint(a, err)
}

// sideRequestOutcome returns the outcome of a request that is not a push. what names the request in the error.
func (c *Client) sideRequestOutcome(what, token string, a Answer, err error) (push.Outcome, error) {
	o := c.classify(a, err)
	switch {
	case errors.Is(err, ErrTooLarge):
		o.Plan, o.Reason, o.Hint = push.RetrySlowly, push.Other, hintSize
	case o.Plan == push.AwaitChange || errors.Is(err, errNoStream) || errors.Is(err, errNoList) || errors.Is(err, errNoDescription):
		o.Plan, o.Reason, o.Hint = push.RetrySlowly, push.Other, hintOther
	}
	if o.Plan == push.Done {
		return o, nil
	}
	return o, errors.New(what + ": " + c.complaint(token, a, err))
}

// Wait is how long requests rest that can wait; see [push.Throttler].
func (c *Client) Wait() time.Duration { return c.throttle.left(time.Now()) }

// Close closes the connections that no request is on.
func (c *Client) Close() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
