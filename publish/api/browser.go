package api

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"pannier"
)

// Browsers are the pages that may call the API over TCP. The zero value is none. A page has no other right than the
// token that it comes with: there are no cookies, and no answer allows credentials.
type Browsers struct {
	// Origins are those of other pages, as browsers send them.
	Origins []string
	Page    *Page // of the same origin; nil means none
}

// Page is a page for browsers. It is served without a token.
type Page struct {
	http.Handler
	IsPath func(path string) bool // reports whether a path is one of the page
}

// exposedHeaders are those of answers that a page of another origin may read beside the usual ones.
const exposedHeaders = "ETag, Location, Retry-After, Mcp-Session-Id"

// allowed are what a page of another origin may send.
const (
	allowedMethods = "GET, HEAD, POST, PUT, DELETE"
	allowedHeaders = "Authorization, Content-Type, Accept, If-None-Match, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, " + ScopeHeader
)

// admit refuses requests of pages that may not call, and takes from the others what marks them as such. It reports
// whether the request is answered: a preflight is.
func (b *Browsers) admit(w http.ResponseWriter, r *http.Request) (answered bool, err error) {
	origins, own := r.Header["Origin"], "http://"+r.Host
	if r.TLS != nil {
		own = "https://" + r.Host
	}
	switch header := w.Header(); {
	case len(origins) == 0:
		return false, admitProgram(r)
	case len(origins) > 1:
		return false, errBrowser
	case b.Page != nil && origins[0] == own && b.knowsHost(r):
	case slices.Contains(b.Origins, origins[0]):
		header.Set("Access-Control-Allow-Origin", origins[0])
		header.Set("Access-Control-Expose-Headers", exposedHeaders)
		header.Add("Vary", "Origin")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			break
		}
		header.Set("Access-Control-Allow-Methods", allowedMethods)
		header.Set("Access-Control-Allow-Headers", allowedHeaders)
		header.Set("Access-Control-Max-Age", "600")
		if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
			header.Set("Access-Control-Allow-Private-Network", "true")
		}
		DropBody(w, r)
		w.WriteHeader(http.StatusNoContent)
		return true, nil
	default:
		return false, errBrowser
	}
	for name := range r.Header {
		if name == "Origin" || name == "Referer" || name == "Cookie" || strings.HasPrefix(name, "Sec-Fetch-") {
			r.Header.Del(name)
		}
	}
	return false, nil
}

// knowsHost refuses names that were made to point here. With TLS, a browser has compared the name with the
// certificate. Without, it has to be a loopback name, or that of an allowed origin, which a proxy with TLS has.
func (b *Browsers) knowsHost(r *http.Request) bool {
	return r.TLS != nil || IsLoopbackHost(r.Host) || slices.ContainsFunc(b.Origins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err == nil && u.Host == r.Host
	})
}

// IsLoopbackHost reports whether a Host, with or without a port, is a name of this machine that no name server
// decides about.
func IsLoopbackHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	switch inner, bracketed := strings.CutPrefix(host, "["); {
	case err == nil && strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' }):
		return false
	case err == nil:
	case bracketed && strings.HasSuffix(inner, "]"):
		name = strings.TrimSuffix(inner, "]")
	case strings.Contains(host, ":"):
		return false
	default:
		name = host
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback()
}

var errHost = &pannier.Refusal{
	Code: "host_refused", Message: "requests for another host than this machine are refused",
	Hint: "use localhost, or serve the API with TLS",
}

// servePage answers a request for the page. Others' links may lead to it, and what they do with it its headers forbid.
func (h *Handler) servePage(b *Browsers, w http.ResponseWriter, r *http.Request) {
	counted := &countingWriter{ResponseWriter: w, status: http.StatusOK}
	DropBody(counted, r)
	if !b.knowsHost(r) {
		h.fail(counted, r, h.deny(r, errHost))
	} else {
		b.Page.ServeHTTP(counted, r)
	}
	h.metrics.count("", counted.status)
	h.logRequest(r, counted.status)
}
