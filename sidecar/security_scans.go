package sidecar

import (
	"os"
	"path/filepath"
	"time"

	"pannier"
	"pannier/publish/api"
	"pannier/registry/resolve"
)

// rpc is what the JSON-RPC of the socket takes beside what the routes do.
func (c *core) rpc() api.RPC {
	return api.RPC{
		WorkspaceID: c.settings.WorkspaceID, Workspace: c.settings.Workspace, MinimumTrust: c.settings.Trust.Minimum,
		ToolTrust: toolTrust(c.settings.Tools), Rejection: resolve.Rejection, Updated: c.modified, Subscribe: c.registry.Subscribe,
	}
}

// modified returns when the SKILL.md of a skill was last written, or the directory of one that has none. The zero time is
// not known.
func (c *core) modified(s *pannier.Skill) time.Time {
	path := filepath.FromSlash(s.FilePath())
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.settings.Workspace, path)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
