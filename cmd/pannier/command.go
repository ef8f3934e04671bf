package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) commandCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "command",
		Short: "List and run the slash commands of skills",
		Example: `  pannier command list
  pannier command run pdf-forms fill in form.pdf`,
	}, p.commandListCommand(), p.commandRunCommand())
}

func (p *program) commandListCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:     "list",
		Short:   "List every command by the name that a chat platform can register",
		Example: "  pannier command list",
		Args:    cobra.NoArgs,
		RunE: reads(p, p.printCommands, func(ctx context.Context, c *client.Client, _ []string) (pannier.CommandList, error) {
			return c.Commands(ctx)
		}),
	}), readsSkills...)
}

func (p *program) commandRunCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:   "run NAME [ARGS...]",
		Short: "Print what an agent gets for a command with arguments",
		Long: `Prints what an agent gets for a command: the text of the skill, then the arguments. It runs
nothing. NAME is a name that "pannier command list" shows, /skill:<slug>, a slug, or the name of
the command in the skill.`,
		Example: `  pannier command run pdf-forms fill in form.pdf
  pannier command run /skill:pdf-forms -- --a4 form.pdf`,
		Args: cobra.MinimumNArgs(1),
		RunE: reads(p, p.printRun, func(ctx context.Context, c *client.Client, args []string) (pannier.CommandRun, error) {
			return c.RunCommand(ctx, args[0], strings.Join(args[1:], " "))
		}),
	}), readsSkills...)
}

func (s streams) printCommands(list pannier.CommandList) error {
	if len(list.Commands) == 0 {
		fmt.Fprintln(s.err, "no commands")
		return nil
	}
	rows := [][]string{{"NAME", "SKILL", "KIND", "ABOUT"}}
	for _, c := range list.Commands {
		about := c.Description
		if c.Args != "" {
			about = c.Args + ": " + about
		}
		rows = append(rows, []string{c.Name, plain.Shorten(c.Slug, 40), string(c.SourceKind), strings.Join(strings.Fields(about), " ")})
	}
	s.fit(rows)
	return s.table(rows)
}

// printRun prints the text line by line, without what a terminal would obey.
func (s streams) printRun(run pannier.CommandRun) error {
	for _, warning := range run.Warnings {
		fmt.Fprintf(s.err, "%s %s\n", s.complain.severity(pannier.SeverityWarning), plain.Text(warning))
	}
	text := plain.Lines(run.Text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(s.out, text)
	return err
}
