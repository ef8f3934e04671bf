package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) toolCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "tool",
		Short: "List, allow and call the tools of skills",
		Example: `  pannier tool list
  pannier tool allow repo-review
  pannier tool call skill.repo-review.run-report '{"days": 7}'`,
	}, p.toolListCommand(), p.toolShowCommand(), p.toolCallCommand(), p.toolAllowCommand())
}

func (p *program) toolListCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:     "list",
		Short:   "List the tools of the usable skills, and why some cannot be called",
		Example: "  pannier tool list",
		Args:    cobra.NoArgs,
		RunE: asks(p, p.printTools, func(ctx context.Context, c *client.Client, _ []string) (pannier.ToolList, error) {
			return c.Tools(ctx)
		}),
	}), asksSidecar...)
}

func (s streams) printTools(list pannier.ToolList) error {
	if list.Kinds != nil && !slices.Contains(list.Kinds, pannier.RuntimeScript) {
		defer fmt.Fprintln(s.err, "scripts are not listed; add script to tools.kinds to have them as tools")
	}
	if len(list.Tools)+len(list.Excluded) == 0 {
		fmt.Fprintln(s.err, "no usable skill has tools")
		return nil
	}
	rows := [][]string{{"TOOL", "KIND", "CALLABLE", "WHY NOT"}}
	for _, t := range list.Tools {
		why := ""
		if t.Why != nil {
			why = t.Why.Code + ": " + t.Why.Message
		}
		rows = append(rows, []string{t.Name, string(t.Kind), yesNo(t.Callable), plain.Shorten(why, 100)})
	}
	for _, t := range list.Excluded {
		rows = append(rows, []string{plain.Shorten(t.Name, 80), string(t.Kind), "no", plain.Shorten(t.Reason+": "+t.Detail, 100)})
	}
	return s.table(rows, columnPaint{2, s.paint.negative})
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func (p *program) toolShowCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:     "show NAME",
		Short:   "Show the parameters of a tool, and whether it can be called",
		Example: "  pannier tool show skill.repo-review.run-report",
		Args:    cobra.ExactArgs(1),
		RunE: asks(p, p.printTool, func(ctx context.Context, c *client.Client, args []string) (pannier.ListedTool, error) {
			list, err := c.Tools(ctx)
			if err != nil {
				return pannier.ListedTool{}, err
			}
			for _, t := range list.Tools {
				if t.Name == args[0] || t.ModelName == args[0] {
					return t, nil
				}
			}
			e := answerNo(fmt.Sprintf("no tool is called %q", args[0]), "run \"pannier tool list\" to see all tools")
			for _, t := range list.Excluded {
				if t.Name == args[0] || t.ModelName == args[0] {
					e.message = fmt.Sprintf("%s is kept back (%s): %s", t.Name, t.Reason, t.Detail)
				}
			}
			return pannier.ListedTool{}, e
		}),
	}), asksSidecar...)
}

func (s streams) printTool(t pannier.ListedTool) error {
	rows := [][]string{
		{"name", t.Name},
		{"model name", t.ModelName},
		{"skill", t.Skill},
		{"kind", string(t.Kind)},
		{"class", t.ExecutionClass},
		{"callable", yesNo(t.Callable)},
	}
	if t.Why != nil {
		rows = append(rows, []string{"why not", t.Why.Code + ": " + t.Why.Message}, []string{"hint", t.Why.Hint})
	}
	rows = append(rows, []string{"description", t.Description}, []string{"parameters", string(t.Parameters)}, []string{"config", string(t.Config)})
	return s.fields(rows, "callable", s.paint.negative)
}

func (p *program) toolCallCommand() *cobra.Command {
	var call pannier.ToolCall
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool of a skill",
		Long: `Calls a tool with a JSON object of arguments; "-" reads it from standard input. The output of the
tool is printed as it is. Ctrl-C cancels the call.

Exit codes: 0 success; 1 the tool failed, or the call was refused; 2 wrong arguments, or a failure;
3 no sidecar answers.`,
		Example: `  pannier tool call skill.repo-review.run-report
  pannier tool call skill.calc.add '{"a": 1, "b": 2}'
  pannier tool call skill.calc.add --project-dir /home/ann/app - < arguments.json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				text, err := readArguments(args[1])
				if err != nil {
					return err
				}
				call.Arguments = text
			}
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				result, err := c.CallTool(ctx, args[0], call)
				return judged(output(p, p.printToolResult)(result, err), !result.OK)
			})
		},
	}
	cmd.Flags().StringVar(&call.CallID, "call-id", "", "`name` of the call, to find it in events and the audit log")
	cmd.Flags().StringVar(&call.Session, "session", "", "`name` of the session, for tools that run one at a time in it")
	cmd.Flags().StringVar(&call.ProjectDir, "project-dir", "", "`directory` that the tool may write to, if tools.project_dirs allows it")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

// readArguments returns the arguments of a call, which have to be JSON.
func readArguments(text string) (json.RawMessage, error) {
	raw := []byte(text)
	if text == "-" {
		var err error
		if raw, err = io.ReadAll(os.Stdin); err != nil {
			return nil, fmt.Errorf("read the arguments: %w", err)
		}
	}
	if len(strings.TrimSpace(string(raw))) > 0 && !json.Valid(raw) {
		return nil, failure("the arguments are not JSON", `write an object in single quotes, such as '{"days": 7}'`)
	}
	return raw, nil
}

// printToolResult prints the output of a tool, which can be anything; what steers a terminal is left out.
func (s streams) printToolResult(r pannier.ToolResult) error {
	text := r.Output
	if r.Proxy != nil {
		text = fmt.Sprintf("call %s of the agent with %s", r.Proxy.Tool, r.Proxy.Arguments)
	}
	if text = pannier.CleanLines(text); text != "" {
		fmt.Fprintln(s.out, strings.TrimSuffix(text, "\n"))
	}
	if r.Truncated {
		sayf(s.err, "warning: the output is cut off")
	}
	if r.Error != nil {
		s.printError(&exitError{message: fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message), hint: r.Error.Hint})
	}
	return nil
}

func (p *program) toolAllowCommand() *cobra.Command {
	var kind, fingerprint string
	var remove bool
	cmd := &cobra.Command{
		Use:   "allow [SLUG]",
		Short: "Allow the tools of a skill to run",
		Long: `Allows the tools of a skill to run as long as no file of the skill changes: programs (kinds shell,
python and script) in the sandbox, and HTTP requests. Read the files of the skill before. --remove
takes the permission back. Without a slug, it lists what is allowed.

A skill of trust internal needs no permission, unless a tool of it sends a secret.`,
		Example: `  pannier tool allow repo-review
  pannier tool allow repo-review --remove
  pannier tool allow`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if len(args) == 0 {
					return output(p, p.printToolsAllowed)(c.Policies(ctx))
				}
				change := pannier.PolicyChange{ToolsAllowed: pannier.Permission{Given: true}}
				if !remove {
					var err error
					if change.ToolsAllowed.To, err = contentToAllow(ctx, c, args[0], fingerprint); err != nil {
						return err
					}
				}
				show := func(policy pannier.Policy) error {
					return p.printToolsAllowed(pannier.PolicyList{Policies: []pannier.Policy{policy}})
				}
				return output(p, show)(c.SetPolicy(ctx, args[0], pannier.SourceKind(kind), change))
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the permission back")
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "", "the `fingerprint` of the files that were read (default: as they are now)")
	cmd.Flags().StringVar(&kind, "source-kind", "", "`kind` of root: workspace, managed, bundled or extra (default: that of the skill)")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

// contentToAllow returns the fingerprint of the files that may run.
func contentToAllow(ctx context.Context, c *client.Client, slug, given string) (pannier.Digest, error) {
	if given != "" {
		digest, err := pannier.ParseFingerprint(given)
		if err != nil {
			return digest, failure("invalid fingerprint: "+err.Error(), "copy it from \"pannier show "+slug+"\"")
		}
		return digest, nil
	}
	// After a change, the sidecar reads the files within a second, most often.
	for last := time.Now().Add(5 * time.Second); ; {
		detail, err := c.Skill(ctx, slug, "")
		if err != nil || !detail.Fingerprint.IsZero() {
			return detail.Fingerprint, err
		}
		if time.Now().After(last) {
			return pannier.Digest{}, failure("the files of "+slug+" are not read yet", "retry in a moment")
		}
		select {
		case <-ctx.Done():
			return pannier.Digest{}, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s streams) printToolsAllowed(list pannier.PolicyList) error {
	rows := [][]string{{"SLUG", "KIND", "PATH", "FINGERPRINT"}}
	for _, policy := range list.Policies {
		if !policy.ToolsAllowed.IsZero() {
			rows = append(rows, []string{
				plain.Shorten(policy.Slug, 40), string(policy.SourceKind), plain.Shorten(policy.Path, 60), policy.ToolsAllowed.String(),
			})
		}
	}
	if len(rows) == 1 {
		fmt.Fprintln(s.err, "no tools of skills are allowed to run")
		return nil
	}
	return s.table(rows)
}
