package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/publish/api"
	"pannier/service"
	"pannier/sidecar"
)

// Module serves hosts of the Model Context Protocol at /mcp, unless the settings switch that off.
func Module() sidecar.Module {
	return sidecar.Module{Name: "mcp", Open: func(host sidecar.Host) (sidecar.Part, error) {
		if host.Settings.MCP.Offers == config.MCPOff {
			return sidecar.Part{}, nil
		}
		var events hostEvents
		s := New(Options{
			Service: host.Service, Subscribe: host.Subscribe, Manifest: host.Manifest, SkillTools: host.Settings.Tools.Enabled,
			Version: host.Build.Version,
			Tools:   host.Settings.MCP.Offers == config.MCPTools, CatalogMaxBytes: host.Settings.MCP.CatalogMaxBytes, PageSize: 1000,
			Caller: callerOf, OnWatch: host.WatchesChanged, Registerer: host.Registerer, Logger: host.Logger,
			OnSession: func(session pannier.MCPSession) {
				if events.admit(time.Now()) {
					session.Client, session.Version = cleanName(session.Client), cleanName(session.Version)
					session.Protocol = cleanName(session.Protocol)
					host.Offer(pannier.EventMCPSession, session)
				}
			},
		})
		return sidecar.Part{Routes: Routes(s.Handler()), Run: s.Serve, Watches: s.Watched, FilesChanged: s.Touched}, nil
	}}
}

// Routes returns the routes of MCP, which a handler answers until the context of a request is done.
func Routes(by http.Handler) []api.Route {
	serve := func(h *api.Handler, w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
		h.ServeStream(w, r, by)
		return nil
	}
	return []api.Route{
		{
			Pattern: "GET /mcp", Serve: serve, Early: true, Untagged: true, AnyQuery: true,
			ID: "streamMCP", Tag: "mcp", Texts: []string{"text/event-stream"},
			Summary: "The notifications of a session of the Model Context Protocol, for its versions with sessions.",
		},
		{
			Pattern: "POST /mcp", Serve: serve, Body: api.CallEnvelope, Answer: api.AnswerEnvelope, Early: true, AnyQuery: true,
			ID: "callMCP", Tag: "mcp", Summary: "Calls of the Model Context Protocol (streamable HTTP), of all its versions.",
			Others: map[string]string{"202": "There was a notification only, which has no answer."},
		},
		{
			Pattern: "DELETE /mcp", Serve: serve, Early: true, AnyQuery: true,
			ID: "endMCP", Tag: "mcp", Summary: "Ends a session of the Model Context Protocol.",
			Others: map[string]string{"204": "The session has ended."},
		},
	}
}

// callerOf identifies the client of a request, so that a session is its own alone.
func callerOf(r *http.Request) string {
	peer, ok := service.CallerFrom(r.Context())
	switch {
	case !ok:
		return ""
	case peer.Token != "":
		return "token:" + peer.Token
	}
	return "uid:" + strconv.FormatUint(uint64(peer.UID), 10)
}

// maxHostText bounds the name and the version that a host gives itself.
const maxHostText = 64

func cleanName(text string) string {
	runes := []rune(plain.Text(text[:min(len(text), 4*maxHostText)]))
	return string(runes[:min(len(runes), maxHostText)])
}

// maxHostEvents bounds the events of a minute, since a host can connect as often as it likes.
const maxHostEvents = 60

// hostEvents counts the events of the current minute. It is for any number of callers.
type hostEvents struct {
	mu    sync.Mutex
	begun time.Time
	count int
}

func (h *hostEvents) admit(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.begun) >= time.Minute {
		h.begun, h.count = now, 0
	}
	h.count++
	return h.count <= maxHostEvents
}
