package dev

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseUUID returns the lower-case form of a UUID of 8-4-4-4-12 hexadecimal digits.
func parseUUID(text string) (string, bool) {
	if len(text) != 36 {
		return "", false
	}
	for i, c := range []byte(text) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		if hyphen != (c == '-') || !hyphen && !isHex(c) {
			return "", false
		}
	}
	return strings.ToLower(text), true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// refusedNetworks are those that no agent may be registered in, loopback, link-local and multicast besides.
var refusedNetworks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),   // carriers' NAT
	netip.MustParsePrefix("192.0.2.0/24"),    // for documents
	netip.MustParsePrefix("198.51.100.0/24"), // for documents
	netip.MustParsePrefix("203.0.113.0/24"),  // for documents
	netip.MustParsePrefix("fc00::/7"),        // unique local
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
	return err != nil || !refusedAddr(addr.Unmap().WithZone(""))
}

func refusedAddr(addr netip.Addr) bool {
	if addr.IsLoopback() || addr.IsLinkLocalUnicast() || addr.IsMulticast() {
		return true
	}
	for _, network := range refusedNetworks {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// storable reports whether a database could store the JSON value: it is UTF-8, and no escape in it stands for a NUL or
// for half of a surrogate pair. card must be valid JSON, so that a backslash is always the start of an escape.
func storable(card []byte) bool {
	if !utf8.Valid(card) {
		return false
	}
	for i := 0; i < len(card); i++ {
		if card[i] != '\\' {
			continue
		}
		size, ok := escape(card[i:])
		if !ok {
			return false
		}
		i += size - 1
	}
	return true
}

// escape returns the size of the escape that b begins with, both halves of a pair together, and whether it stands for
// something that can be stored.
func escape(b []byte) (size int, ok bool) {
	unit, ok := utf16Unit(b)
	switch {
	case !ok:
		return 2, true
	case unit == 0, 0xDC00 <= unit && unit <= 0xDFFF:
		return 0, false
	case unit < 0xD800 || unit > 0xDFFF:
		return 6, true
	}
	low, ok := utf16Unit(b[6:])
	return 12, ok && 0xDC00 <= low && low <= 0xDFFF
}

// utf16Unit returns the code unit of the \uXXXX that b begins with.
func utf16Unit(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return unit, err == nil
}
