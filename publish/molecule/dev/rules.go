package dev

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"unicode/utf8"
)

// refusedNetworks are those that no agent may be registered in, beside private ones, loopback, link-local and multicast.
var refusedNetworks = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"),   // carriers' NAT
	netip.MustParsePrefix("192.0.2.0/24"),    // for documents
	netip.MustParsePrefix("198.51.100.0/24"), // for documents
	netip.MustParsePrefix("203.0.113.0/24"),  // for documents
}

// mayRegister reports whether an agent may be at a URL: http or https, and no address that leads into the platform's own
// network. The name localhost is allowed; other names are taken as they are, since looking them up would make the answer
// depend on the machine.
func mayRegister(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return true
	}
	addr = addr.Unmap().WithZone("")
	return !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && !addr.IsMulticast() && !addr.IsPrivate() &&
		!slices.ContainsFunc(refusedNetworks, func(network netip.Prefix) bool { return network.Contains(addr) })
}

var (
	// goodEscapes are pairs of surrogates, and escapes that are not of a code unit.
	goodEscapes = regexp.MustCompile(`\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\[^u]`)
	badEscape   = regexp.MustCompile(`\\u(0000|[dD][89a-fA-F])`)
)

// storable reports whether a database could store the JSON value: it is UTF-8, and no escape in it stands for a NUL or
// for half of a surrogate pair. card must be valid JSON, so that a backslash is always the start of an escape.
func storable(card []byte) bool {
	return utf8.Valid(card) && !badEscape.Match(goodEscapes.ReplaceAll(card, nil))
}
