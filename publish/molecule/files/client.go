package files

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"pannier"
)

// The bounds of one request.
const (
	dialTimeout    = 5 * time.Second
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
	// Header holds further headers, such as X-Molecule-Org-Id. It must not be changed afterwards.
	Header http.Header
	// CAs are whom to trust in the place of the system's authorities; nil is those.
	CAs *x509.CertPool
}

// Client speaks to the files API for one workspace. Its methods may be called from any goroutine, one after another.
type Client struct {
	base      *url.URL // of the platform
	workspace string
	token     func() (string, error)
	header    http.Header
	transport *http.Transport
	// wait ends after a time, or with its context. A field for the tests.
	wait func(context.Context, time.Duration) error
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// New returns a client that has not connected yet. A wrong option is a [*pannier.Refusal].
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, refuse("platform.address", "the address of the platform is not http:// or https:// with a host", "write it like https://molecule.example, without a password in it")
	}
	if !uuid.MatchString(o.WorkspaceID) {
		return nil, refuse("platform.address", "the workspace id is no UUID", "give the id that the platform has for the workspace")
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	return &Client{
		base: base, workspace: strings.ToLower(o.WorkspaceID), token: o.Token, header: o.Header, wait: wait,
		transport: &http.Transport{
			Proxy: proxy, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: requestTimeout,
			MaxResponseHeaderBytes: maxErrorBytes, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.CAs},
		},
	}, nil
}

// proxy returns the proxy that the environment names, as for the agent card. Its errors would quote an address with a
// password in it.
func proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, errors.New("the proxy in the environment is not a valid URL")
	}
	return u, nil
}

// Close gives up idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// wait ends after d, or with ctx.
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

// is reports whether an error is a refusal with a code.
func is(err error, code string) bool {
	r, ok := errors.AsType[*pannier.Refusal](err)
	return ok && r.Code == code
}
