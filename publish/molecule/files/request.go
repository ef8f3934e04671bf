package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How often a request is sent that is one too many, and the longest wait between.
const (
	maxTries = 3
	maxWait  = time.Minute
)

// call is a request.
type call struct {
	method string
	target *url.URL
	body   []byte // nil for none
	most   int64  // bytes of an answer
}

// ask makes a request and decodes the answer into value, unless that is nil. An answer that is no success is a refusal.
func (c *Client) ask(ctx context.Context, do call, value any) error {
	for try := 1; ; try++ {
		a, err := c.exchange(ctx, do)
		if err != nil {
			return err
		}
		if a.status == http.StatusTooManyRequests && try < maxTries {
			if err := c.wait(ctx, a.after); err != nil {
				return fmt.Errorf("wait for the platform: %w", err)
			}
			continue
		}
		if a.status/100 != 2 {
			return a.refusal()
		}
		if value == nil {
			return nil
		}
		if err := json.Unmarshal(a.body, value); err != nil {
			return refuse("platform.answer", "the platform's answer is not the JSON that it should be", "look whether the address is that of a Molecule platform")
		}
		return nil
	}
}

// answer is what is kept of a response.
type answer struct {
	status  int
	body    []byte
	message string // what the platform says about an error, without secrets
	after   time.Duration
}

// exchange makes one request. It goes to the transport itself and not through an [http.Client]: no redirect is followed, and
// no error quotes an address.
func (c *Client) exchange(ctx context.Context, do call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	token, err := c.token()
	if err == nil && (token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		err = errors.New("it is empty, or holds something that no token can")
	}
	if err != nil {
		return answer{}, refuse("platform.token", "read the token: "+err.Error(), "name the file that holds the workspace's token with --token-file")
	}
	req, err := c.request(ctx, do, token)
	if err != nil {
		return answer{}, refuse("platform.address", "the address can not be requested", "look at the address of the platform")
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return answer{}, unreachable(ctx, c.clean(token, err.Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer{status: resp.StatusCode}, nil // what follows is the bare connection, which has no end
	}
	stop := context.AfterFunc(ctx, func() { _ = resp.Body.Close() }) // no body outlasts its request, whatever the transport does
	defer stop()
	return c.read(ctx, resp, do.most, token)
}

func (c *Client) request(ctx context.Context, do call, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, do.method, do.target.String(), bytes.NewReader(do.body))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.header)
	if do.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "pannier")
	req.Header.Set("Authorization", "Bearer "+token)
	return req, nil
}

func (c *Client) read(ctx context.Context, resp *http.Response, most int64, token string) (answer, error) {
	if resp.StatusCode/100 != 2 {
		most = maxErrorBytes
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return answer{}, unreachable(ctx, c.clean(token, err.Error()))
	}
	if int64(len(body)) > most {
		return answer{}, refuse("platform.answer", fmt.Sprintf("the platform's answer has more than %d bytes", most), "look whether the address is that of a Molecule platform")
	}
	a := answer{status: resp.StatusCode, body: body, after: after(resp.Header)}
	var told struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &told) == nil {
		a.message = c.clean(token, told.Error)
	}
	return a, nil
}

// after returns how long the platform asks to be left alone.
func after(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		seconds = 1
	}
	return time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second
}

// clean takes what was sent in confidence out of what the other side says, and brings it on one line of bounded length. It
// is cut last: a secret that was cut in two could not be found.
func (c *Client) clean(token, text string) string {
	const most, short = 300, 4 // a shorter value is no secret, and hiding it would leave nothing readable
	secrets := []string{token}
	for _, values := range c.header {
		secrets = append(secrets, values...)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if len(secret) >= short {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func unreachable(ctx context.Context, why string) error {
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		why = fmt.Sprintf("no complete answer within %v", requestTimeout)
	} else if cause != nil {
		return cause
	}
	return refuse("platform.unreachable", "the platform can not be asked: "+why, "look at its address, and whether it runs")
}

// refusal says what an answer that is no success means.
func (a answer) refusal() error {
	said := fmt.Sprintf("the platform answered %d", a.status)
	if a.message != "" {
		said += ": " + a.message
	}
	switch {
	case a.status == http.StatusUnauthorized:
		return refuse("platform.unauthorized", said, "the token has to be this workspace's own and of now: the platform replaces it whenever it restarts the agent")
	case a.status == http.StatusForbidden:
		return refuse("platform.forbidden", said, "use a token that may do this; a hosted platform also wants the tenant, --platform-header X-Molecule-Org-Id=…")
	case a.status == http.StatusNotFound:
		return refuse("platform.not_found", said, "look at --workspace-id and at --url; a hosted platform answers this where the tenant is missing, --platform-header X-Molecule-Org-Id=…; others do where the workspace does not run")
	case a.status/100 == 3:
		return refuse("platform.redirect", said+", and points elsewhere, which is not followed: the token is for this address", "give the address that the platform itself is at")
	case a.status == http.StatusTooManyRequests:
		return refuse("platform.busy", said, "try again in a minute; the platform counts everybody behind one address together")
	}
	return refuse("platform.answer", said, "look at the platform's log")
}
