package sidecar

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/publish/api"
	"pannier/service"
)

// Module is a feature around the core. The core imports no module: cmd/pannier lists them in modules.go, and a sidecar takes them in
// [Options]. A module is one package that imports the core, and one line of that list.
//
// All fields but Name are optional.
type Module struct {
	// Name names the module in the log and in errors.
	Name string
	// Settings refuses settings that the module cannot work with, with an [*Error] that an operator can act on. [New] calls it before
	// it opens anything.
	Settings func(config.Settings) error
	// Page returns the page that browsers get from the TCP listener of the API, nil for none. One module has a page. It is served
	// with TLS or on the loopback only.
	Page func(config.Settings) *api.Page
	// Open makes what runs. It is called once in a sidecar, before the first request is answered by routes. It must not wait for a
	// disk of the workspace. An error ends the sidecar.
	Open func(Host) (Part, error)
}

// Part is an open module.
type Part struct {
	// Routes are served on the socket and over TCP, and described in the OpenAPI document.
	Routes []api.Route
	// Conditions returns what health says of the module. It takes no lock that is held over I/O; optional.
	Conditions func() []pannier.Condition
	// Run runs until ctx is done, beside the core; optional. An error ends the sidecar.
	Run func(context.Context) error
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
	// Service decides what clients get, whatever protocol they use.
	Service *service.Service
	// Emit emits an event.
	Emit func(pannier.EventType, any)
}

// openModules opens the modules of a sidecar.
func (c *core) openModules(modules []Module, h Host) error {
	for _, m := range modules {
		if m.Open == nil {
			continue
		}
		h.Logger = c.log.Named(m.Name)
		part, err := m.Open(h)
		if err != nil {
			return err
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
