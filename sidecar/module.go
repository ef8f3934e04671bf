package sidecar

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/publish/api"
	"pannier/service"
)

// Module is a feature around the core. The core imports no module: cmd/pannier lists them in modules.go, and a sidecar
// takes them in [Options]. A module is one package that imports the core, and one line of that list.
//
// All fields but Name are optional.
type Module struct {
	// Name names the module in the log and in errors.
	Name string
	// Settings refuses settings that the module cannot work with, with an [*Error] that an operator can act on. [New]
	// calls it before it opens anything.
	Settings func(config.Settings) error
	// Page returns the page that browsers get from the TCP listener of the API, nil for none. One module has a page. It
	// is served with TLS or on the loopback only.
	Page func(config.Settings) *api.Page
	// Open makes what runs. It is called once in a sidecar, before the first request is answered by routes. It must not
	// wait for a disk of the workspace. An error ends the sidecar.
	Open func(Host) (Part, error)
}

// Part is an open module.
type Part struct {
	// Routes are served on the socket and over TCP, and described in the OpenAPI document.
	Routes []api.Route
	// Conditions returns what health says of the module. It takes no lock that is held over I/O; optional.
	Conditions func() []pannier.Condition
	// Tools are the tools of skills, for turns and for protocols; one module has them.
	Tools service.Tools
	// Run runs until ctx is done, beside the core; optional. An error ends the sidecar. The audit log names the module
	// as the actor of what the service does with this context.
	Run func(context.Context) error
	// FilesChanged is called where files of skills may have changed, also without a snapshot that shows it; optional.
	// It must not wait.
	FilesChanged func()
	// Watches returns directories whose files are watched too, so that FilesChanged is called at once; optional.
	Watches func() []Watch
}

// Watch is a directory of a skill that a module has watched.
type Watch struct {
	Skill *pannier.Skill
	Path  string // below the skill directory; "." for that itself
}

// Host is what a module gets from the sidecar that it is part of. Its functions are for any number of callers.
type Host struct {
	Settings   config.Settings
	Environ    []string // the environment of the process, as [os.Environ] returns it
	Build      Build
	Logger     hclog.Logger // with the name of the module
	Registerer prometheus.Registerer

	// Snapshot returns the newest snapshot, nil before the first.
	Snapshot func() *pannier.Snapshot
	// RuntimeTools returns the tools of the usable skills of a snapshot, and the excluded ones.
	RuntimeTools func(*pannier.Snapshot) ([]pannier.RuntimeTool, []pannier.ExcludedTool)
	// Overridden returns the name and the arguments of a call of a tool as the overrides of some skills have them.
	Overridden func(s *pannier.Snapshot, skills []string, name string, arguments json.RawMessage) (string, json.RawMessage)
	// AgentWorkspace is the workspace's path as the agent sees it.
	AgentWorkspace string
	// Service decides what clients get, whatever protocol they use.
	Service  *service.Service
	Contents Contents
	// Subscribe returns a channel that has the newest snapshot whenever there is one that was not received.
	Subscribe func() (snapshots <-chan *pannier.Snapshot, cancel func())
	// Manifest returns the manifest of a skill as it was at most maxAge ago. Its errors are [pannier.ErrChanged] and
	// [pannier.ErrNotServable].
	Manifest func(ctx context.Context, s *pannier.Skill, maxAge time.Duration) (pannier.Manifest, error)
	// Emit emits an event. Offer emits one that may be left out where there is hardly room, and reports whether it was
	// not.
	Emit  func(pannier.EventType, any)
	Offer func(pannier.EventType, any) bool
	// WatchesChanged says that the result of [Part.Watches] has changed.
	WatchesChanged func()
}

// openModules opens the modules of a sidecar.
func (c *core) openModules(modules []Module, h Host) error {
	toolsOf := ""
	for _, m := range modules {
		if m.Open == nil {
			continue
		}
		h.Logger = c.log.Named(m.Name)
		part, err := m.Open(h)
		if err != nil {
			return err
		}
		if part.Tools != nil {
			if toolsOf != "" {
				return fmt.Errorf("modules %s and %s both have tools: one module has them", toolsOf, m.Name)
			}
			toolsOf, h.Service.Tools = m.Name, part.Tools
		}
		c.parts = append(c.parts, openPart{m.Name, part})
	}
	return nil
}

// openPart is a part with the name of its module.
type openPart struct {
	name string
	Part
}

// watches returns the directories that modules have watched.
func (c *core) watches() (dirs []string) {
	for _, p := range c.parts {
		if p.Watches == nil {
			continue
		}
		for _, w := range p.Watches() {
			dirs = append(dirs, filepath.Join(c.contents.Directory(w.Skill), filepath.FromSlash(w.Path)))
		}
	}
	return dirs
}

func (c *core) filesChanged() {
	for _, p := range c.parts {
		if p.FilesChanged != nil {
			p.FilesChanged()
		}
	}
}
