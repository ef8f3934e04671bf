// Package client asks a pannier over its socket. The command line is built on it.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pannier"
)

// ErrNoSidecar means that no sidecar answers on the socket.
var ErrNoSidecar = errors.New("no sidecar answers")

// maxAnswerBytes bounds an answer: a longer one is an error. maxCatalogBytes bounds one about all skills of a workspace, or a file.
// Events are read one by one.
const (
	maxAnswerBytes  = 16 << 20
	maxCatalogBytes = 64 << 20
)

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

// New returns a client of the sidecar at a socket. It does not connect yet.
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

// ListQuery selects skills, and what is added to each. The zero value selects all.
type ListQuery struct {
	// State is the state that they are in; empty is any.
	State pannier.State
	// Health, Policy, Problems and Activity are those of each skill.
	Health, Policy, Problems, Activity bool
}

// List returns the catalog, or a part of it.
func (c *Client) List(ctx context.Context, q ListQuery) (pannier.List, error) {
	var include []string
	for name, wanted := range map[string]bool{"activity": q.Activity, "health": q.Health, "policy": q.Policy, "problems": q.Problems} {
		if wanted {
			include = append(include, name)
		}
	}
	slices.Sort(include)
	return Get[pannier.List](ctx, c.large(), "/v1/skills", "state", string(q.State), "include", strings.Join(include, ","))
}

// Skill returns all that is known of one skill. path, where it is not empty, chooses among several with one slug.
func (c *Client) Skill(ctx context.Context, slug, path string) (pannier.Detail, error) {
	return Get[pannier.Detail](ctx, c, SkillPath(slug), "include", "activity", "path", path)
}

// Content returns what an agent needs to follow a skill.
func (c *Client) Content(ctx context.Context, slug string) (pannier.Content, error) {
	return Get[pannier.Content](ctx, c, SkillPath(slug)+"/content")
}

// SkillPath returns the path of a skill. What the API has of it is below.
func SkillPath(slug string) string { return "/v1/skills/" + escapeSegment(slug) }

// escapeSegment returns a slug as one part of a path. One of dots must not be taken for a way up.
func escapeSegment(slug string) string { return strings.ReplaceAll(url.PathEscape(slug), ".", "%2E") }

// IsRunning returns nil where a sidecar answers at all, whatever the answer is. It asks for nothing that takes time.
func (c *Client) IsRunning(ctx context.Context) error {
	err := c.Live(ctx)
	if _, ok := errors.AsType[*Error](err); ok {
		return nil
	}
	return err
}

// Health returns what is wrong with the sidecar and its workspace.
func (c *Client) Health(ctx context.Context) (pannier.Health, error) {
	return Get[pannier.Health](ctx, c, "/v1/health")
}

// Peers returns the workspaces that the agent can delegate to.
func (c *Client) Peers(ctx context.Context) (pannier.PeerList, error) {
	return Get[pannier.PeerList](ctx, c, "/v1/peers")
}

// Card returns the agent card, byte for byte as it is pushed.
func (c *Client) Card(ctx context.Context) (json.RawMessage, error) {
	return Get[json.RawMessage](ctx, c, "/v1/card")
}

// AutomaticPrompt returns the skills section for what is automatically available. An empty format is the sidecar's own;
// maxChars, where it is not nil, bounds the section.
func (c *Client) AutomaticPrompt(ctx context.Context, format string, maxChars *int) (pannier.Prompt, error) {
	limit := ""
	if maxChars != nil {
		limit = strconv.Itoa(*maxChars)
	}
	return Get[pannier.Prompt](ctx, c.large(), "/v1/prompt", "format", format, "max_chars", limit)
}

// Prompt returns the skills section for a turn.
func (c *Client) Prompt(ctx context.Context, turn pannier.Turn) (pannier.Prompt, error) {
	return post[pannier.Prompt](ctx, c.large(), "/v1/prompt", turn)
}

// Resolve returns which skills are active in a turn.
func (c *Client) Resolve(ctx context.Context, turn pannier.Turn) (pannier.Resolution, error) {
	return post[pannier.Resolution](ctx, c.large(), target("/v1/resolve", "verbose", flag(turn.Verbose)), turn)
}

// Find returns the skills that a text is about.
func (c *Client) Find(ctx context.Context, q pannier.FindRequest) (pannier.FoundList, error) {
	return post[pannier.FoundList](ctx, c, "/v1/find", q)
}

// OpenAPI returns the OpenAPI document of the routes that the sidecar has.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return Get[json.RawMessage](ctx, c, "/openapi.json")
}

// Commands returns every command that can be run.
func (c *Client) Commands(ctx context.Context) (pannier.CommandList, error) {
	return Get[pannier.CommandList](ctx, c, "/v1/commands")
}

// RunCommand returns what an agent needs to follow a command.
func (c *Client) RunCommand(ctx context.Context, name, args string) (pannier.CommandRun, error) {
	return post[pannier.CommandRun](ctx, c, "/v1/commands/"+escapeSegment(name), pannier.CommandCall{Args: args})
}

// Rescan returns once a scan of the disk that began after the call is served.
func (c *Client) Rescan(ctx context.Context) error {
	_, err := post[json.RawMessage](ctx, c, "/v1/rescan?wait=1", nil)
	return err
}

// Environment returns what skills are judged by.
func (c *Client) Environment(ctx context.Context) (pannier.Environment, error) {
	return Get[pannier.Environment](ctx, c, "/v1/environment")
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
	return Get[pannier.PolicyList](ctx, c, "/v1/policy")
}

// SetPolicy changes the workspace layer of a skill's policy. An empty kind is that of the skill that owns the slug.
func (c *Client) SetPolicy(ctx context.Context, slug string, kind pannier.SourceKind, change pannier.PolicyChange) (pannier.Policy, error) {
	return send[pannier.Policy](ctx, c, http.MethodPut, target("/v1/policy/"+escapeSegment(slug), "source_kind", string(kind)), change)
}

// Scan has a skill directory scanned as it is now. path, where it is not empty, chooses among several with one slug.
func (c *Client) Scan(ctx context.Context, slug, path string, req pannier.ScanRequest) (pannier.ScanReport, error) {
	accept := strings.Join(req.Accept.Rules, ",")
	if req.Withdraw {
		accept = cmp.Or(accept, pannier.AcceptNone)
	}
	return post[pannier.ScanReport](ctx, c, target(SkillPath(slug)+"/scan", "path", path, "accept", accept, "reason", req.Accept.Reason), nil)
}

// Audit returns the newest entries of the audit log, newest first; an empty slug is all of them.
func (c *Client) Audit(ctx context.Context, slug string, limit int) (pannier.AuditList, error) {
	return Get[pannier.AuditList](ctx, c, "/v1/audit", "limit", strconv.Itoa(limit), "slug", slug)
}

// VerifyAudit checks that the audit log is what was written, and has the entry SEQ:DIGEST, if expect is not empty.
func (c *Client) VerifyAudit(ctx context.Context, expect string) (pannier.AuditCheck, error) {
	return Get[pannier.AuditCheck](ctx, c, "/v1/audit/verify", "expect", expect)
}

// Tools returns the tools of the usable skills, and those that are kept back.
func (c *Client) Tools(ctx context.Context) (pannier.ToolList, error) {
	return Get[pannier.ToolList](ctx, c.large(), "/v1/tools")
}

// ToolPermission returns what the permission of the tools of a skill covers, by its files as they are now.
func (c *Client) ToolPermission(ctx context.Context, slug string) (pannier.ToolPermission, error) {
	return Get[pannier.ToolPermission](ctx, c.large(), "/v1/tools/permissions/"+escapeSegment(slug))
}

// CallTool calls a tool. It is never sent twice. An error means that nothing ran, unless the connection was lost; what goes wrong in
// the tool is in the result. ctx cancels the call.
func (c *Client) CallTool(ctx context.Context, name string, call pannier.ToolCall) (result pannier.ToolResult, err error) {
	text, err := json.Marshal(call)
	if err != nil {
		return result, fmt.Errorf("encode request: %w", err)
	}
	req, err := newRequest(ctx, http.MethodPost, "/v1/tools/"+escapeSegment(name), bytes.NewReader(text))
	if err != nil {
		return result, err
	}
	req.GetBody = nil
	return exchange[pannier.ToolResult](c.withoutTimeout(), req)
}

// PrepareTools installs what the scripts of a skill need. It is never sent twice.
func (c *Client) PrepareTools(ctx context.Context, slug string) (prepared pannier.PreparedSkill, err error) {
	req, err := newRequest(ctx, http.MethodPost, SkillPath(slug)+"/prepare", nil)
	if err != nil {
		return prepared, err
	}
	return exchange[pannier.PreparedSkill](c.withoutTimeout(), req)
}

// CancelTool cancels a call of this client that goes on.
func (c *Client) CancelTool(ctx context.Context, callID string) error {
	_, err := send[json.RawMessage](ctx, c, http.MethodDelete, "/v1/tools/calls/"+escapeSegment(callID), nil)
	return err
}
