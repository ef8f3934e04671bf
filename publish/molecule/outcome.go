package molecule

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pannier/internal/fsx"
)

// plan says what follows a try.
type plan int

const (
	planDone  plan = iota // nothing, the platform has the card
	planRetry             // another try after a backoff
	planToken             // one more try at once with the token read anew, then slow ones
	planSlow              // another try about every 30 s, since it is a person who has to act
	planStop              // no try before the card changes, but one now and then
)

// The reasons of a failure, as the metrics have them.
const (
	reasonConnect      = "connect"
	reasonTimeout      = "timeout"
	reasonUnauthorized = "unauthorized"
	reasonRejected     = "rejected"
	reasonNotFound     = "not_found"
	reasonThrottled    = "throttled"
	reasonServer       = "server"
	reasonRedirect     = "redirect"
	reasonOther        = "other"
	reasonNotStored    = "not_stored" // only with read-back
)

func reasons(readBack bool) []string {
	all := []string{
		reasonConnect, reasonTimeout, reasonUnauthorized, reasonRejected, reasonNotFound,
		reasonThrottled, reasonServer, reasonRedirect, reasonOther,
	}
	if readBack {
		all = append(all, reasonNotStored)
	}
	return all
}

// What a person can do about a failure.
const (
	hintConnect   = "check the platform's url and that it runs; for a certificate that is not trusted, name its authority with --platform-ca-file (platform.ca_file), which is read again when it changes"
	hintExpired   = "renew the platform's certificate; if it is good still, set the clock of this machine"
	hintHostname  = "the platform's certificate is for other names than the one in its url; use one of them, or have a certificate made for this one"
	hintTimeout   = "the platform was reached and did not answer in time; check that it is not overloaded"
	hintToken     = "check the token file (--platform-token-file, platform.token_file): the platform makes a new token when it restarts the agent, and it is good for one workspace only"
	hintTokenForm = "put the token into a regular file, alone on one line in plain ASCII, without a byte order mark, and name that with --platform-token-file (platform.token_file)"
	hintProxy     = "requests to the platform go by the proxy that HTTP_PROXY or HTTPS_PROXY names: check that its address is right, that it runs, and that it lets this host through; or name the platform's host in NO_PROXY"
	hintProxyAuth = "the proxy that HTTP_PROXY or HTTPS_PROXY names wants credentials: write them into the variable, as http://user:password@host:port, or mend those that are there"
	hintNoProxy   = "mend the variable HTTP_PROXY or HTTPS_PROXY, as http://host:port, and restart pannier; or name the platform's host in NO_PROXY, or unset the variable. Nothing is sent past a proxy that is prescribed"
	hintConflict  = "the url is right: something else wrote the workspace's card in the meantime. What is registered is read anew before the next try; where it goes on, see what else sends cards for this workspace"
	hintCAFile    = "name a regular file with --platform-ca-file (platform.ca_file) that this user may read, with at least one certificate in PEM; it is looked at again before each request, without a restart"
	hintSwitched  = "nobody asked for another protocol: check that url and path are those of the platform, and not of an event stream or a terminal, and what a proxy before it makes of requests"
	hintReadable  = "make the token file readable for the user that pannier runs as"
	hintRejected  = "the platform will not take this card as it is; check the workspace id and what the message names. It is sent again once it changes and about every 15 minutes; a SIGHUP sends it at once"
	hintTooLarge  = "the platform or a proxy before it limits the size; shorten examples, tags and descriptions of the skills. Where the limit was raised, the card is sent again about every 15 minutes; a SIGHUP sends it at once"
	hintNotFound  = "a hosted platform answers so when the header X-Molecule-Org-Id is missing or names another organisation; else the server is too old for this endpoint or the url's path is wrong"
	hintThrottle  = "too many requests come from this address; pannier waits as long as it is told to"
	hintServer    = "the platform failed; its own log says why. A workspace id that is not a UUID has the same answer"
	hintRedirect  = "set the platform's url to where it points, if that is the platform"
	hintOther     = "check that the url is that of the platform"
	hintUnknown   = "check the workspace id: the platform answers so for workspaces that it does not know or that were removed, and drops their cards"
	hintLost      = "something else may have written the workspace's card, such as an agent that starts; where that goes on, see what else sends cards, and the platform's own log"
	hintAltered   = "the platform stores the card in another form than it was sent in, and not another card: have it store what it gets, or set read_back to false for it, which ends the reading back"
)

// outcome is what became of one try.
type outcome struct {
	plan plan
	// err is nil for planDone, and reason and hint are empty then.
	err    error
	reason string
	hint   string
	// after is how long the platform asked to be left alone, within bounds.
	after time.Duration
	// untouched says that the platform certainly did not take the card.
	untouched bool
	// refused says that nothing listens at the address, or that no route leads there.
	refused bool
}

// classify maps an answer, or the error that came instead of it, to an outcome that still lacks its error.
func (p *Publisher) classify(a answer, err error) outcome {
	o := outcomeOf(a.status)
	if err != nil {
		o = outcomeOfError(err)
	}
	if o.reason == reasonNotFound && strings.Contains(strings.ToLower(a.message), "workspace not found") {
		o.hint = hintUnknown // the route is there, and it is not the tenant that is missing
	}
	if o.hint == hintConnect && proxied(p.endpoint) {
		o.hint = hintProxy
	}
	o.after = a.after
	return o
}

func outcomeOf(status int) outcome {
	switch {
	case status/100 == 2:
		return outcome{plan: planDone}
	case status/100 == 3:
		return outcome{plan: planSlow, reason: reasonRedirect, hint: hintRedirect, untouched: true}
	case status/100 == 5:
		return outcome{plan: planRetry, reason: reasonServer, hint: hintServer}
	}
	switch status {
	case http.StatusSwitchingProtocols:
		return outcome{plan: planSlow, reason: reasonOther, hint: hintSwitched, untouched: true}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return outcome{plan: planStop, reason: reasonRejected, hint: hintRejected, untouched: true}
	case http.StatusRequestEntityTooLarge:
		return outcome{plan: planStop, reason: reasonRejected, hint: hintTooLarge, untouched: true}
	case http.StatusUnauthorized, http.StatusForbidden:
		return outcome{plan: planToken, reason: reasonUnauthorized, hint: hintToken, untouched: true}
	case http.StatusNotFound:
		return outcome{plan: planSlow, reason: reasonNotFound, hint: hintNotFound, untouched: true}
	case http.StatusProxyAuthRequired:
		return outcome{plan: planSlow, reason: reasonOther, hint: hintProxyAuth, untouched: true}
	case http.StatusConflict, http.StatusPreconditionFailed:
		return outcome{plan: planSlow, reason: reasonOther, hint: hintConflict, untouched: true}
	case http.StatusRequestTimeout:
		return outcome{plan: planRetry, reason: reasonTimeout, hint: hintTimeout}
	case http.StatusTooEarly, http.StatusTooManyRequests:
		return outcome{plan: planRetry, reason: reasonThrottled, hint: hintThrottle, untouched: true}
	}
	return outcome{plan: planSlow, reason: reasonOther, hint: hintOther, untouched: true}
}

func outcomeOfError(err error) outcome {
	redirect, redirected := errors.AsType[*redirectError](err)
	tunnel, refused := errors.AsType[*tunnelError](err)
	switch {
	case refused:
		return outcome{plan: planRetry, reason: reasonConnect, hint: tunnelHint(tunnel.status), untouched: true}
	case errors.Is(err, errProxy):
		return outcome{plan: planRetry, reason: reasonConnect, hint: hintNoProxy, untouched: true}
	case errors.Is(err, errAuthorities):
		return outcome{plan: planRetry, reason: reasonConnect, hint: hintCAFile, untouched: true}
	case redirected:
		return outcomeOf(redirect.status)
	case errors.Is(err, errToken):
		return outcome{plan: planRetry, reason: reasonUnauthorized, hint: tokenHint(err), untouched: true}
	case errors.Is(err, errEncode):
		return outcome{plan: planStop, reason: reasonRejected, hint: hintRejected, untouched: true}
	case errors.Is(err, errStopped):
		return outcome{plan: planRetry, reason: reasonOther, hint: hintTimeout}
	case isTimeout(err):
		return outcome{plan: planRetry, reason: reasonTimeout, hint: hintTimeout, untouched: isDial(err)}
	}
	return outcome{plan: planRetry, reason: reasonConnect, hint: connectHint(err), untouched: isDial(err), refused: isRefused(err)}
}

// isRefused reports whether nothing listens at an address, or no route leads there, where a try costs the platform nothing.
func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// tokenHint is what can be done where the token can not be read.
func tokenHint(err error) string {
	if errors.Is(err, fsx.ErrNotRegular) || errors.Is(err, errNotToken) {
		return hintTokenForm
	}
	return hintReadable
}

func tunnelHint(status int) string {
	if status == http.StatusProxyAuthRequired {
		return hintProxyAuth
	}
	return hintProxy
}

// connectHint is what can be done where there is no connection.
func connectHint(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return hintExpired
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return hintHostname
	}
	return hintConnect
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// isDial reports whether there never was a connection.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

// retryAfter reads the header of that name: seconds or a date (RFC 9110, 10.2.3). A date is compared with the server's own
// clock where it tells it, so that clocks which differ do no harm.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}
