// Package client asks a pannier over its socket. The command line is built on it.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pannier"
)

// ErrNoSidecar says that nobody answers on the socket.
var ErrNoSidecar = errors.New("no sidecar answers")

// maxAnswerBytes bounds one answer. A longer one is an error.
const maxAnswerBytes = 256 << 20

// Error is an answer that is an error.
type Error struct {
	pannier.ErrorDocument
}

// Error implements error.
func (e *Error) Error() string { return e.Detail }

// Client asks one sidecar. It is for any number of callers. [New] and [InProcess] make one.
type Client struct {
	// HTTP carries the requests. Their URL has a host that only its transport knows.
	HTTP http.Client

	maxAnswer int64 // 0 means maxAnswerBytes
}

// New returns a client of the sidecar behind a socket. It does not connect yet.
func New(socket string) *Client {
	dialer := net.Dialer{Timeout: 2 * time.Second}
	return &Client{HTTP: http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			// Shorter than a sidecar keeps an idle connection, so that it is not closed under a request.
			IdleConnTimeout: time.Minute,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "unix", socket)
			},
		},
	}}
}

// InProcess returns a client of a handler in this process.
func InProcess(h http.Handler) *Client {
	return &Client{HTTP: http.Client{Transport: inProcess{h}}}
}

// Close ends the idle connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Skills returns the catalog; problems asks for those of each skill too.
func (c *Client) Skills(ctx context.Context, state pannier.State, problems bool) (pannier.List, error) {
	return c.List(ctx, ListQuery{State: state, Problems: problems})
}

// ListQuery says which skills are wanted, and what of them beside what every list tells. The zero value is all of them.
type ListQuery struct {
	// State is the state that they are in; empty is any.
	State pannier.State
	// Health, Policy, Problems and Activity are those of each skill.
	Health, Policy, Problems, Activity bool
}

// List returns the catalog, or a part of it.
func (c *Client) List(ctx context.Context, q ListQuery) (pannier.List, error) {
	query := url.Values{}
	if q.State != "" {
		query.Set("state", string(q.State))
	}
	var include []string
	for name, wanted := range map[string]bool{"activity": q.Activity, "health": q.Health, "policy": q.Policy, "problems": q.Problems} {
		if wanted {
			include = append(include, name)
		}
	}
	if slices.Sort(include); len(include) > 0 {
		query.Set("include", strings.Join(include, ","))
	}
	return get[pannier.List](ctx, c, "/v1/skills", query)
}

// Skill returns all that is known of one skill. path, where it is not empty, chooses among several with one slug.
func (c *Client) Skill(ctx context.Context, slug, path string) (pannier.Detail, error) {
	query := url.Values{"include": {"activity"}}
	if path != "" {
		query.Set("path", path)
	}
	return get[pannier.Detail](ctx, c, skillPath(slug), query)
}

// Content returns what an agent needs to follow a skill.
func (c *Client) Content(ctx context.Context, slug string) (pannier.Content, error) {
	return get[pannier.Content](ctx, c, skillPath(slug)+"/content", nil)
}

func skillPath(slug string) string { return "/v1/skills/" + escapeSegment(slug) }

// escapeSegment returns a slug as one part of a path. One of dots must not be taken for a way up.
func escapeSegment(slug string) string { return strings.ReplaceAll(url.PathEscape(slug), ".", "%2E") }

// Answers returns nil where a sidecar answers at all, whatever the answer is. It asks for nothing that takes time.
func (c *Client) Answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier/livez", http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return classify(err)
	}
	return res.Body.Close()
}

// Health tells what is wrong with the sidecar and its workspace.
func (c *Client) Health(ctx context.Context) (pannier.Health, error) {
	return get[pannier.Health](ctx, c, "/v1/health", nil)
}

// Peers returns the workspaces that the agent can delegate to.
func (c *Client) Peers(ctx context.Context) (pannier.PeerList, error) {
	return get[pannier.PeerList](ctx, c, "/v1/peers", nil)
}

// Card returns the agent card, byte for byte as it is pushed.
func (c *Client) Card(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/v1/card", nil)
}

// WellKnownCard returns the agent card from where other agents look for it.
func (c *Client) WellKnownCard(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/.well-known/agent-card.json", nil)
}

// AutomaticPrompt returns the skills section for what is automatically available. An empty format is the sidecar's own;
// maxChars, where it is not nil, bounds the section.
func (c *Client) AutomaticPrompt(ctx context.Context, format string, maxChars *int) (pannier.Prompt, error) {
	query := url.Values{}
	if format != "" {
		query.Set("format", format)
	}
	if maxChars != nil {
		query.Set("max_chars", strconv.Itoa(*maxChars))
	}
	return get[pannier.Prompt](ctx, c, "/v1/prompt", query)
}

// Prompt returns the skills section for a turn.
func (c *Client) Prompt(ctx context.Context, turn pannier.Turn) (pannier.Prompt, error) {
	return post[pannier.Prompt](ctx, c, "/v1/prompt", turn)
}

// Resolve returns which skills are active in a turn.
func (c *Client) Resolve(ctx context.Context, turn pannier.Turn) (pannier.Resolution, error) {
	target := "/v1/resolve"
	if turn.Verbose {
		target += "?verbose=1"
	}
	return post[pannier.Resolution](ctx, c, target, turn)
}

// OpenAPI returns the OpenAPI document of the routes that the sidecar has.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, "/openapi.json", nil)
}

// Commands returns every command that can be run.
func (c *Client) Commands(ctx context.Context) (pannier.CommandList, error) {
	return get[pannier.CommandList](ctx, c, "/v1/commands", nil)
}

// RunCommand returns what an agent needs to follow a command.
func (c *Client) RunCommand(ctx context.Context, name, args string) (pannier.CommandRun, error) {
	return post[pannier.CommandRun](ctx, c, "/v1/commands/"+escapeSegment(name), pannier.CommandCall{Args: args})
}

// Rescan returns once a look at the disk that began after the call is served.
func (c *Client) Rescan(ctx context.Context) error {
	_, err := post[json.RawMessage](ctx, c, "/v1/rescan?wait=1", nil)
	return err
}

// Environment returns what skills are judged by.
func (c *Client) Environment(ctx context.Context) (pannier.Environment, error) {
	return get[pannier.Environment](ctx, c, "/v1/environment", nil)
}

// PutEnvironment hands over what the agent's container offers, and returns it as skills are judged by it.
func (c *Client) PutEnvironment(ctx context.Context, env pannier.Environment) (pannier.Environment, error) {
	return send[pannier.Environment](ctx, c, http.MethodPut, "/v1/environment", env)
}

// Acknowledge ends a condition of health that lasts until an operator has looked at it, and returns health as it is then.
func (c *Client) Acknowledge(ctx context.Context, condition string) (pannier.Health, error) {
	return post[pannier.Health](ctx, c, "/v1/health/acknowledge", map[string]string{"condition": condition})
}

// Policies returns the policy of every skill.
func (c *Client) Policies(ctx context.Context) (pannier.PolicyList, error) {
	return get[pannier.PolicyList](ctx, c, "/v1/policy", nil)
}

// SetPolicy changes the workspace layer of a skill's policy. An empty kind is that of the skill that owns the slug.
func (c *Client) SetPolicy(ctx context.Context, slug string, kind pannier.SourceKind, change pannier.PolicyChange) (pannier.Policy, error) {
	path := "/v1/policy/" + escapeSegment(slug)
	if kind != "" {
		path += "?" + url.Values{"source_kind": {string(kind)}}.Encode()
	}
	return send[pannier.Policy](ctx, c, http.MethodPut, path, change)
}

// Scan has a skill directory scanned as it is now. path, where it is not empty, chooses among several with one slug.
func (c *Client) Scan(ctx context.Context, slug, path string, req pannier.ScanRequest) (pannier.ScanReport, error) {
	query := url.Values{}
	if path != "" {
		query.Set("path", path)
	}
	if req.Withdraw {
		query.Set("accept", pannier.AcceptNone)
	}
	acceptQuery(query, req.Accept)
	target := skillPath(slug) + "/scan"
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return post[pannier.ScanReport](ctx, c, target, nil)
}

// acceptQuery adds the rules that are to be accepted.
func acceptQuery(query url.Values, req pannier.AcceptRequest) {
	if len(req.Rules) > 0 {
		query.Set("accept", strings.Join(req.Rules, ","))
	}
	if req.Reason != "" {
		query.Set("reason", req.Reason)
	}
}

// Audit returns the newest entries of the audit log, newest first; an empty slug is all of them.
func (c *Client) Audit(ctx context.Context, slug string, limit int) (pannier.AuditList, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if slug != "" {
		query.Set("slug", slug)
	}
	return get[pannier.AuditList](ctx, c, "/v1/audit", query)
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return do[T](ctx, c, http.MethodGet, path, nil)
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return send[T](ctx, c, http.MethodPost, path, body)
}

func send[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			var zero T
			return zero, fmt.Errorf("encode request: %w", err)
		}
	}
	return do[T](ctx, c, method, path, text)
}

// do sends one request, and reads the answer as JSON.
func do[T any](ctx context.Context, c *Client, method, path string, body []byte) (answer T, err error) {
	_, text, err := c.exchange(ctx, method, path, "application/json", body)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("decode answer of %s: %w", path, err)
	}
	return answer, nil
}

// exchange sends one request, and reads the whole of the answer.
func (c *Client) exchange(ctx context.Context, method, path, accept string, body []byte) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://pannier"+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", accept)
	// Not sent: it tells the transport that asking twice does no harm, when a sidecar that restarted has closed the
	// connection.
	req.Header["Idempotency-Key"] = nil
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, nil, classify(err)
	}
	defer res.Body.Close()
	text, err := c.readAnswer(res.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("read answer of %s: %w", path, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return nil, nil, decodeError(res, text)
	}
	return res.Header, text, nil
}

// readAnswer reads the whole of an answer, within its bound.
func (c *Client) readAnswer(body io.Reader) ([]byte, error) {
	limit := cmp.Or(c.maxAnswer, maxAnswerBytes)
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return text, err
}

// classify tells a sidecar that is not there from one that can not be talked to.
func classify(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", ErrNoSidecar, err)
	}
	return fmt.Errorf("ask the sidecar: %w", err)
}

// decodeError returns the document of an answer, or what stands for it where something else than a sidecar answered.
func decodeError(res *http.Response, text []byte) error {
	e := &Error{}
	if err := json.Unmarshal(text, &e.ErrorDocument); err != nil || e.Detail == "" {
		detail := cmp.Or(strings.TrimSpace(string(text)), res.Status)
		e.ErrorDocument = pannier.ErrorDocument{Title: http.StatusText(res.StatusCode), Detail: detail}
	}
	e.Status = res.StatusCode
	return e
}
