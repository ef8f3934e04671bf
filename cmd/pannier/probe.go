package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/publish/client"
)

// probeTimeout is how long a probe waits for its answer. A sidecar that takes longer has given one.
const probeTimeout = 2 * time.Second

func init() { commands = append(commands, (*program).probeCommand) }

func (p *program) probeCommand() *cobra.Command {
	var startup, ready, live bool
	cmd := &cobra.Command{
		Use:     "probe",
		GroupID: groupSidecar,
		Short:   "Check that the sidecar is ready or alive",
		Long: `Asks the sidecar on its socket, for containers without a shell. The sidecar has two seconds to
answer.

--startup and --ready check that the first scan of the workspace is served. A ready sidecar stays
ready. --live checks that the sidecar still processes changes; it does not depend on the platform.
The command reads no setting except the socket.

Exit codes: 0 yes; 1 no; 2 failure; 3 no sidecar answers.`,
		Example: `  pannier probe --ready
  pannier probe --live --socket /run/pannier/pannier.sock`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			socket, err := config.SocketPath(p.flags, p.environ)
			if err != nil {
				return fmt.Errorf("settings: %w", err)
			}
			path := "/readyz"
			if live {
				path = "/livez"
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), probeTimeout)
			defer cancel()
			return probe(ctx, socket, path)
		},
	}
	cmd.Flags().BoolVar(&startup, "startup", false, "check that the first scan is served")
	cmd.Flags().BoolVar(&ready, "ready", false, "the same; the default")
	cmd.Flags().BoolVar(&live, "live", false, "check that the sidecar still processes changes")
	cmd.MarkFlagsMutuallyExclusive("startup", "ready", "live")
	return p.share(cmd, "socket", "config")
}

// probe asks the sidecar behind a socket one question and returns nil where the answer is yes.
func probe(ctx context.Context, socket, path string) error {
	c := client.New(socket)
	defer c.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pannier"+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return unanswered(err, socket)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return unanswered(err, socket)
	}
	no := &exitError{code: exitNo, message: fmt.Sprintf("%s answered %s", path, res.Status)}
	var doc pannier.ErrorDocument
	if json.Unmarshal(text, &doc) == nil && doc.Detail != "" {
		no.message, no.hint = plain.Text(doc.Detail), plain.Text(doc.Hint)
	}
	return no
}

// unanswered returns the error of a probe by its cause: no sidecar, no answer in time, or a socket without permission.
func unanswered(err error, socket string) error {
	e := &exitError{code: exitUnknown, message: "reach the sidecar: " + err.Error()}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		e.code, e.message, e.hint = exitNoSidecar, "no sidecar answers at "+socket, "start one with `pannier run`, or name its socket with --socket"
	case errors.Is(err, context.DeadlineExceeded):
		e.code, e.message = exitNo, fmt.Sprintf("the sidecar at %s has not answered within %s", socket, probeTimeout)
	case errors.Is(err, fs.ErrPermission):
		e.hint = "run as the user or the group of " + socket
	}
	return e
}
