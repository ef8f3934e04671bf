package main

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"pannier/config"
	"pannier/publish/api"
	"pannier/publish/client"
	"pannier/sidecar"
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
	handler, end, err := sidecar.ChangeDirectory(ctx, s, p.environ, log)
	if err != nil {
		return err
	}
	defer end()
	here := client.InProcess(api.AsOwn(handler))
	defer here.Close()
	return negative(do(ctx, here))
}
