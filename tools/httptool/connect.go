package httptool

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pannier/tools/egress"
)

// client returns a client for one request. It has connections of its own, so that no request uses a connection that another host was
// allowed for.
func (c *Client) client(to *url.URL) (client *http.Client, closeIdle func()) {
	dialer := &net.Dialer{Timeout: MaxTimeout, Resolver: c.resolver}
	if !c.allows(to) {
		dialer.ControlContext = egress.RefusePrivate
	}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy would resolve the name, and reach what this process refuses
		DialContext:            dialer.DialContext,
		TLSClientConfig:        c.TLS.Clone(),
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 64 << 10,
		ExpectContinueTimeout:  time.Second,
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}, transport.CloseIdleConnections
}

// allows reports whether the host may have any address.
func (c *Client) allows(to *url.URL) bool {
	return slices.ContainsFunc(c.Allow, func(allowed string) bool { return isHostOf(to, allowed) })
}

// isHostOf reports whether a setting, "host" or "host:port", names the host of an address.
func isHostOf(to *url.URL, name string) bool {
	host, port := to.Hostname(), to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	return egress.IsHost(name, host, port)
}

// checkRedirect follows redirects within the origin. The answer of any other redirect is that of the call.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if next.URL.Scheme != first.Scheme || !strings.EqualFold(next.URL.Host, first.Host) || next.URL.User != nil {
		return http.ErrUseLastResponse
	}
	if len(before) >= maxRedirects {
		return &redirectsError{}
	}
	return nil
}

type redirectsError struct{}

// Error implements error.
func (*redirectsError) Error() string { return fmt.Sprintf("more than %d redirects", maxRedirects) }
