package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"pannier/sidecar"
)

func init() { commands = append(commands, (*program).runCommand) }

func (p *program) runCommand() *cobra.Command {
	return p.shareSettings(&cobra.Command{
		Use:     "run",
		GroupID: groupSidecar,
		Short:   "Run the sidecar",
		Long: `Runs the sidecar until SIGTERM or SIGINT. SIGHUP rescans the workspace.

Without --platform-url, the agent card goes to an embedded development platform, which only this
process can reach. --platform-url=off pushes nothing.

On a terminal, the log has short lines: a summary when the sidecar is ready, then one line for
each change, push and problem. Elsewhere, and with --log-format=text or json, it has all fields.`,
		Example: `  pannier run --workspace ./agent --platform-url off
  pannier run --workspace /configs --listen 127.0.0.1:9090 --platform-url https://platform.example`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// For the whole lifetime: an unhandled SIGHUP would end the process.
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			// The sidecar outlives the reader of its log. Other commands end when their output is closed.
			signal.Ignore(syscall.SIGPIPE)
			s, err := p.settings()
			if err != nil {
				return err
			}
			o := sidecar.Options{Settings: s, Environ: p.environ, Build: build(), LogTo: p.err, Hangups: hangups}
			o.NewLogger = func(to io.Writer) hclog.Logger { return p.newLogger(s, to) }
			daemon, err := sidecar.New(o)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process at once
			return daemon.Run(ctx)
		},
	})
}
