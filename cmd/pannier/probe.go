package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"pannier/config"
	"pannier/publish/client"
)

// probeTimeout is how long a probe waits for its answer. A sidecar that takes longer has given one.
const probeTimeout = 2 * time.Second

func (p *program) probeCommand() *cobra.Command {
	var startup, ready, live bool
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Check that the sidecar is ready or alive",
		Long: `Asks the sidecar on its socket, for containers without a shell. The sidecar has two seconds to
answer.

--startup and --ready check that the first scan of the workspace is served and all of it is watched.
A ready sidecar stays ready. --live checks that the sidecar still processes changes; it does not
depend on the platform. The command reads no setting except the socket.

Exit codes: 0 yes; 1 no; 2 failure; 3 no sidecar answers.`,
		Example: `  pannier probe --ready
  pannier probe --live --socket /run/pannier/pannier.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			socket, err := config.SocketPath(p.flags, p.environ)
			if err != nil {
				return fmt.Errorf("settings: %w", err)
			}
			ask := (*client.Client).Ready
			if live {
				ask = (*client.Client).Live
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), probeTimeout)
			defer cancel()
			c := client.New(socket)
			defer c.Close()
			if err := ask(c, ctx); err != nil {
				return probeError(err, socket)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&startup, "startup", false, "check that the first scan is served")
	cmd.Flags().BoolVar(&ready, "ready", false, "the same; the default")
	cmd.Flags().BoolVar(&live, "live", false, "check that the sidecar still processes changes")
	cmd.MarkFlagsMutuallyExclusive("startup", "ready", "live")
	return p.share(cmd, "socket", "config")
}

// probeError returns the error of a probe by its cause: a negative answer, no sidecar, no answer in time, or a socket without
// permission.
func probeError(err error, socket string) error {
	e := failure("reach the sidecar: "+err.Error(), "")
	no, answered := errors.AsType[*client.Error](err)
	switch {
	case answered:
		e.code, e.message, e.hint = exitNo, no.Detail, no.Hint
	case errors.Is(err, client.ErrNoSidecar):
		e = &exitError{exitNoSidecar, "no sidecar answers at " + socket, startHint}
	case errors.Is(err, context.DeadlineExceeded):
		e.code, e.message = exitNo, fmt.Sprintf("the sidecar at %s has not answered within %s", socket, probeTimeout)
	case errors.Is(err, fs.ErrPermission):
		e.hint = "run as the user or the group of " + socket
	}
	return e
}
