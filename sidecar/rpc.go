package sidecar

import (
	"os"
	"path/filepath"
	"time"

	"pannier"
	"pannier/publish/api"
	"pannier/publish/rpc"
	"pannier/registry/resolve"
)

// rpc returns what answers JSON-RPC.
func (c *core) rpc(o api.Options) *rpc.Server {
	return rpc.NewSkills(rpc.Skills{
		Service: o.Service, Turns: o.Turns, Shared: o.Shared, WorkspaceID: c.settings.WorkspaceID, Workspace: c.settings.Workspace,
		MinimumTrust: c.settings.Trust.Minimum, ToolTrust: toolTrust(c.settings.Tools), Rejection: resolve.Rejection, Updated: c.modified,
		Subscribe: c.registry.Subscribe, MaxConns: api.CapacityNow().WebSockets, Logger: o.Logger, Registerer: o.Registerer,
	})
}

// modified returns when the SKILL.md of a skill was last written, or the directory of one that has none. The zero
// time is not known.
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
