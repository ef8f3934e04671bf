package main

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"pannier"
	"pannier/config"
	"pannier/publish/api"
	"pannier/publish/client"
)

// changing runs a command that changes the workspace: it asks the sidecar that --url names, or else the one that runs for the
// workspace, and where none runs it changes the directory itself, through the same code.
func (p *program) changing(ctx context.Context, do func(context.Context, *client.Client) error) error {
	return p.askingOr(ctx, do, func(s config.Settings) error { return p.changeDirectory(ctx, s, do) })
}

// changeDirectory changes a workspace that no sidecar runs for. It holds the state of the workspace meanwhile, as a sidecar
// does, so that the change is audited, and no sidecar begins in its midst.
func (p *program) changeDirectory(ctx context.Context, s config.Settings, do func(context.Context, *client.Client) error) error {
	if err := requireDirectory(s); err != nil {
		return err
	}
	log := p.logger(s)
	log.SetLevel(hclog.Error) // what went as it should is told by the answer
	reg := prometheus.NewRegistry()
	mem, err := openMemory(s, reg, log)
	if err != nil {
		return err
	}
	defer mem.close(true)
	c := &sidecar{house: newHouse(s, p.environ, mem.registryOptions()), log: log, memory: mem, platforms: &publishers{}}
	c.events = mem.newEventLog(s.WorkspaceID, c.registry.Current)
	look := func(ctx context.Context, _ ...string) (*pannier.Snapshot, error) { return c.lookAtAll(ctx) }
	if err := c.openDoor(ctx, reg, look); err != nil {
		return err
	}
	if _, err := look(ctx); err != nil {
		return err
	}
	o := c.handlerOptions(hclog.NewNullLogger())
	o.Installs = c.installs()
	o.Rescan = func(ctx context.Context, _ bool) (*pannier.Snapshot, error) { return look(ctx) }
	o.Health = func() pannier.Health { return pannier.Health{} } // nobody asks: health needs a sidecar
	here := client.InProcess(api.AsOwn(api.New(o)))
	defer here.Close()
	return negative(do(ctx, here))
}
