package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/fsx"
	"pannier/publish/client"
	"pannier/sidecar"
)

func (p *program) environmentCommand() *cobra.Command {
	var config, mcp []string
	var file string
	var put, show bool
	cmd := &cobra.Command{
		Use:   "environment",
		Short: "Report the environment of the agent to the sidecar",
		Long: `Prints as JSON what this container offers to skills: system, names of executables, names of
variables. It never prints values of variables.

Run it in the container of the agent: the sidecar then checks the requirements of skills against
the agent's container. Send the result over the socket with --put, or write it with --to to the
file that the setting environment.file of the sidecar names.`,
		Example: `  pannier environment --put
  pannier environment --to /configs/.environment.json
  pannier environment --show`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show {
				return reads(p, func(env pannier.Environment) error { return p.printJSON(env) },
					func(ctx context.Context, c *client.Client, _ []string) (pannier.Environment, error) {
						return c.Environment(ctx)
					})(cmd, nil)
			}
			env := sidecar.OwnEnvironment(p.environ, "")
			env.At = time.Now().UTC().Truncate(time.Second)
			env.Config, env.MCP = sortedNames(config), sortedNames(mcp)
			switch {
			case put:
				return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
					taken, err := c.PutEnvironment(ctx, env)
					if err != nil {
						return err
					}
					if taken.Source != pannier.EnvironmentAgent {
						_ = sayf(p.err, "stored, but not in effect: the environment of the %s is newer", taken.Source)
					}
					return sayf(p.out, "requirements are checked against the environment of the %s: %s/%s, %d executables, %d variables",
						taken.Source, taken.OS, taken.Arch, len(taken.Bins), len(taken.Env))
				})
			case file != "":
				return writeEnvironment(file, env)
			}
			return p.printJSON(env)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&put, "put", false, "send the environment to the sidecar")
	flags.StringVar(&file, "to", "", "write the environment into this `file`")
	flags.BoolVar(&show, "show", false, "print the environment that the sidecar uses")
	flags.StringSliceVar(&config, "config-key", nil, "`name` of a configuration key of the agent; repeatable")
	flags.StringSliceVar(&mcp, "mcp", nil, "`name` of an MCP server of the agent; repeatable")
	cmd.MarkFlagsMutuallyExclusive("put", "to", "show")
	return p.share(cmd, readsSkills...)
}

func sortedNames(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	return append([]string{}, slices.Compact(sorted)...)
}

// writeEnvironment replaces a file by rename, so that the sidecar never reads half of it.
func writeEnvironment(path string, env pannier.Environment) error {
	text, err := compactJSON(env)
	if err != nil {
		return err
	}
	err = fsx.WriteFile(path, append(text, '\n'), fsx.WriteOptions{Prepare: func(f *os.File) error {
		return f.Chmod(0o644) // the sidecar may run as another user
	}})
	if err != nil {
		return failure("write environment: "+err.Error(), "name a file in a writable directory")
	}
	return nil
}
