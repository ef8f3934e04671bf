// Package egress decides which hosts tools reach: http tools by [RefusePrivate], programs of tools by a [Proxy].
//
// A program that may reach some hosts has no network but its own loopback, where a proxy of the runner listens. So the proxy has the
// network of the container that the program runs in, with the names and the policies of that container.
package egress

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// RefusedError says that an address may not be reached.
type RefusedError struct{}

// Error implements error.
func (*RefusedError) Error() string { return "the address of the host is not public" }

// RefusePrivate is a control function of [net.Dialer]. It looks at the address that is connected to, so that no name, however it is
// resolved, leads elsewhere.
func RefusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !IsPublic(at.Addr()) {
		return &RefusedError{}
	}
	return nil
}

// IsHost reports whether a setting, "host" or "host:port", names a host with a port. A setting without a port names each port.
func IsHost(setting, host, port string) bool {
	return strings.EqualFold(setting, host) || strings.EqualFold(setting, "["+host+"]") || strings.EqualFold(setting, net.JoinHostPort(host, port))
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

// IsPublic reports whether an address is one of the internet.
func IsPublic(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap() // the kernel sends to a mapped address over IPv4
	return ip.IsGlobalUnicast() && !slices.ContainsFunc(notPublic, func(block netip.Prefix) bool { return block.Contains(ip) })
}

// split returns the host and the port of an address, in the form of the settings.
func split(address, usualPort string) (host, port string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), usualPort
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), cmp.Or(port, usualPort)
}
