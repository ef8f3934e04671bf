package sidecar

import (
	"context"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/api"
	"pannier/publish/mcp"
	"pannier/service"
)

// newMCP returns the server for hosts of the Model Context Protocol; nil where the settings switch it off. handler returns that of
// the API, which is made later.
func (c *core) newMCP(reg prometheus.Registerer, decides *service.Service, handler func() *api.Handler) *mcp.Server {
	if !c.settings.MCP.Enabled {
		return nil
	}
	o := mcp.Options{
		Service: decides, Subscribe: c.registry.Subscribe, Manifest: c.loader.RecentManifest,
		Version: c.build.Version,
		Tools:   c.settings.MCP.Tools, InstructionsMaxChars: 4000, PageSize: 1000,
		Caller: mcpCaller, OnSession: c.recordMCPSession, OnWatch: c.contents.RequestWatch, Registerer: reg, Logger: c.log.Named("mcp"),
	}
	if c.settings.Tools.Enabled {
		o.SkillTools = &mcp.SkillTools{
			List:    func(s *pannier.Snapshot) []pannier.ListedTool { return c.tools.List(s).Tools },
			MayCall: func(ctx context.Context) bool { return handler().MayCallTools(ctx) },
			Call: func(ctx context.Context, r pannier.ToolRequest) (pannier.ToolResult, error) {
				return handler().CallTool(ctx, r)
			},
		}
	}
	return mcp.New(o)
}

// mcpCaller identifies the client of a request, so that a session is its own alone.
func mcpCaller(r *http.Request) string {
	peer, ok := api.CallerFrom(r.Context())
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

func (c *core) recordMCPSession(host pannier.MCPSession) {
	if !c.hosts.admit(time.Now()) {
		return
	}
	host.Client, host.Version = hostText(host.Client), hostText(host.Version)
	host.Protocol = hostText(host.Protocol)
	c.events.Offer(pannier.EventMCPSession, host)
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

func hostText(text string) string {
	runes := []rune(plain.Text(text[:min(len(text), 4*maxHostText)]))
	return string(runes[:min(len(runes), maxHostText)])
}

// mcpDirs returns the directories of files that MCP hosts subscribed to.
func (c *core) mcpDirs() (dirs []string) {
	if c.mcp == nil {
		return nil
	}
	for _, dir := range c.mcp.Watched() {
		dirs = append(dirs, filepath.Join(c.contents.Directory(dir.Skill), filepath.FromSlash(dir.Path)))
	}
	return dirs
}
