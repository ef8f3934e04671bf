package httptool

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// refusedError says that an address may not be reached.
type refusedError struct{ message string }

// Error implements error.
func (e *refusedError) Error() string { return e.message }

// client returns a client for one request. It has connections of its own, so that no request uses a connection that another host was
// allowed for.
func (c *Client) client(to *url.URL) (client *http.Client, closeIdle func()) {
	dialer := &net.Dialer{Timeout: MaxTimeout, Resolver: c.resolver}
	if !c.allows(to) {
		dialer.ControlContext = refusePrivate
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
	return strings.EqualFold(name, host) || strings.EqualFold(name, "["+host+"]") || strings.EqualFold(name, net.JoinHostPort(host, port))
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

// refusePrivate looks at the address that is connected to, so that no name, however it is resolved, leads elsewhere.
func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(at.Addr()) {
		return &refusedError{"the address of the host is not public"}
	}
	return nil
}

// notPublic are the special-purpose blocks (RFC 6890, and the registries of IANA), and those in which an IPv4 address is
// embedded.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // the metadata of Azure
	"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) (blocks []netip.Prefix) {
	for _, text := range texts {
		blocks = append(blocks, netip.MustParsePrefix(text))
	}
	return blocks
}

// isPublic reports whether an address is one of the internet.
func isPublic(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap() // the kernel sends to a mapped address over IPv4
	return ip.IsGlobalUnicast() && !slices.ContainsFunc(notPublic, func(block netip.Prefix) bool { return block.Contains(ip) })
}
