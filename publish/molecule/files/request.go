package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pannier/publish/molecule"
)

// How often a request is sent that is one too many, and the longest wait between.
const (
	maxTries = 3
	maxWait  = time.Minute
)

// ask makes a request and decodes the answer into value, unless that is nil. An answer that is not a success is a refusal.
func (c *Client) ask(ctx context.Context, do molecule.Call, value any) error {
	for try := 1; ; try++ {
		a, err := c.call(ctx, do)
		if err != nil {
			return err
		}
		if a.Status == http.StatusTooManyRequests && try < maxTries {
			if err := c.wait(ctx, min(max(a.RetryAfter, time.Second), maxWait)); err != nil {
				return fmt.Errorf("wait for the platform: %w", err)
			}
			continue
		}
		if a.Status/100 != 2 {
			return refusalOf(a)
		}
		if value == nil {
			return nil
		}
		if err := json.Unmarshal(a.Body, value); err != nil {
			return refuse("platform.answer", "the platform's answer is not the JSON that it should be", "check that the address is that of a Molecule platform")
		}
		return nil
	}
}

func (c *Client) call(ctx context.Context, do molecule.Call) (molecule.Answer, error) {
	do.Timeout = requestTimeout
	a, err := c.platform.Call(ctx, do)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	case errors.Is(err, molecule.ErrToken):
		return a, refuse("platform.token", "read the token"+strings.TrimPrefix(err.Error(), molecule.ErrToken.Error()), "name the file that holds the workspace's token with --token-file")
	case errors.Is(err, molecule.ErrTooLarge):
		return a, refuse("platform.answer", fmt.Sprintf("the platform's answer has more than %d bytes", do.Limit), "check that the address is that of a Molecule platform")
	case errors.Is(err, molecule.ErrRedirect):
		return a, refuse("platform.redirect", err.Error()+", which is not followed: the token is for this address", "give the address that the platform itself is at")
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no complete answer within %v", requestTimeout)
	}
	return a, refuse("platform.unreachable", "the platform cannot be reached: "+err.Error(), "check its address, and that it runs")
}

func refusalOf(a molecule.Answer) error {
	said := fmt.Sprintf("the platform answered %d", a.Status)
	if a.Message != "" {
		said += ": " + a.Message
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		return refuse("platform.unauthorized", said, "the token has to be this workspace's own and of now: the platform replaces it whenever it restarts the agent")
	case a.Status == http.StatusForbidden:
		return refuse("platform.forbidden", said, "use a token that may do this; a hosted platform also wants the tenant, PANNIER_PLATFORM_HEADER=X-Molecule-Org-Id=…")
	case a.Status == http.StatusNotFound:
		return refuse("platform.not_found", said, "check --workspace-id and --url; a hosted platform answers this where the tenant is missing, PANNIER_PLATFORM_HEADER=X-Molecule-Org-Id=…; others do where the workspace does not run")
	case a.Status == http.StatusTooManyRequests:
		return refuse("platform.busy", said, "try again in a minute; the platform counts all clients behind one address together")
	}
	return refuse("platform.answer", said, "check the platform's log")
}
