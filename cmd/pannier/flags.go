package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier/config"
)

// The shared flags of a command, by what the command does. Only `pannier run` has the flags of all settings.
var (
	asksSidecar   = []string{"workspace", "socket", "url", "token-file", "ca-file", "config"}
	readsSkills   = append(slices.Clip(asksSidecar), "root", "runtime")
	readsSettings = []string{"workspace", "config"}
)

// sharedFlags returns the flags of all settings and those of [remoteFlags]. Commands share them by name with [program.share].
func sharedFlags(remote *remoteFlags) *pflag.FlagSet {
	flags := pflag.NewFlagSet("pannier", pflag.ContinueOnError)
	config.AddFlags(flags)
	remote.add(flags)
	return flags
}

func (p *program) share(cmd *cobra.Command, names ...string) *cobra.Command {
	for _, name := range names {
		cmd.Flags().AddFlag(p.flags.Lookup(name))
	}
	return cmd
}

func (p *program) shareSettings(cmd *cobra.Command) *cobra.Command {
	p.flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(remoteNames, f.Name) {
			cmd.Flags().AddFlag(f)
		}
	})
	return cmd
}
