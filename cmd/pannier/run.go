package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"pannier/admin/changes"
	"pannier/sidecar"
)

func (p *program) runCommand() *cobra.Command {
	return p.shareSettings(&cobra.Command{
		Use:   "run",
		Short: "Run the sidecar",
		Long: `Runs the sidecar until SIGTERM or SIGINT. SIGHUP rescans the workspace. If the sidecar runs on a
terminal, SIGHUP stops it, because the terminal was closed; use nohup or setsid to keep it running.

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
			onTerminal := hasTerminal()
			signal.Notify(hangups, syscall.SIGHUP)
			// The sidecar outlives the reader of its log. Other commands end when their output is closed.
			signal.Ignore(syscall.SIGPIPE)
			s, err := p.settings()
			if err != nil {
				return err
			}
			o := sidecar.Options{Settings: s, Environ: p.environ, Build: build(), LogTo: p.err, Changes: changes.Module, Modules: modules()}
			stops := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
			if onTerminal {
				stops = append(stops, syscall.SIGHUP)
			} else {
				o.Hangups = hangups
			}
			o.NewLogger = func(to io.Writer) hclog.Logger { return p.newLogger(s, to) }
			// Before the socket is open: from then on a signal is a request to stop.
			ctx, stop := signal.NotifyContext(cmd.Context(), stops...)
			defer stop()
			// A second signal ends the process at once, but for SIGHUP: the kernel and the shell may both send it.
			context.AfterFunc(ctx, stop)
			daemon, err := sidecar.New(o)
			if err != nil {
				return err
			}
			return daemon.Run(ctx)
		},
	})
}

// hasTerminal reports whether a SIGHUP means that a terminal was closed: the terminal of stdin or stderr is that of the session, and
// the signal is not ignored, as under nohup.
func hasTerminal() bool {
	session, err := unix.Getsid(0)
	if err != nil || signal.Ignored(syscall.SIGHUP) {
		return false
	}
	return slices.ContainsFunc([]*os.File{os.Stdin, os.Stderr}, func(file *os.File) bool {
		of, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGSID)
		return err == nil && of == session
	})
}
