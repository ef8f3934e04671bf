package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"pannier/internal/plain"
)

const helpColumns = 100

// mainSettings are the flags of `pannier run` that its help shows; the topic "settings" shows all.
var mainSettings = []string{
	"workspace", "root", "socket", "listen", "api-listen", "platform-url", "platform-token-file", "state-dir", "scan", "log-level", "config",
}

func (p *program) printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s\n\n", strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
	switch {
	case cmd == p.root:
		fmt.Fprintln(w, "Usage: pannier COMMAND [flags]")
		for _, group := range p.root.Groups() {
			printCommands(w, group.Title, slices.DeleteFunc(slices.Clone(p.root.Commands()), func(c *cobra.Command) bool { return c.GroupID != group.ID }))
		}
		fmt.Fprintf(w, "Example: %s\n", strings.TrimSpace(p.root.Example))
		fmt.Fprintln(w, `Run "pannier COMMAND --help" for flags, "pannier help settings" for all settings.`)
		return
	case cmd.IsAdditionalHelpTopicCommand():
		return
	}
	fmt.Fprintf(w, "Usage: %s\n", cmd.UseLine())
	printCommands(w, "\nCommands:", cmd.Commands())
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExample:\n%s\n", cmd.Example)
	}
	own, shared := p.splitFlags(cmd)
	printFlags(w, "Flags:", own)
	printFlags(w, "Workspace and sidecar:", shared)
	switch {
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(w, "\nRun \"%s COMMAND --help\" for flags and examples.\n", cmd.CommandPath())
	case cmd.Name() == "run":
		fmt.Fprintln(w, "\nEvery setting is a flag: run \"pannier help settings\" to see all.")
	}
}

func printCommands(w io.Writer, title string, commands []*cobra.Command) {
	if commands = slices.DeleteFunc(slices.Clone(commands), func(c *cobra.Command) bool { return !c.IsAvailableCommand() }); len(commands) == 0 {
		return
	}
	width := 0
	for _, c := range commands {
		width = max(width, plain.Cells(c.Name()))
	}
	fmt.Fprintln(w, title)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-*s  %s\n", max(width, len("environment")), c.Name(), c.Short)
	}
}

// splitFlags returns the flags of a command that its help shows: its own, and those that it shares with others.
func (p *program) splitFlags(cmd *cobra.Command) (own, shared *pflag.FlagSet) {
	own, shared = pflag.NewFlagSet("own", pflag.ContinueOnError), pflag.NewFlagSet("shared", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help", f.Hidden:
		case p.flags.Lookup(f.Name) != f, cmd.Name() == "run" && slices.Contains(mainSettings, f.Name):
			own.AddFlag(f)
		case cmd.Name() != "run":
			shared.AddFlag(f)
		}
	})
	return own, shared
}

func printFlags(w io.Writer, title string, flags *pflag.FlagSet) {
	if flags.HasFlags() {
		fmt.Fprintf(w, "\n%s\n%s", title, flags.FlagUsagesWrapped(helpColumns))
	}
}

func (p *program) settingsTopic() *cobra.Command {
	all := p.shareSettings(&cobra.Command{}).Flags()
	return &cobra.Command{
		Use:   "settings",
		Short: "Every setting of the sidecar",
		Long: `Every setting of the sidecar, as a flag of "pannier run". For all commands, a variable and a key
of the file of --config do the same: --install-enabled is PANNIER_INSTALL_ENABLED and
install.enabled. A flag wins over the variable, the variable over the file.

` + all.FlagUsagesWrapped(helpColumns),
	}
}

func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the manual pages into a directory",
		Example: "  pannier man ./man1",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("make directory: %w", err)
			}
			p.root.DisableAutoGenTag = true
			if err := doc.GenManTree(p.root, &doc.GenManHeader{Section: "1", Source: "pannier " + version(), Manual: "pannier"}, args[0]); err != nil {
				return fmt.Errorf("write manual: %w", err)
			}
			return nil
		},
	}
}
