package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	if err := s.table(rows, columnPaint{2, s.paint.negative}); err != nil {
		return err
	}
	return s.printToolHints(list)
}

// maxToolHints is how many hints a list of tools has.
const maxToolHints = 5

// printToolHints says what to do about the tools that cannot be called, each hint once.
func (s streams) printToolHints(list pannier.ToolList) error {
	var hints []string
	for _, t := range list.Tools {
		if t.Why != nil {
			hints = append(hints, t.Why.Hint)
		}
	}
	for _, t := range list.Excluded {
		hints = append(hints, t.Hint)
	}
	said := map[string]bool{"": true}
	for _, hint := range hints {
		if said[hint] {
			continue
		}
		if said[hint] = true; len(said) > maxToolHints+1 {
			return sayf(s.err, "hint: run \"pannier tool show NAME\" to see what to do about others")
		}
		if err := sayf(s.err, "hint: %s", hint); err != nil {
			return err
		}
	}
	return nil
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
					e.message, e.hint = fmt.Sprintf("%s is kept back (%s): %s", t.Name, t.Reason, t.Detail), cmp.Or(t.Hint, e.hint)
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
	var save string
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool of a skill",
		Long: `Calls a tool with a JSON object of arguments; "-" reads it from standard input. The output of the
tool is printed as it is. Ctrl-C cancels the call. --save writes the files that the tool leaves in
its directory for artifacts into another directory, in which it replaces nothing.

Exit codes: 0 success; 1 the tool failed, or the call was refused; 2 wrong arguments, or a failure;
3 no sidecar answers.`,
		Example: `  pannier tool call skill.repo-review.run-report
  pannier tool call skill.calc.add '{"a": 1, "b": 2}'
  pannier tool call skill.report.chart '{"days": 7}' --save charts
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
			if call.ProjectDir != "" { // as a shell means it; the runner has another current directory
				dir, err := filepath.Abs(call.ProjectDir)
				if err != nil {
					return fmt.Errorf("find --project-dir: %w", err)
				}
				call.ProjectDir = dir
			}
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				result, err := c.CallTool(ctx, args[0], call)
				err = output(p, p.printToolResult)(result, err)
				if err == nil && save != "" {
					err = p.saveArtifacts(ctx, c, save, result)
				}
				return judged(err, !result.OK)
			})
		},
	}
	cmd.Flags().StringVar(&call.CallID, "call-id", "", "`name` of the call, to find it in events and the audit log")
	cmd.Flags().StringVar(&call.Session, "session", "", "`name` of the session, for tools that run one at a time in it")
	cmd.Flags().StringVar(&call.ProjectDir, "project-dir", "", "`directory` that the tool may write to, if tools.project_dirs allows it")
	cmd.Flags().StringVar(&save, "save", "", "`directory` for the files that the tool leaves; it is made if it is missing")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

// saveArtifacts writes the files that a call left into a directory. The sidecar has their names from the tool, so nothing is
// replaced, and no link leads out of the directory.
func (s streams) saveArtifacts(ctx context.Context, c *client.Client, dir string, result pannier.ToolResult) error {
	if len(result.Artifacts) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make the directory of --save: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory of --save: %w", err)
	}
	defer root.Close()
	for _, a := range result.Artifacts {
		if !pannier.IsArtifactName(a.Name) {
			return failure(fmt.Sprintf("the artifact %.100q cannot be a file", a.Name), "leave --save out")
		}
		content, digest, err := c.Artifact(ctx, result.CallID, a.Name)
		if err == nil && digest != a.Digest {
			err = client.ErrTorn
		}
		if err != nil {
			return fmt.Errorf("get the artifact %s: %w", a.Name, err)
		}
		if err := root.MkdirAll(path.Dir(a.Name), 0o777); err != nil {
			return fmt.Errorf("save the artifact %s: %w", a.Name, err)
		}
		f, err := root.OpenFile(a.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return failure(fmt.Sprintf("%s is there already", filepath.Join(dir, a.Name)), "name an empty directory with --save")
		}
		if err == nil {
			_, err = f.Write(content)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("save the artifact %s: %w", a.Name, err)
		}
		sayf(s.err, "saved %s", filepath.Join(dir, a.Name))
	}
	return nil
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
	for _, a := range r.Artifacts {
		sayf(s.err, "artifact %s (%d bytes)", pannier.CleanLine(a.Name), a.Bytes)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.ArtifactsLeftOut)) {
		sayf(s.err, "warning: %d of the files that the tool left are not kept: %s", r.ArtifactsLeftOut[reason], pannier.CleanLine(reason))
	}
	if r.Error != nil {
		s.printError(&exitError{message: fmt.Sprintf("%s: %s", r.Error.Code, r.Error.Message), hint: r.Error.Hint})
	}
	return nil
}
