package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"pannier/admin/changes"
	"pannier/config"
	"pannier/internal/logpipe"
	"pannier/publish/client"
	"pannier/publish/mcp/bridge"
	"pannier/sidecar"
)

func (p *program) mcpCommand() *cobra.Command {
	printConfig := false
	var f installFlags
	cmd := &cobra.Command{
		Use:   "mcp [HOST]",
		Short: "Serve the skills to an MCP host on standard input and output",
		Long: `Serves the skills to a program that speaks the Model Context Protocol and starts its servers as
commands. It ends when its standard input is closed.

If a sidecar of the workspace answers, the command forwards to it. The sidecar may restart; the host
does not have to. If none answers, the command watches the skills itself, in memory, for as long as
it runs, and writes no file. With --url, or with --socket alone, it only forwards.

Without --workspace and --root, it accepts the workspace of the sidecar. If none answers, it serves
the directories .agents/skills, .claude/skills and skills that exist here, in the parents up to the
root of the repository, and in the home directory.

With --print-config it prints the lines for the configuration of HOST, with the other flags of the
command line; without HOST it lists the hosts. With --install it adds them to the file of the
project, else of the user, and keeps the file as it was in FILE.before-pannier.`,
		Example: `  pannier mcp --workspace ./agent
  pannier mcp --print-config
  pannier mcp --install claude-code --workspace ./agent --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case printConfig && len(args) == 0:
				rows := [][]string{{"HOST", "PROGRAM", "FILE"}}
				for _, h := range hostConfigs {
					rows = append(rows, []string{h.name, h.title, h.file()})
				}
				return p.table(rows)
			case printConfig:
				return p.printHostConfig(cmd.Flags(), args[0])
			case f.install && len(args) > 0:
				return p.installHost(cmd.Flags(), f, args[0])
			case f.install || f.user || f.remove || f.dryRun:
				return failure("--user, --remove and --dry-run need --install HOST", `run "pannier mcp --print-config" to see all hosts`)
			case len(args) > 0:
				return &exitError{
					code: exitUnknown, message: fmt.Sprintf("unexpected argument %q", args[0]),
					hint: "run \"pannier mcp --print-config " + args[0] + "\" for the configuration of a host",
				}
			}
			return p.serveMCP(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the configuration for HOST, or list the hosts")
	f.add(cmd)
	return p.share(cmd, readsSkills...)
}

// mcpEndpoint is the path of the MCP endpoint of a sidecar. The host is not used on a socket.
const mcpEndpoint = "http://pannier/mcp"

// mcpEndTimeout is how long the sidecar of this process may take to end. It has nothing to write.
const mcpEndTimeout = 300 * time.Millisecond

func (p *program) serveMCP(ctx context.Context) error {
	signal.Ignore(syscall.SIGPIPE) // the bridge ends when its output is closed
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	if isTerminal(os.Stdin) {
		fmt.Fprintln(p.err, "pannier: waiting for messages of an MCP host on standard input; "+
			"\"pannier mcp --print-config\" connects one")
	}
	if remote := p.remote.or(p.environ); remote.url != "" {
		c, err := remote.client()
		if err != nil {
			return err
		}
		return p.forwardMCP(ctx, config.Settings{Log: config.Log{Level: "warn", Format: "auto"}}, c,
			"the sidecar at "+remote.url)
	}
	s, err := p.mcpSettings()
	if err != nil {
		return err
	}
	served, err := p.isServed(ctx, s)
	if err != nil {
		return err
	}
	if served {
		return p.forwardMCP(ctx, s, client.New(s.Socket.Path), "the sidecar at "+s.Socket.Path)
	}
	if s, err = p.ownWorkspace(s); err != nil {
		return err
	}
	return p.serveOwnMCP(ctx, s)
}

// isServed reports whether a sidecar serves what the settings name. A socket that is named alone counts, because the
// sidecar may start later; other roots than those of the sidecar do not.
func (p *program) isServed(ctx context.Context, s config.Settings) (bool, error) {
	if s.Given.Roots && !s.Given.Workspace {
		return false, nil
	}
	c, err := p.reach(ctx, s)
	if err == nil {
		c.Close()
		return true, nil
	}
	if !errors.Is(err, client.ErrNoSidecar) {
		return false, err
	}
	return s.Given.Socket && !s.Given.Workspace, nil
}

func (p *program) forwardMCP(ctx context.Context, s config.Settings, c *client.Client, server string) error {
	defer c.Close()
	forwarding := c.HTTP
	forwarding.Timeout = 0
	return p.runBridge(ctx, s, &forwarding, server)
}

// serveOwnMCP serves the workspace by a sidecar in this process.
func (p *program) serveOwnMCP(ctx context.Context, s config.Settings) error {
	own, err := sidecar.New(sidecar.Options{
		Settings: s, Environ: p.environ, Build: build(), LogTo: p.err, Changes: changes.Module, Modules: modules(), Private: true,
		NewLogger: p.mcpLogger(s),
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- own.Run(ctx)
		stop()
	}()
	transport := &http.Transport{DialContext: own.Dial}
	err = p.runBridge(ctx, s, &http.Client{Transport: transport}, "the sidecar in this process")
	stop()
	transport.CloseIdleConnections()
	select {
	case failed := <-ended:
		return errors.Join(err, failed)
	case <-time.After(mcpEndTimeout):
		return err
	}
}

// maxBridgeLog bounds the log lines that wait for a host that does not read them, in bytes.
const maxBridgeLog = 64 << 10

func (p *program) runBridge(ctx context.Context, s config.Settings, to *http.Client, server string) error {
	lines := logpipe.New(logpipe.Options{To: p.err, MaxBytes: maxBridgeLog, Told: func(uint64) []byte { return nil }})
	defer lines.Close(mcpEndTimeout)
	return bridge.Run(ctx, bridge.Options{
		HTTP: to, Endpoint: mcpEndpoint, Server: server, In: os.Stdin, Out: p.out, Log: p.mcpLogger(s)(lines).Named("mcp"),
	})
}
