package main

import (
	"context"
	"fmt"
	"net"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"pannier/publish/api"
	"pannier/publish/molecule/dev"
)

// maxPlatformConns is how many connections a development platform takes at one time; half of them can be event streams.
const maxPlatformConns = 512

func (p *program) platformCommand() *cobra.Command {
	var workspaces []string
	var listen string
	var rateLimit int
	cmd := &cobra.Command{
		Use:   "platform --workspace ID[:TOKEN]",
		Short: "Run the development platform on its own",
		Long: `Runs a platform for development: the registry endpoint, workspaces and event stream of Molecule's
platform, in memory. It knows each --workspace from the start; without a token, it prints a new
one.

It serves programs, not web pages. It refuses requests with an Origin or a Referer, and on a
loopback address also requests for another host name than localhost. On any other address, every
machine that reaches the port can register workspaces. A body is application/json of at most 8
MiB; all cards together have at most 32 MiB.`,
		Example: "  pannier platform --listen 127.0.0.1:8080 --workspace 6c5f6b0e-3c52-4d0e-9f4e-0f4a3c9a2b11:secret",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return p.runPlatform(ctx, listen, rateLimit, workspaces)
		},
	}
	cmd.Flags().StringArrayVar(&workspaces, "workspace", nil, "a workspace as `ID:TOKEN` or ID; the ID is a UUID; repeatable")
	cmd.Flags().IntVar(&rateLimit, "rate-limit", dev.RateLimit, "requests per minute of one address; 0 for no limit")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "TCP `address`; port 0 takes a free port")
	return cmd
}

// runPlatform serves a development platform until ctx is done. Its address and the tokens that it made go to stdout.
func (p *program) runPlatform(ctx context.Context, listen string, rateLimit int, workspaces []string) error {
	log := hclog.New(&hclog.LoggerOptions{Name: "pannier", Output: p.err, Level: hclog.Info})
	devPlatform := dev.New(dev.Options{Logger: log, RateLimit: rateLimit})
	for _, w := range workspaces {
		id, token, given := strings.Cut(w, ":")
		made, err := devPlatform.Seed(id, token)
		if err != nil {
			devPlatform.Close()
			return fmt.Errorf("--workspace %s: %w", id, err)
		}
		if !given {
			fmt.Fprintf(p.out, "workspace %s token %s\n", id, made)
		}
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		devPlatform.Close()
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(p.out, "platform http://%s\n", ln.Addr())
	server := devPlatform.Server()
	return devPlatform.Serve(ctx, server, api.Bound(server, ln, maxPlatformConns))
}
