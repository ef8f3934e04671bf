package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"pannier"
	"pannier/publish/api/rpc"
)

// RPC is what the JSON-RPC of the socket takes beside the rest of the options (Pioneer skills protocol). All of it is
// optional.
type RPC struct {
	// WorkspaceID is what a workspace_id among the parameters has to be.
	WorkspaceID string
	// Workspace is the workspace's path on this side, for the paths of skills.
	Workspace string
	// MinimumTrust is what the settings ask of the origin of a skill.
	MinimumTrust pannier.Trust
	// ToolTrust returns what runtime tools of a kind take beside that; without it they take no more.
	ToolTrust func(pannier.RuntimeToolKind) pannier.Trust
	// Rejection returns the word that a resolution has for why no turn can use a skill; without it no reason is told.
	Rejection func(*pannier.Entry) string
	// Updated returns when a skill was last written, the zero time where that is not known.
	Updated func(*pannier.Skill) time.Time
	// Subscribe returns a channel that has the newest snapshot whenever there is one that was not fetched, the current one
	// at once. Without it there are no notifications.
	Subscribe func() (snapshots <-chan *pannier.Snapshot, cancel func())
}

// newRPC returns what answers calls. A method is there where what it asks for is.
func (h *Handler) newRPC() *rpc.Server {
	methods := map[string]rpc.Method{
		"skills/list":        {Answer: method(h, h.rpcList)},
		"skills/health":      {Answer: method(h, h.rpcHealth)},
		"skills/policy/list": {Answer: method(h, h.rpcPolicies)},
		"skills/resolve":     {Answer: method(h, h.rpcResolve)},
		"skills/prompt":      {Answer: method(h, h.rpcPrompt)},
		"skills/read":        {Answer: method(h, h.rpcRead)},
	}
	if h.SetPolicy != nil {
		methods["skills/policy/set"] = rpc.Method{Answer: method(h, h.rpcSetPolicy), Changes: true}
	}
	if h.Install != nil {
		methods["skills/install"] = rpc.Method{Answer: method(h, h.rpcInstallSkill), Changes: true}
		methods["skills/update"] = rpc.Method{Answer: method(h, h.rpcUpdateSkill), Changes: true}
	}
	if h.Uninstall != nil {
		methods["skills/uninstall"] = rpc.Method{Answer: method(h, h.rpcUninstall), Changes: true}
	}
	binary, maxBinary := h.uploadMethods(methods)
	return rpc.New(rpc.Options{
		Binary: binary, MaxBinary: maxBinary,
		Methods: methods, Tell: h.tellRPC, Subscribe: h.RPC.Subscribe, Changed: h.rpcChanged, MaxConns: h.room.WebSockets,
		Logger: h.Logger, Registerer: h.Registerer,
	})
}

// inWorkspace are the parameters that every method has.
type inWorkspace struct {
	WorkspaceID *string `json:"workspace_id"`
}

func (p inWorkspace) workspace() *string { return p.WorkspaceID }

// method makes a method of a function of one snapshot. Its parameters are read strictly.
func method[P interface{ workspace() *string }](h *Handler, answer func(*http.Request, *pannier.Snapshot, P) (any, error)) func(*http.Request, json.RawMessage) (any, error) {
	return func(r *http.Request, params json.RawMessage) (any, error) {
		var p P
		if err := rpc.Params(params, &p); err != nil {
			return nil, err
		}
		if id := p.workspace(); id != nil {
			if err := h.checkWorkspace(*id); err != nil {
				return nil, err
			}
		}
		s := h.Snapshot()
		if s == nil {
			return nil, errNotReady
		}
		return answer(r, s, p)
	}
}

// checkWorkspace refuses the id of another workspace.
func (h *Handler) checkWorkspace(id string) error {
	switch id {
	case "":
		return rpcFault(rpc.CodeInvalidParams, rpcInvalid, "workspace_id is empty", "leave it out, or give that of GET /v1/health")
	case h.RPC.WorkspaceID:
		return nil
	}
	return rpcFault(rpc.CodeInvalidParams, rpcNotFound, fmt.Sprintf("there is no workspace %.100q here", id), "leave it out, or give that of GET /v1/health")
}

// call answers with what the calls of the body lead to.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	text, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &statusError{http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("the body has more than %d bytes", maxRequestBytes), "send a smaller one"}
	}
	if err != nil {
		return &statusError{http.StatusBadRequest, "invalid_body", "the body can not be read: " + err.Error(), "send all of it"}
	}
	answer := h.calls.Answer(r, text)
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	writeEncoded(w, r, "application/json", encoded{body: answer})
	return nil
}

// socket makes a WebSocket of the request, and ends with it.
func (h *Handler) socket(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	defer whileUpgraded(r.Context())()
	stop, cancel := whileServing(r.Context())
	defer cancel()
	err := h.calls.Accept(w, r, stop)
	if errors.Is(err, rpc.ErrFull) {
		endConnection(w)
		return &statusError{http.StatusServiceUnavailable, "too_many_sockets", fmt.Sprintf("%d WebSockets are open already", h.room.WebSockets), "close one that nobody uses"}
	}
	if e, ok := errors.AsType[*rpc.HandshakeError](err); ok {
		return &statusError{e.Status, "no_websocket", e.Error(), "GET makes a WebSocket (RFC 6455); POST takes single calls"}
	}
	return err
}
