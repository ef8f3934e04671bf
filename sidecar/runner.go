package sidecar

import (
	"context"
	"errors"
	"net/http"

	"pannier/config"
	"pannier/publish/api"
	"pannier/tools/execute"
	"pannier/tools/runner"
)

// openRunner makes what carries programs of tools out, as the settings say.
func (c *core) openRunner(environ []string) {
	t := c.settings.Tools
	switch {
	case !t.Enabled:
	case t.Runner == config.RunnerAgent:
		c.hub = runner.NewHub(c.agentWorkspace(), c.log.Named("runner"))
		c.runner = c.hub
	case t.Runner == config.RunnerSelf:
		self, err := execute.New(execute.Options{
			UID: int(t.UID), Environ: environ, Projects: t.ProjectDirs, Private: c.settings.PrivatePaths(), Version: c.build.Version,
		})
		if err != nil {
			c.log.Error("tools cannot run here", "error", err)
			c.selfErr = err
			return
		}
		c.self, c.runner = self, self
	}
}

// closeRunner ends tools that run in this process's container once ctx is done.
func (c *core) closeRunner(ctx context.Context) error {
	<-ctx.Done()
	if c.self != nil {
		c.self.Close()
	}
	return nil
}

// runnerAPI is how a runner in the agent's container connects.
func (c *core) runnerAPI() api.Runner {
	if c.hub == nil {
		return api.Runner{}
	}
	return api.Runner{UIDs: c.settings.Tools.RunnerUIDs, Accept: func(w http.ResponseWriter, r *http.Request, stop context.Context) error {
		err := c.hub.Accept(w, r, stop)
		if errors.Is(err, runner.ErrConnected) {
			return api.ErrRunnerConnected
		}
		return err
	}}
}
