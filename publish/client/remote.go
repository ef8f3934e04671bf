package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Remote is a sidecar that is reached over TCP.
type Remote struct {
	// URL is its base address: http or https, a host and a port, and nothing after it.
	URL string
	// Token returns the token to come in with. It is called for each request.
	Token func() (string, error)
	// CAs are whom to trust in the place of the system's authorities; nil is those.
	CAs *x509.CertPool
}

// NewRemote returns a client of a sidecar that is reached over TCP. It does not connect yet. No redirect is followed, no proxy
// is asked, and no error holds the token.
func NewRemote(r Remote) (*Client, error) {
	base, err := r.base()
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: remoteTimeout}
	return &Client{HTTP: http.Client{
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &tokenTransport{base: base, token: r.token, next: &http.Transport{
			IdleConnTimeout: time.Minute, DialContext: dialer.DialContext, TLSHandshakeTimeout: remoteTimeout,
			TLSClientConfig: r.tls(),
		}},
	}}, nil
}

// remoteTimeout is how long a connection may take, and a TLS handshake after it.
const remoteTimeout = 5 * time.Second

func (r Remote) tls() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.CAs} }

func (r Remote) base() (*url.URL, error) {
	base, err := url.Parse(r.URL)
	if err != nil {
		return nil, errors.New("the address is not a URL") // what Parse says shows it, and there may be a password in it
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil || strings.Trim(base.Path, "/") != "" || base.RawQuery != "" {
		return nil, errors.New("the address is not http:// or https:// with a host and a port alone")
	}
	return base, nil
}

// token returns the token to come in with.
func (r Remote) token() (string, error) {
	text, err := r.Token()
	if err == nil && (text == "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })) {
		err = errors.New("it is empty, or holds something that no token can")
	}
	if err != nil {
		return "", fmt.Errorf("read the token: %v", err) // not %w: a missing file does not mean that no sidecar answers
	}
	return text, nil
}

type tokenTransport struct {
	base  *url.URL
	token func() (string, error)
	next  *http.Transport
}

func (t *tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := t.token()
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	sent := req.Clone(req.Context())
	sent.URL.Scheme, sent.URL.Host, sent.Host = t.base.Scheme, t.base.Host, t.base.Host
	sent.Header.Set("Authorization", "Bearer "+text)
	return t.next.RoundTrip(sent)
}

// CloseIdleConnections is what [http.Client.CloseIdleConnections] calls.
func (t *tokenTransport) CloseIdleConnections() { t.next.CloseIdleConnections() }
