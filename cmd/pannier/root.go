package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier/config"
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

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, std streams, environ []string) int {
	cmd := newRoot(std, environ)
	cmd.SetArgs(args)
	cmd.SetOut(std.out)
	cmd.SetErr(std.err)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitYes
	}
	e := groupError(err)
	if failed, ok := errors.AsType[*sidecar.Error](err); ok {
		e.message, e.hint = failed.Message, failed.Hint
	}
	errors.As(err, &e)
	std.printError(e)
	return e.code
}

// program is what all subcommands share.
type program struct {
	streams
	environ []string
	root    *cobra.Command
	json    bool
	remote  remoteFlags
	// flags are those that commands share: every setting, and how a sidecar is reached over TCP.
	flags *pflag.FlagSet
}

// commands make the subcommands. The file of each command adds its own.
var commands []func(*program) *cobra.Command

func newRoot(std streams, environ []string) *cobra.Command {
	p := &program{streams: std, environ: environ}
	p.root = &cobra.Command{
		Use:   "pannier",
		Short: "Keep the skills of an agent live",
		Long: `pannier watches the skills of an agent, serves them on a unix socket and pushes the agent card.
Commands ask the sidecar of the workspace; most read the directory if no sidecar runs.

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
	p.root.AddGroup(groups...)
	p.flags = sharedFlags(&p.remote)
	for _, command := range commands {
		p.root.AddCommand(command(p))
	}
	p.root.AddCommand(p.settingsTopic())
	checkDefaultCommands(p.root)
	p.explainUsage(p.root)
	p.completeArguments()
	return p.root
}

// noSuchCommand refuses every argument of a command that has subcommands, and suggests similar subcommands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := &exitError{code: exitUnknown, message: fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()), hint: fmt.Sprintf("run \"%s --help\" to see all commands", cmd.CommandPath())}
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

// jsonFlag adds --json to a command.
func (p *program) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON, as the API returns it")
	return cmd
}
