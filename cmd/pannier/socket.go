package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pannier/config"
)

func (p *program) socketCommand() *cobra.Command {
	return p.share(&cobra.Command{
		Use:   "socket",
		Short: "Print the path of the socket",
		Long: `Prints the path of the socket that the sidecar serves and clients use. The first that is set
counts: --socket, PANNIER_SOCKET, the settings file; /run/pannier for root;
$XDG_RUNTIME_DIR/pannier; $XDG_STATE_HOME/pannier; $HOME/.local/state/pannier. It does not check
that a sidecar answers; "pannier health" does.`,
		Example: `  curl --unix-socket "$(pannier socket)" http://pannier/v1/skills`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			socket, err := p.socketPath()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, socket)
			return err
		},
	}, "socket", "config")
}

// socketPath returns the path of the socket, and reads no other setting.
func (p *program) socketPath() (string, error) {
	socket, err := config.SocketPath(p.flags, withoutRemote(p.environ))
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	return socket, nil
}
