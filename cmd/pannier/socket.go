package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"pannier/config"
)

func init() { commands = append(commands, (*program).socketCommand) }

func (p *program) socketCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "socket",
		Short: "Print the path of the socket that the sidecar serves and clients ask",
		Long: `Prints the path of the socket, by the rule that the sidecar and all clients share. The first that applies:
--socket, PANNIER_SOCKET, or the settings file; /run/pannier for root; $XDG_RUNTIME_DIR/pannier; $XDG_STATE_HOME/pannier;
$HOME/.local/state/pannier. It does not check that a sidecar answers there; "pannier health" does.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			socket, err := p.socketPath()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.out, socket)
			return err
		},
	}
}

// sidecarAddress returns what health prints of where the sidecar answers: its URL where one is named, else its socket.
func (p *program) sidecarAddress() []string {
	if far := p.far.or(p.environ); far.url != "" {
		return []string{"url", far.url}
	}
	socket, err := p.socketPath()
	if err != nil {
		socket = err.Error()
	}
	return []string{"socket", socket}
}

// socketPath returns the path of the socket, and reads no other setting.
func (p *program) socketPath() (string, error) {
	socket, err := config.SocketPath(p.root.PersistentFlags(), withoutFar(p.environ))
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	return socket, nil
}
