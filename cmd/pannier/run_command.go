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
	return &cobra.Command{
		Use:   "run",
		Short: "Run the sidecar",
		Long: `Runs the sidecar until it is told to stop by SIGTERM or SIGINT. SIGHUP makes it look at everything again.

Without --platform-url an embedded development platform takes the agent card. It has no port: only this process reaches it.
--platform-url=off pushes nothing.

On a terminal the log has short lines: a summary once the sidecar is ready, then one for each change, push and problem.
Elsewhere, or with --log-format=text or json, it has every record with all of its fields.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseFarFlags(cmd.Flags()); err != nil {
				return err
			}
			// From the first moment to the last, or else a SIGHUP then would end the process.
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			// A log whose reader has gone is no reason to end. Other commands do end when nobody takes their output.
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
	}
}
