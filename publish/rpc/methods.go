package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/publish/answer"
	"pannier/publish/turn"
	"pannier/service"
)

// Skills is what the methods of the Pioneer skills protocol are composed of. All but Service, Turns and Logger is
// optional.
type Skills struct {
	// Service decides and records what clients ask for, Turns answers turns.
	Service *service.Service
	Turns   *turn.Turns
	// Shared keeps encoded lists.
	Shared *answer.Shared
	// WorkspaceID is what a workspace_id among the parameters has to be.
	WorkspaceID string
	// Workspace is the workspace's path on this side, for the paths of skills.
	Workspace string
	// MinimumTrust is what the settings ask of the origin of a skill.
	MinimumTrust pannier.Trust
	// ToolTrust returns what runtime tools of a kind take beside that; without it they take no more.
	ToolTrust func(pannier.RuntimeToolKind) pannier.Trust
	// Rejection returns the reason of a resolution against a skill; without it the reason is left out.
	Rejection func(*pannier.Entry) string
	// Updated returns when a skill was last written, the zero time where that is not known.
	Updated func(*pannier.Skill) time.Time
	// Subscribe returns a channel that has the newest snapshot whenever there is one that was not fetched, the
	// current one at once. Without it there are no notifications.
	Subscribe func() (snapshots <-chan *pannier.Snapshot, cancel func())
	// MaxConns bounds the WebSockets at one time; 0 is the constant of that name.
	MaxConns   int
	Logger     hclog.Logger
	Registerer prometheus.Registerer
}

// skills answers the methods.
type skills struct{ Skills }

type skillsMethod struct {
	name  string
	call  callFunc
	scope service.Scope // what a token must allow; empty is ScopeRead
	// has reports whether there is the method with a service; nil is always.
	has     func(*service.Service) bool
	changes bool // a call may lead to a notification
	long    bool // a call may take as long as a tool of a skill
}

var skillsMethods = []skillsMethod{
	{name: "skills/list", call: calls((*skills).list)},
	{name: "skills/find", call: calls((*skills).find)},
	{name: "skills/health", call: calls((*skills).health)},
	{name: "skills/resolve", call: calls((*skills).resolve)},
	{name: "skills/prompt", call: calls((*skills).prompt)},
	{name: "skills/read", call: calls((*skills).read)},
	{name: "skills/policy/list", call: calls((*skills).policies)},
	{"skills/policy/set", calls((*skills).setPolicy), service.ScopeWrite, canChange, true, false},
	{"skills/install", calls((*skills).installSkill), service.ScopeWrite, canInstall, true, false},
	{"skills/update", calls((*skills).updateSkill), service.ScopeWrite, canInstall, true, false},
	{"skills/uninstall", calls((*skills).uninstall), service.ScopeWrite, canInstall, true, false},
	{"skills/upload/start", calls((*skills).uploadStart), service.ScopeWrite, canUpload, false, false},
	{"skills/upload/finish", finishUpload, service.ScopeWrite, canUpload, false, false},
	{"skills/upload/abort", abortUpload, service.ScopeWrite, canUpload, false, false},
	{"skills/upload/status", showUpload, service.ScopeWrite, canUpload, false, false},
	{"skills/tools/call", calls((*skills).callTool), service.ScopeCall, canCall, false, true},
	{"skills/tools/permission", calls((*skills).toolPermission), "", canCall, false, false},
	{"skills/tools/register", calls((*skills).registerTool), service.ScopeCall, canCall, false, false},
	{"skills/tools/cancel", calls((*skills).cancelTool), service.ScopeCall, canCall, false, false},
}

// NewSkills returns a server with the methods that a service can answer.
func NewSkills(of Skills) *Server {
	if of.Shared == nil {
		of.Shared = &answer.Shared{}
	}
	h := &skills{of}
	o := Options{
		Methods: map[string]Method{}, ErrorOf: h.errorOf, Subscribe: h.Subscribe, Changed: h.changed,
		MaxConns: h.MaxConns,
		Logger:   h.Logger, Registerer: h.Registerer,
	}
	for _, m := range skillsMethods {
		if m.has == nil || m.has(h.Service) {
			timeout := time.Duration(0)
			if m.long {
				timeout = service.MaxToolCall
			}
			o.Methods[m.name] = Method{
				Changes: m.changes, Timeout: timeout,
				Answer: func(r *http.Request, params json.RawMessage) (any, error) {
					return m.call(h, r, m, params)
				},
			}
		}
	}
	if h.Service.Uploads != nil {
		o.Binary, o.MaxBinary = h.chunk, h.Service.Uploads.Limits().MaxChunk+maxPrefix
	}
	return New(o)
}

// inWorkspace are the parameters that every method has.
type inWorkspace struct {
	WorkspaceID *string `json:"workspace_id"`
}

func (p inWorkspace) workspace() *string { return p.WorkspaceID }

// callFunc answers a call of a method.
type callFunc func(h *skills, r *http.Request, m skillsMethod, params json.RawMessage) (any, error)

// calls returns what calls a function with the newest snapshot and with parameters, which are read strictly.
func calls[P interface{ workspace() *string }](
	answer func(*skills, context.Context, *pannier.Snapshot, P) (any, error),
) callFunc {
	return func(h *skills, r *http.Request, m skillsMethod, params json.RawMessage) (any, error) {
		var p P
		if err := Params(params, &p); err != nil {
			return nil, err
		}
		if id := p.workspace(); id != nil {
			if err := h.checkWorkspace(*id); err != nil {
				return nil, err
			}
		}
		s := h.Service.Snapshot()
		if s == nil {
			return nil, service.ErrNotReady
		}
		if m.scope != "" {
			if err := h.Service.Require(r.Context(), service.Request{Name: m.name}, m.scope); err != nil {
				return nil, err
			}
		}
		return answer(h, r.Context(), s, p)
	}
}

func (h *skills) checkWorkspace(id string) error {
	switch id {
	case "":
		return invalidParams("workspace_id is empty", "leave it out, or use that of GET /v1/health")
	case h.WorkspaceID:
		return nil
	}
	return fault(
		CodeInvalidParams, notFound, fmt.Sprintf("unknown workspace %.100q", id),
		"leave it out, or use that of GET /v1/health",
	)
}

func canChange(s *service.Service) bool { return s.Changes != nil }

func canInstall(s *service.Service) bool { return s.Installer != nil }

func canUpload(s *service.Service) bool { return s.Uploads != nil }

func canCall(s *service.Service) bool { return s.Tools != nil }
