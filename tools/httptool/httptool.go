// Package httptool carries calls of http tools out, by their declarations ([httpspec]). It runs in the sidecar only, because secrets
// never reach a runner.
//
// Addresses that are not public are refused when the connection is made, after the name was resolved, unless the operator allows the
// host. No proxy is used. Redirects are followed within the origin.
package httptool

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pannier"
	"pannier/loader/httpspec"
	"pannier/tools/egress"
	"pannier/tools/output"
)

// The bounds of a call.
const (
	// MaxBody is the most that is read of an answer.
	MaxBody       = 256 << 10
	maxRedirects  = 5
	maxSecretSize = 64 << 10
	// DefaultTimeout and MaxTimeout bound a call as a whole.
	DefaultTimeout = 20 * time.Second
	MaxTimeout     = 300 * time.Second
)

// Secret is a value that may stand in a header of requests to one host, by tools of some skills.
type Secret struct {
	Name, Host string
	Skills     []string // slugs
	// Read returns the value. It is called for each request that has it.
	Read func() (string, error)
}

// Options are what a client is made of.
type Options struct {
	// Allow names hosts that may have an address that is not public: "host", or "host:port".
	Allow   []string
	Secrets []Secret
	// TLS is used for https; nil trusts the authorities of the system.
	TLS *tls.Config
}

// Client carries calls out. It is for any number of callers, and keeps no connection between calls.
type Client struct {
	Options
	resolver *net.Resolver // nil but in tests
}

// New returns a client.
func New(o Options) *Client { return &Client{Options: o} }

// Call is one call of a tool.
type Call struct {
	ID, Name string
	Skill    string // slug
	// Config is what the skill declares, Arguments an object that its schema has accepted.
	Config, Arguments json.RawMessage
	// Timeout bounds the call; 0 is DefaultTimeout.
	Timeout time.Duration
	// OutputBytes bounds the output; 0 is MaxBody.
	OutputBytes int64
}

// Run carries a call out. What goes wrong is in the result.
func (c *Client) Run(ctx context.Context, call Call) pannier.ToolResult {
	result := pannier.ToolResult{Name: call.Name, CallID: call.ID, Kind: pannier.RuntimeHTTP}
	begun := time.Now()
	if failed := c.run(ctx, &call, &result); failed != nil {
		result.OK, result.Error = false, failed
	}
	result.DurationMS = time.Since(begun).Milliseconds()
	return result
}

var errTimedOut = errors.New("the call has timed out")

func (c *Client) run(ctx context.Context, call *Call, result *pannier.ToolResult) *pannier.ToolError {
	d, err := httpspec.Parse(call.Config)
	if err != nil {
		return toolError(pannier.ToolHTTPRefused, err.Error(), "correct config of the tool")
	}
	timeout := min(cmp.Or(call.Timeout, DefaultTimeout), MaxTimeout)
	if d.Timeout > 0 {
		timeout = min(timeout, time.Duration(min(d.Timeout, MaxTimeout.Milliseconds()))*time.Millisecond)
	}
	call.Timeout = timeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimedOut)
	defer cancel()
	request, failed := d.Request(ctx, call.Arguments)
	if failed != nil {
		return failed
	}
	mask, failed := c.setHeaders(request, call.Skill, d)
	if failed != nil {
		return failed
	}
	client, closeIdle := c.client(request.URL)
	defer closeIdle()
	response, err := client.Do(request)
	if err != nil {
		return c.failure(ctx, err, mask, call, result)
	}
	defer response.Body.Close()
	return c.receive(ctx, response, call, mask, result)
}

// receive reads an answer.
func (c *Client) receive(ctx context.Context, response *http.Response, call *Call, mask *output.Mask, result *pannier.ToolResult) *pannier.ToolError {
	result.StatusCode = &response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxBody+1))
	if len(body) > MaxBody {
		body, result.Truncated = body[:MaxBody], true
	}
	sink := output.NewSink(cmp.Or(call.OutputBytes, MaxBody), mask, nil)
	sink.Write(body)
	if !result.Truncated && err == nil { // the beginning of a secret at the end is dropped with the rest
		sink.Close()
	}
	result.Output = sink.Text()
	result.Truncated = result.Truncated || sink.Truncated()
	switch {
	case err != nil && !result.Truncated:
		return c.failure(ctx, err, mask, call, result)
	case response.StatusCode >= http.StatusBadRequest:
		return toolError(pannier.ToolHTTPFailed, "the server answered "+output.Clean([]byte(mask.String(response.Status))), "look at the output, and at the arguments")
	case response.StatusCode >= http.StatusMultipleChoices && response.Header.Get("Location") != "":
		return toolError(pannier.ToolHTTPRefused, "the server redirects to another origin", "write the address that it redirects to into config.url")
	}
	result.OK = true
	if text := strings.TrimSpace(result.Output); !result.Truncated && json.Valid([]byte(text)) {
		result.Structured = json.RawMessage(text)
	}
	return nil
}

// failure says why there is no answer, without the address, which can hold arguments.
func (c *Client) failure(ctx context.Context, err error, mask *output.Mask, call *Call, result *pannier.ToolResult) *pannier.ToolError {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	switch {
	case errors.Is(context.Cause(ctx), errTimedOut):
		result.TimedOut = true
		return toolError(pannier.ToolTimedOut, fmt.Sprintf("the server did not answer within %v", call.Timeout), "try again, or raise tools.timeout and timeout_ms of the tool")
	case ctx.Err() != nil:
		return toolError(pannier.ToolCanceled, "the call was canceled", "call it again if its result is needed")
	}
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return toolError(pannier.ToolHTTPRefused, refused.Error(), "name the host in tools.http_allow if tools may reach it")
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		err = fmt.Errorf("the host was not found: %s", unknown.Err) // the address of the resolver is not told
	}
	return toolError(pannier.ToolHTTPFailed, "the request failed: "+output.Clean([]byte(mask.String(err.Error()))), "check the address and the server")
}

// setHeaders sets the declared headers. It returns a mask of the secrets among them.
func (c *Client) setHeaders(r *http.Request, skill string, d *httpspec.Declaration) (*output.Mask, *pannier.ToolError) {
	var values []string
	for name, text := range d.Headers {
		var failed *pannier.ToolError
		value := httpspec.SecretMark.ReplaceAllStringFunc(text, func(mark string) string {
			var value string
			secret, err := c.secret(skill, httpspec.SecretMark.FindStringSubmatch(mark)[1], r.URL)
			if err == nil {
				value, err = secret.value()
			}
			if err != nil {
				failed = toolError(pannier.ToolHTTPRefused, err.Error(), secretHint)
			}
			values = append(values, value)
			return value
		})
		if failed != nil {
			return nil, failed
		}
		r.Header.Set(name, value)
	}
	return output.NewMask(values...), nil
}

const secretHint = "bind the secret to the host and the skill in tools.secrets"

// CheckSecrets says which secret of a declaration the tools of a skill may not send to its host. It reads none.
func (c *Client) CheckSecrets(skill string, config json.RawMessage) error {
	d, err := httpspec.Parse(config)
	if err != nil {
		return err
	}
	to, err := url.Parse(d.Base)
	if err != nil {
		return errors.New("config.url is not an address")
	}
	for _, header := range slices.Sorted(maps.Keys(d.Headers)) {
		for _, mark := range httpspec.SecretMark.FindAllStringSubmatch(d.Headers[header], -1) {
			if _, err := c.secret(skill, mark[1], to); err != nil {
				return err
			}
		}
	}
	return nil
}

// secret returns a secret that a skill may send to an address.
func (c *Client) secret(skill, name string, to *url.URL) (*Secret, error) {
	i := slices.IndexFunc(c.Secrets, func(s Secret) bool {
		return s.Name == name && isHostOf(to, s.Host) && slices.Contains(s.Skills, skill)
	})
	if i < 0 {
		return nil, fmt.Errorf("there is no secret %q for the host %s and the skill %s", name, to.Hostname(), skill)
	}
	if to.Scheme != "https" && !c.allows(to) {
		return nil, fmt.Errorf("the secret %q is not sent to %s without TLS", name, to.Hostname())
	}
	return &c.Secrets[i], nil
}

// value reads the secret, which has to be one line.
func (s *Secret) value() (string, error) {
	value, err := s.Read()
	value = strings.TrimSpace(value)
	if err != nil || value == "" || len(value) > maxSecretSize || strings.ContainsAny(value, "\r\n\x00") {
		return "", fmt.Errorf("the secret %q cannot be read, or is not one line", s.Name)
	}
	return value, nil
}

func toolError(code, message, hint string) *pannier.ToolError {
	return &pannier.ToolError{Code: code, Message: message, Hint: hint}
}
