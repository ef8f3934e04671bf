package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier/config"
)

// explainUsage gives the errors of wrong usage of a command and its subcommands the form of all other errors.
func (p *program) explainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(p.flagError)
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return argumentError(cmd, args, check(cmd, args)) }
	}
	for _, sub := range cmd.Commands() {
		p.explainUsage(sub)
	}
}

// checkDefaultCommands lets the commands of the library, completion and help, refuse what they do not know.
func checkDefaultCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args, cmd.RunE = noSuchCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				found, rest, err := cmd.Root().Find(args)
				if err != nil || !found.HasSubCommands() {
					return err
				}
				return noSuchCommand(found, rest)
			}
		}
	}
}

// argumentError returns which argument of a command is missing or one too many, where err says that the number is wrong.
func argumentError(cmd *cobra.Command, args []string, err error) error {
	if _, ok := errors.AsType[*exitError](err); ok || err == nil {
		return err
	}
	required, optional := operands(cmd)
	usage := strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + cmd.Use
	e := failure(err.Error(), fmt.Sprintf(`use it as "%s"; run "%s --help" to see its flags`, usage, cmd.CommandPath()))
	switch most := len(required) + optional; {
	case len(args) < len(required):
		e.message = fmt.Sprintf("%q needs %s", cmd.CommandPath(), strings.Join(required[len(args):], " and "))
		if required[len(args)] == "SLUG" {
			e.hint += `; run "pannier list" to see the slugs`
		}
	case len(args) > most:
		e.message = fmt.Sprintf("unexpected argument %q for %q", args[most], cmd.CommandPath())
	}
	return e
}

// operands returns the arguments that a command needs, as its usage names them, and how many more it takes.
func operands(cmd *cobra.Command) (required []string, optional int) {
	rest := cmd.Use
	for {
		before, after, ok := strings.Cut(rest, "[")
		_, tail, closed := strings.Cut(after, "]")
		if !ok || !closed {
			break
		}
		rest, optional = before+tail, optional+1
	}
	words := strings.Fields(rest)[1:]
	if flag := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") && word != "-" }); flag >= 0 {
		words = words[:flag]
	}
	return words, optional
}

func (p *program) flagError(cmd *cobra.Command, err error) error {
	e := failure(err.Error(), fmt.Sprintf(`run "%s --help" to see its flags`, cmd.CommandPath()))
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := missing.GetSpecifiedName()
		if missing.GetSpecifiedShortnames() != "" { // of flags of one letter, the name is the letter
			e.message = fmt.Sprintf("unknown flag -%s for %q", name, cmd.CommandPath())
			return e
		}
		if shared := p.sharedFlagError(cmd, name); shared != nil {
			return shared
		}
		e.message = fmt.Sprintf("unknown flag --%s for %q", name, cmd.CommandPath())
		var flags []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				flags = append(flags, flag.Name)
			}
		})
		if meant := similarName(flags, name); meant != "" {
			e.message += fmt.Sprintf("; did you mean --%s?", meant)
		}
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		e.message = fmt.Sprintf("flag --%s needs a value", bare.GetFlag().Name)
		e.hint = fmt.Sprintf("write --%s=VALUE: %s", bare.GetFlag().Name, usageWords(bare.GetFlag()))
	}
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := wrong.GetFlag()
		e.message = fmt.Sprintf("invalid value %q for --%s", wrong.GetValue(), flag.Name)
		value, ok := map[string]string{
			"bool": "true or false", "duration": "a duration such as 2s or 5m",
			"int": "a number", "int64": "a number", "uint": "a number", "uint64": "a number",
		}[flag.Value.Type()]
		if !ok {
			value = "a " + flag.Value.Type()
		}
		e.hint = fmt.Sprintf("give %s: %s", value, usageWords(flag))
	}
	return e
}

// sharedFlagError explains a flag that only other commands have; nil for any other name.
func (p *program) sharedFlagError(cmd *cobra.Command, name string) error {
	variable, key, isSetting := config.NamesOfFlag(name)
	switch {
	case name == "watch" && cmd.Name() != "run":
		return failure(fmt.Sprintf("unknown flag --watch for %q, which reads the files once", cmd.CommandPath()),
			"run it again after a change; a running sidecar watches: run `pannier health` or `pannier events`")
	case isSetting && cmd.Flags().Lookup("config") != nil && !slices.Contains(readsSkills, name):
		return failure(fmt.Sprintf("--%s is a flag of \"pannier run\", not of %q", name, cmd.CommandPath()),
			fmt.Sprintf("set %s, or write %s into the file of --config", variable, key))
	case cmd.Name() == "run" && !cmd.Parent().HasParent() && slices.Contains(remoteNames, name):
		return failure(fmt.Sprintf(`--%s is not a flag of "pannier run": it says which sidecar other commands ask`, name),
			fmt.Sprintf("use --platform-%s for the platform that gets the card", name))
	}
	return nil
}

func usageWords(flag *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(flag)
	return usage
}

// similarName returns the one of some names that another may stand for; empty where there is none.
func similarName(names []string, name string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, known := range names {
		all.AddCommand(&cobra.Command{Use: known, Run: func(*cobra.Command, []string) {}})
	}
	meant := all.SuggestionsFor(name)
	if len(meant) == 0 {
		return ""
	}
	begun := slices.IndexFunc(meant, func(known string) bool { return strings.HasPrefix(known, name) })
	return meant[max(begun, 0)]
}
