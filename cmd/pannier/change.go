package main

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"pannier/config"
	"pannier/publish/api"
	"pannier/publish/client"
	"pannier/sidecar"
)

// changing runs a command that changes the workspace. Without a sidecar it changes the directory itself, by the same code.
func (p *program) changing(ctx context.Context, do func(context.Context, *client.Client) error) error {
	return p.askingOr(ctx, do, func(s config.Settings) error { return p.changeDirectory(ctx, s, do) })
}

// changeDirectory changes a workspace without a sidecar. It locks the state of the workspace, so that the change is audited
// and no sidecar starts meanwhile.
func (p *program) changeDirectory(ctx context.Context, s config.Settings, do func(context.Context, *client.Client) error) error {
	if err := requireDirectory(s); err != nil {
		return err
	}
	log := p.logger(s)
	log.SetLevel(hclog.Error) // the result reports success
	handler, end, err := sidecar.ChangeDirectory(ctx, s, p.environ, log)
	if err != nil {
		return err
	}
	defer end()
	here := client.InProcess(api.AsOwn(handler))
	defer here.Close()
	return negative(do(ctx, here))
}
