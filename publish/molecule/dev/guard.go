package dev

import (
	"errors"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// The texts of refusals that the real server does not have.
const (
	textBrowser     = "requests with an Origin or a Referer are refused: call the development platform from a program, not from a web page"
	textForeignHost = "the Host is not a loopback address or localhost, and the connection came in on loopback: use the address that the development platform prints"
	textMediaType   = "the body must be application/json: set the header Content-Type"
	textBusy        = "too many bytes are in flight: retry in a second"
)

// guard refuses what a web page can send and a program does not: an Origin or a Referer, a Host that is not loopback on a
// loopback connection (DNS rebinding), and a body of a type that needs no preflight. It returns 0 for every other request.
func guard(r *http.Request) (status int, text string) {
	switch {
	case r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "":
		return http.StatusForbidden, textBrowser
	case arrivedOnLoopback(r) && !isLoopbackHost(r.Host):
		return http.StatusForbidden, textForeignHost
	case r.Method == http.MethodPost && !isJSON(r.Header.Get("Content-Type")):
		return http.StatusUnsupportedMediaType, textMediaType
	}
	return 0, ""
}

// arrivedOnLoopback reports whether the connection of a request ends at a loopback address of this machine.
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

// errBusy says that the bodies and answers in flight use up their bound.
var errBusy = errors.New(textBusy)

// reserve counts bytes that a request holds in memory, until release is called. It fails with [errBusy] where others hold
// too many.
func (p *Platform) reserve(bytes int64) (release func(), err error) {
	bytes = min(bytes, maxInFlightBytes)
	if !p.inFlight.TryAcquire(bytes) {
		return nil, errBusy
	}
	return func() { p.inFlight.Release(bytes) }, nil
}

// reserveBody counts the body of a request: its length, or the most that it may have where it does not say.
func (p *Platform) reserveBody(r *http.Request) (release func(), err error) {
	if r.ContentLength >= 0 {
		return p.reserve(min(r.ContentLength, maxBodyBytes))
	}
	return p.reserve(maxBodyBytes)
}
