package molecule

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/push"
)

// What an operator can do about a failure.
const (
	hintConnect   = "check the platform's url and that it runs; for a certificate that is not trusted, name its authority with --platform-ca-file (platform.ca_file), which is read again when it changes"
	hintExpired   = "renew the platform's certificate; if it is good still, set the clock of this machine"
	hintHostname  = "the platform's certificate is for other names than the one in its url; use one of them, or have a certificate made for this one"
	hintTimeout   = "the platform was reached and did not answer in time; check that it is not overloaded"
	hintToken     = "check the token file (--platform-token-file, platform.token_file): the platform makes a new token when it restarts the agent, and it is good for one workspace only"
	hintTokenForm = "put the token into a regular file, alone on one line in plain ASCII, without a byte order mark, and name that with --platform-token-file (platform.token_file)"
	hintProxy     = "requests to the platform go by the proxy that HTTP_PROXY or HTTPS_PROXY names: check that its address is right, that it runs, and that it lets this host through; or name the platform's host in NO_PROXY"
	hintProxyAuth = "the proxy that HTTP_PROXY or HTTPS_PROXY names wants credentials: write them into the variable, as http://user:password@host:port, or fix those that are there"
	hintNoProxy   = "fix the variable HTTP_PROXY or HTTPS_PROXY, as http://host:port, and restart pannier; or name the platform's host in NO_PROXY, or unset the variable. A configured proxy is never bypassed"
	hintConflict  = "the url is right: something else wrote the workspace's card in the meantime. The registered card is read again before the next attempt; if it goes on, see what else sends cards for this workspace"
	hintCAFile    = "name a regular file with --platform-ca-file (platform.ca_file) that this user may read, with at least one certificate in PEM; it is read again before each request, without a restart"
	hintSwitched  = "pannier did not ask for another protocol: check that url and path are those of the platform, and not of an event stream or a terminal, and what a proxy before it makes of requests"
	hintReadable  = "make the token file readable for the user that pannier runs as"
	hintOwner     = "run pannier as uid %d, which owns the token file: an agent that starts writes it again, readable for itself alone"
	hintRejected  = "the platform will not take this card as it is; check the workspace id and what the message names. It is sent again once it changes and about every 15 minutes; a SIGHUP sends it at once"
	hintTooLarge  = "the platform or a proxy before it limits the size; shorten examples, tags and descriptions of the skills. Where the limit was raised, the card is sent again about every 15 minutes; a SIGHUP sends it at once"
	hintNotFound  = "a hosted platform answers so when the header X-Molecule-Org-Id is missing or names another organisation; else the server is too old for this endpoint or the url's path is wrong"
	hintThrottle  = "too many requests come from this address; pannier waits as long as the answer asks, 5 minutes at most"
	hintServer    = "the platform failed; its own log says why. A workspace id that is not a UUID has the same answer"
	hintRedirect  = "set the platform's url to where it points, if that is the platform"
	hintOther     = "check that the url is that of the platform"
	hintUnknown   = "check the workspace id: the platform answers so for workspaces that it does not know or that were removed, and drops their cards"
	hintLost      = "something else may have written the workspace's card, such as an agent that starts; if that goes on, see what else sends cards, and the platform's own log. A platform that stores cards in another form than they were sent in needs platform.follow: off"
	hintNoStream  = "nothing is lost: the card is checked and the peers are read every five minutes. If the platform has no event stream, set platform.follow to read_back; a hosted one answers so when the header X-Molecule-Org-Id is missing"
	hintSize      = "the answer is larger than pannier reads: see which workspace publishes a card of many megabytes, and have it made smaller"
	hintNoPeers   = "the platform does not know the workspace, or has no list of peers; a hosted one answers so when the header X-Molecule-Org-Id is missing"
)

func (c *Client) classify(a Answer, err error) push.Outcome {
	o := outcomeOf(a.Status)
	if err != nil {
		o = outcomeOfError(err)
	}
	if o.Reason == push.NotFound && strings.Contains(strings.ToLower(a.Message), "workspace not found") {
		o.Hint = hintUnknown // the route is there, and it is not the tenant that is missing
	}
	if proxy, _ := http.ProxyFromEnvironment(&http.Request{URL: c.base}); proxy != nil && o.Hint == hintConnect {
		o.Hint = hintProxy
	}
	o.After = a.RetryAfter
	if a.Status == http.StatusTooManyRequests && o.After == 0 {
		o.After = throttleLeast // the first steps of the backoff would use up what is left to the agents
	}
	return o
}

// outcomes are what follows an answer: by its status, else by its class, else that of 0.
var outcomes = map[int]push.Outcome{
	0:                                {Plan: push.RetrySlowly, Reason: push.Other, Hint: hintOther, Untouched: true},
	2:                                {Plan: push.Done},
	3:                                {Plan: push.RetrySlowly, Reason: push.Redirect, Hint: hintRedirect, Untouched: true},
	5:                                {Plan: push.Retry, Reason: push.Server, Hint: hintServer},
	http.StatusSwitchingProtocols:    {Plan: push.RetrySlowly, Reason: push.Other, Hint: hintSwitched, Untouched: true},
	http.StatusBadRequest:            {Plan: push.AwaitChange, Reason: push.Rejected, Hint: hintRejected, Untouched: true},
	http.StatusUnprocessableEntity:   {Plan: push.AwaitChange, Reason: push.Rejected, Hint: hintRejected, Untouched: true},
	http.StatusRequestEntityTooLarge: {Plan: push.AwaitChange, Reason: push.Rejected, Hint: hintTooLarge, Untouched: true},
	http.StatusUnauthorized:          {Plan: push.RetryWithToken, Reason: push.Unauthorized, Hint: hintToken, Untouched: true},
	http.StatusForbidden:             {Plan: push.RetryWithToken, Reason: push.Unauthorized, Hint: hintToken, Untouched: true},
	http.StatusNotFound:              {Plan: push.RetrySlowly, Reason: push.NotFound, Hint: hintNotFound, Untouched: true},
	http.StatusProxyAuthRequired:     {Plan: push.RetrySlowly, Reason: push.Other, Hint: hintProxyAuth, Untouched: true},
	http.StatusConflict:              {Plan: push.RetrySlowly, Reason: push.Other, Hint: hintConflict, Untouched: true},
	http.StatusPreconditionFailed:    {Plan: push.RetrySlowly, Reason: push.Other, Hint: hintConflict, Untouched: true},
	http.StatusRequestTimeout:        {Plan: push.Retry, Reason: push.Timeout, Hint: hintTimeout},
	http.StatusTooEarly:              {Plan: push.Retry, Reason: push.Throttled, Hint: hintThrottle, Untouched: true},
	http.StatusTooManyRequests:       {Plan: push.Retry, Reason: push.Throttled, Hint: hintThrottle, Untouched: true},
}

func outcomeOf(status int) push.Outcome {
	for _, key := range []int{status, status / 100} {
		if o, ok := outcomes[key]; ok {
			return o
		}
	}
	return outcomes[0]
}

func outcomeOfError(err error) push.Outcome {
	if tunnel, ok := errors.AsType[*tunnelError](err); ok {
		o := push.Outcome{Plan: push.Retry, Reason: push.Connect, Hint: hintProxy, Untouched: true}
		if tunnel.status == http.StatusProxyAuthRequired {
			o.Hint = hintProxyAuth
		}
		return o
	}
	if redirect, ok := errors.AsType[*redirectError](err); ok {
		return outcomeOf(redirect.status)
	}
	switch {
	case errors.Is(err, errProxy):
		return push.Outcome{Plan: push.Retry, Reason: push.Connect, Hint: hintNoProxy, Untouched: true}
	case errors.Is(err, errAuthorities):
		return push.Outcome{Plan: push.Retry, Reason: push.Connect, Hint: hintCAFile, Untouched: true}
	case errors.Is(err, ErrToken):
		return push.Outcome{Plan: push.Retry, Reason: push.Unauthorized, Hint: tokenHint(err), Untouched: true}
	case errors.Is(err, errStopped):
		return push.Outcome{Plan: push.Retry, Reason: push.Other, Hint: hintTimeout}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return push.Outcome{Plan: push.Retry, Reason: push.Timeout, Hint: hintTimeout, Untouched: isDial(err)}
	}
	o := push.Outcome{Plan: push.Retry, Reason: push.Connect, Hint: hintConnect, Untouched: isDial(err)}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		o.Hint = hintExpired
	} else if _, ok := errors.AsType[x509.HostnameError](err); ok {
		o.Hint = hintHostname
	}
	// Nothing listens there, or no route leads there, so an attempt costs the platform nothing.
	o.Refused = errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	return o
}

func tokenHint(err error) string {
	if refused, ok := errors.AsType[*pannier.Refusal](err); ok {
		return refused.Hint
	}
	if _, malformed := errors.AsType[formError](err); malformed || errors.Is(err, fsx.ErrNotRegular) {
		return hintTokenForm
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrPermission) {
		if info, err := os.Stat(failed.Path); err == nil {
			if owner, ok := info.Sys().(*syscall.Stat_t); ok {
				return fmt.Sprintf(hintOwner, owner.Uid)
			}
		}
	}
	return hintReadable
}

func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

// withoutRoute is the outcome of a request to a route that may be missing, which does not change within minutes.
func withoutRoute(o push.Outcome, status int, hint string) push.Outcome {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented:
		o.Plan = push.NoService
	}
	if o.Reason == push.NotFound {
		o.Hint = hint
	}
	return o
}

const maxRetryAfter = 5 * time.Minute

// retryAfter reads the header of that name: seconds or a date (RFC 9110, 10.2.3). A date is compared with the server's
// own clock if the answer has it, since clocks differ.
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
