package files

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"
	"time"

	"pannier"
	"pannier/publish/molecule"
)

// The bounds of one request.
const (
	requestTimeout = 30 * time.Second
	maxErrorBytes  = 64 << 10
	maxAnswerBytes = 8 << 20  // of a file or a listing
	maxExportBytes = 64 << 20 // of a whole workspace
)

// Options say which workspace of which platform a [Client] is for. URL, WorkspaceID and Token are required.
type Options struct {
	// URL is the base address of the platform: http or https, without credentials, query or fragment.
	URL string
	// WorkspaceID is the platform's id of the workspace, a UUID.
	WorkspaceID string
	// Token returns the bearer token. It is called for each request.
	Token func() (string, error)
	// Header holds further headers, such as X-Molecule-Org-Id. It is copied.
	Header http.Header
	// RootCAs are trusted in place of the system's; nil is those.
	RootCAs *x509.CertPool
}

// Client sends requests to the files API for one workspace. Its methods may be called from any goroutine, one after another.
type Client struct {
	platform  *molecule.Client
	workspace string
	// wait returns after a time, or with its context. A field for the tests.
	wait func(context.Context, time.Duration) error
}

// New returns a client that has not connected yet. A wrong option is a [*pannier.Refusal].
func New(o Options) (*Client, error) {
	workspace, ok := molecule.ParseUUID(o.WorkspaceID)
	if !ok {
		return nil, refuse("platform.address", "the workspace id is not a UUID", "give the id that the platform has for the workspace")
	}
	token := func() (string, error) {
		text, err := o.Token()
		if err == nil && (text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })) {
			err = errors.New("it is empty, or holds something that no token can")
		}
		return text, err
	}
	platform, err := molecule.NewClient(molecule.Options{
		URL: o.URL, WorkspaceID: workspace, Token: token, Header: o.Header, RootCAs: o.RootCAs, HeaderTimeout: requestTimeout,
	})
	if err != nil {
		return nil, refuse("platform.address", err.Error(), "write it like https://molecule.example, without a password in it")
	}
	return &Client{platform: platform, workspace: workspace, wait: wait}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.platform.Close() }

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func refuse(code, message, hint string) error {
	return &pannier.Refusal{Code: code, Message: message, Hint: hint}
}

func is(err error, code string) bool {
	r, ok := errors.AsType[*pannier.Refusal](err)
	return ok && r.Code == code
}
