package dev

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// The refusals that the real server does not have.
var (
	errBrowser     = &fault{http.StatusForbidden, "requests with an Origin or a Referer are refused: call the development platform from a program, not from a web page"}
	errForeignHost = &fault{http.StatusForbidden, "the Host is not a loopback address or localhost, and the connection came in on loopback: use the address that the development platform prints"}
	errMediaType   = &fault{http.StatusUnsupportedMediaType, "the body must be application/json: set the header Content-Type"}
)

// guard refuses what a web page can send and a program does not: an Origin or a Referer, a Host that is not loopback on a
// loopback connection (DNS rebinding), and a body of a type that needs no preflight.
func guard(r *http.Request) error {
	switch {
	case r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "":
		return errBrowser
	case arrivedOnLoopback(r) && !isLoopbackHost(r.Host):
		return errForeignHost
	case r.Method == http.MethodPost && !isJSON(r.Header.Get("Content-Type")):
		return errMediaType
	}
	return nil
}

func arrivedOnLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.IsLoopback()
}

func isLoopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}
