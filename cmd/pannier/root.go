package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier/config"
	"pannier/publish/client"
	"pannier/sidecar"
)

// The exit codes, everywhere the same.
const (
	exitYes       = 0 // success
	exitNo        = 1 // a negative answer
	exitUnknown   = 2 // wrong usage or failure
	exitNoSidecar = 3 // no sidecar where one is needed
)

// exitError ends the process with a code. Without a message, nothing more is printed.
type exitError struct {
	code    int
	message string
	hint    string
}

// Error implements error.
func (e *exitError) Error() string { return e.message }

// failure is the error of wrong usage, or of what could not be done.
func failure(message, hint string) *exitError { return &exitError{exitUnknown, message, hint} }

// answerNo is the error of a negative answer.
func answerNo(message, hint string) *exitError { return &exitError{exitNo, message, hint} }

// suggest adds the one of some names that another may stand for.
func (e *exitError) suggest(names []string, name string) {
	if meant := similarName(names, name); meant != "" && meant != name {
		e.message += fmt.Sprintf("; did you mean %q?", meant)
	}
}

func execute(ctx context.Context, args []string, std streams, environ []string) int {
	cmd := newRoot(std, environ)
	cmd.SetArgs(args)
	cmd.SetOut(std.out)
	cmd.SetErr(std.err)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitYes
	}
	e := failure(err.Error(), "")
	if _, after, ok := strings.Cut(e.message, "if any flags in the group ["); ok { // the library reports it as text alone
		if group, _, ok := strings.Cut(after, "]"); ok {
			e = failure("only one of --"+strings.Join(strings.Fields(group), ", --")+" can be given", "leave the others out")
		}
	}
	if failed, ok := errors.AsType[*sidecar.Error](err); ok {
		e.message, e.hint = failed.Message, failed.Hint
	}
	errors.As(err, &e)
	std.printError(e)
	return e.code
}

type program struct {
	streams
	environ []string
	root    *cobra.Command
	json    bool
	listing bool // a directory is read for a list of its skills
	remote  remoteFlags
	// flags are those that commands share: every setting, and how a sidecar is reached over TCP.
	flags *pflag.FlagSet
}

func newRoot(std streams, environ []string) *cobra.Command {
	p := &program{streams: std, environ: environ}
	p.root = &cobra.Command{
		Use:   "pannier",
		Short: "Keep the skills of an agent live",
		Long: `pannier serves the skills of an agent. Commands ask its sidecar; most read the files without one.
Exit codes: 0 success; 1 negative answer; 2 wrong usage or failure; 3 no sidecar answers.`,
		Example:       "  pannier run --workspace ./agent",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionLine(),
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	p.root.SetVersionTemplate("{{.Version}}\n")
	p.root.SetHelpFunc(p.printHelp)
	p.flags = pflag.NewFlagSet("pannier", pflag.ContinueOnError)
	config.AddFlags(p.flags)
	p.remote.add(p.flags)
	p.addGroup("Sidecar:", p.runCommand(), p.consoleCommand(), p.healthCommand(), p.eventsCommand(), p.mcpCommand(), p.linkCommand(),
		p.environmentCommand(), p.runnerCommand(), p.probeCommand(), p.socketCommand(), p.versionCommand())
	p.addGroup("Skills:", p.listCommand(), p.findCommand(), p.showCommand(), p.installCommand(), p.updateCommand(),
		p.uninstallCommand(), p.rollbackCommand(), p.resolveCommand(), p.promptCommand(), p.commandCommand(), p.cardCommand(),
		p.auditCommand(), p.scanCommand(), p.publishCommand(), p.promoteCommand())
	p.addGroup("Operators:", p.policyCommand(), p.toolCommand(), p.auditLogCommand(), p.tokenCommand(), p.replayCommand(),
		p.platformCommand())
	p.root.AddCommand(p.manCommand(), p.settingsTopic())
	checkDefaultCommands(p.root)
	p.explainUsage(p.root)
	p.completeArguments()
	return p.root
}

func (p *program) addGroup(title string, commands ...*cobra.Command) {
	p.root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	p.root.AddCommand(commands...)
}

// parent makes a command one that only has subcommands.
func parent(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = noSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// noSuchCommand refuses every argument of a command that has subcommands, and suggests similar subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := failure(fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()),
		fmt.Sprintf("run \"%s --help\" to see all commands", cmd.CommandPath()))
	cmd.SuggestionsMinimumDistance = 2
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		e.message += `; did you mean "` + strings.Join(meant, `" or "`) + `"?`
	}
	return e
}

// settings returns the settings that the command line, the variables and the settings file give.
func (p *program) settings() (config.Settings, error) {
	s, err := config.Load(p.flags, withoutRemote(p.environ))
	if err != nil {
		return config.Settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// output returns a function that prints the result of a request: with --json as JSON, else by print.
func output[T any](p *program, print func(T) error) func(T, error) error {
	return func(result T, err error) error {
		switch {
		case err != nil:
			return err
		case p.json:
			return p.printJSON(result)
		}
		return print(result)
	}
}

// judged ends a command whose output is printed with the code of a negative answer.
func judged(err error, negative bool) error {
	if err == nil && negative {
		return &exitError{code: exitNo}
	}
	return err
}

type (
	// request is what a command does with a client of the sidecar.
	request = func(context.Context, *client.Client) error
	// question is a request whose answer is printed, with the arguments of the command.
	question[T any] = func(ctx context.Context, c *client.Client, args []string) (T, error)
	// action is what a command does.
	action = func(*cobra.Command, []string) error
)

// asks returns the action of a command that prints what one request to a sidecar returns.
func asks[T any](p *program, print func(T) error, ask question[T]) action {
	return func(cmd *cobra.Command, args []string) error {
		return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			return output(p, print)(ask(ctx, c, args))
		})
	}
}

// reads returns the action of a command that prints what one request returns. Without a sidecar it reads the directory.
func reads[T any](p *program, print func(T) error, ask question[T]) action {
	return func(cmd *cobra.Command, args []string) error {
		return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			return output(p, print)(ask(ctx, c, args))
		})
	}
}

// variable returns the value of a variable; empty where it is not set.
func variable(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (p *program) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON")
	return cmd
}
