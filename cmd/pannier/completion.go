package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/loader/lint"
	"pannier/publish/client"
	"pannier/publish/prompt"
	"pannier/service"
)

// completionTimeout bounds how long a shell waits for the sidecar when a user presses the key for completion.
const completionTimeout = 500 * time.Millisecond

// completion returns the words that can stand at a place of a command line, with a tab and a description after each.
type completion func(context.Context) []string

func (p *program) completeArguments() {
	p.completeSlugs(p.root)
	installed := p.slugsOf(func(e *pannier.Entry) bool { return e.Managed })
	completeArgument(p.find("uninstall"), installed)
	completeArgument(p.find("rollback"), installed)
	completeArgument(p.find("token"), fixed[string](nil), fixed(service.Scopes()))
	completeArgument(p.find("mcp"), hostNames)
	completeArgument(p.find("link"), linkNames)
	completeArgument(p.find("command", "run"), p.fromSidecar(func(ctx context.Context, c *client.Client) (words []string, err error) {
		list, err := c.Commands(ctx)
		for _, c := range list.Commands {
			words = append(words, described(c.Name, c.Description))
		}
		return words, err
	}))
	completeFlag(p.find("list"), "state", fixed(pannier.States()))
	completeFlag(p.find("prompt"), "format", fixed(prompt.Formats()))
	completeFlag(p.find("events"), "types", fixed(pannier.EventTypes()))
	completeFlag(p.find("resolve"), "skill", p.allSlugs())
	completeFlag(p.find("audit"), "profile", fixed(lint.Profiles()))
	completeFlag(p.find("policy", "set"), "enabled", fixed([]string{"true", "false", "default"}))
	completeFlag(p.find("policy", "set"), "implicit", fixed([]string{"true", "false", "default"}))
	p.flags.VisitAll(func(f *pflag.Flag) {
		if words := config.Words(f.Name); words != nil {
			completeFlag(p.find("run"), f.Name, fixed(words))
		}
	})
}

func (p *program) find(path ...string) *cobra.Command {
	cmd, _, err := p.root.Find(path)
	if err != nil {
		panic(err) // a command was renamed
	}
	return cmd
}

// completeSlugs completes the first argument of every command that calls it SLUG.
func (p *program) completeSlugs(cmd *cobra.Command) {
	if words := strings.Fields(cmd.Use); len(words) > 1 && strings.Trim(words[1], "[]") == "SLUG" {
		completeArgument(cmd, p.allSlugs())
	}
	for _, sub := range cmd.Commands() {
		p.completeSlugs(sub)
	}
}

// completeArgument completes the first arguments of a command. If a later one is a file, the shell completes it.
func completeArgument(cmd *cobra.Command, words ...completion) {
	required, optional := operands(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch {
		case len(args) < len(words):
			return beginning(words[len(args)](cmd.Context()), begun), cobra.ShellCompDirectiveNoFileComp
		case len(args) < len(required)+optional:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag completes the value of a flag, or of a list the part after the last comma.
func completeFlag(cmd *cobra.Command, flag string, words completion) {
	list := cmd.Flags().Lookup(flag).Value.Type() == "stringSlice"
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		all := words(cmd.Context())
		if at := strings.LastIndex(begun, ","); list && at >= 0 {
			for i := range all {
				all[i] = begun[:at+1] + all[i]
			}
		}
		return beginning(all, begun), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag was renamed
	}
}

func beginning(words []string, begun string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, begun) })
}

func fixed[T ~string](all []T) completion {
	return func(context.Context) []string {
		words := make([]string, len(all))
		for i, word := range all {
			words[i] = string(word)
		}
		return words
	}
}

func (p *program) allSlugs() completion { return p.slugsOf(func(*pannier.Entry) bool { return true }) }

func (p *program) slugsOf(isWanted func(*pannier.Entry) bool) completion {
	return p.fromSidecar(func(ctx context.Context, c *client.Client) (words []string, err error) {
		list, err := c.Skills(ctx, "", false)
		seen := map[string]bool{}
		for i := range list.Skills {
			if e := list.Skills[i]; isWanted(e) && !seen[e.Slug] {
				seen[e.Slug] = true
				words = append(words, described(e.Slug, e.Description))
			}
		}
		return words, err
	})
}

// fromSidecar asks the running sidecar for words. An error gives none: a shell that completes has no place for it.
func (p *program) fromSidecar(ask func(context.Context, *client.Client) ([]string, error)) completion {
	return func(ctx context.Context) (words []string) {
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		err := p.asking(ctx, func(ctx context.Context, c *client.Client) (err error) {
			words, err = ask(ctx, c)
			return err
		})
		if err != nil {
			return nil
		}
		return words
	}
}

// described returns a word with its description, without characters that a shell or a terminal would obey.
func described(word, description string) string {
	if description = plain.Shorten(plain.Text(description), 60); description != "" {
		return plain.Text(word) + "\t" + description
	}
	return plain.Text(word)
}
