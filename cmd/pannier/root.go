package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier/config"
	"pannier/sidecar"
)

// The exit codes, everywhere the same.
const (
	exitYes       = 0 // yes, done, clean
	exitNo        = 1 // a negative answer
	exitUnknown   = 2 // wrong usage, or it could not be found out
	exitNoSidecar = 3 // no sidecar where one is needed
)

// exitError ends the process with a code. Without a message nothing is printed beyond what the command already has.
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

// program is what every subcommand has at hand.
type program struct {
	streams
	environ []string
	root    *cobra.Command
	json    bool
	far     farFlags
}

// commands make the subcommands. The file of each command adds its own.
var commands []func(*program) *cobra.Command

func newRoot(std streams, environ []string) *cobra.Command {
	p := &program{streams: std, environ: environ}
	p.root = &cobra.Command{
		Use:   "pannier",
		Short: "Keeps an agent's skills live",
		Long: `pannier keeps an agent's skills live: it watches a workspace, judges each skill in it, pushes the agent
card that follows to a registry endpoint, and serves the catalog on a local unix socket.

Commands that read ask the sidecar that runs for the workspace; where none runs they read the directory themselves.

Exit codes: 0 yes, done; 1 a negative answer; 2 wrong usage, or it could not be found out; 3 no sidecar where one
is needed.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionLine(),
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	p.root.SetVersionTemplate("{{.Version}}\n")
	config.AddFlags(p.root.PersistentFlags())
	p.far.add(p.root.PersistentFlags())
	for _, command := range commands {
		p.root.AddCommand(command(p))
	}
	checkDefaultCommands(p.root)
	explainUsage(p.root)
	p.completeArguments()
	return p.root
}

// noSuchCommand accepts no argument of a command that has subcommands, and names those that may be meant.
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
	s, err := config.Load(p.root.PersistentFlags(), withoutFar(p.environ))
	if err != nil {
		return config.Settings{}, fmt.Errorf("settings: %w", err)
	}
	return s, nil
}

// jsonFlag adds --json to a command that prints what people read.
func (p *program) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&p.json, "json", false, "print JSON, in the shape of the socket's route")
	return cmd
}
