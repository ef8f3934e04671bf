package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) resolveCommand() *cobra.Command {
	var slugs []string
	var turn pannier.Turn
	show := func(r pannier.Resolution) error { return p.printResolution(r, turn.Verbose) }
	cmd := &cobra.Command{
		Use:   "resolve [TEXT...]",
		Short: "Show which skills are active in a turn, and why",
		Example: `  pannier resolve '/skill:pdf-forms fill in form.pdf'
  pannier resolve --skill pdf-forms --tool Read --tool Bash
  pannier resolve --path src/main.go --project-dir ~/project --verbose`,
		RunE: reads(p, show, func(ctx context.Context, c *client.Client, args []string) (pannier.Resolution, error) {
			turn.Text = strings.Join(args, " ")
			for _, slug := range slugs {
				turn.Capabilities = append(turn.Capabilities, pannier.Capability{ID: slug, Slug: slug})
			}
			return c.Resolve(ctx, turn)
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&slugs, "skill", nil, "`slug` of a skill that the user chose for the turn; repeatable")
	flags.StringVar(&turn.Runtime, "for-runtime", "", "`name` of an adapter that skills must support, besides the one of the workspace")
	flags.StringArrayVar(&turn.Paths, "path", nil, "`file` that the turn is about; repeatable")
	flags.StringVar(&turn.ProjectDir, "project-dir", "", "`directory` that globs of skills are relative to")
	flags.StringArrayVar(&turn.Tools, "tool", nil, "`name` of a tool that the agent has; repeatable")
	flags.BoolVar(&turn.Verbose, "verbose", false,
		"also show why other skills are not active, how relevant the text is for active ones, and what the prompt shows in part")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// printResolution prints which skills are active. verbose adds how relevant the text is for them, and what the prompt shows in part.
func (s streams) printResolution(r pannier.Resolution, verbose bool) error {
	for _, x := range r.Suggestions {
		sayf(s.err, "no skill is called %q; did you mean %q?", x.Reference, strings.Join(x.Slugs, `" or "`))
	}
	if len(r.Active)+len(r.Rejected) == 0 {
		fmt.Fprintln(s.err, "no skill is active")
		return nil
	}
	if err := s.printActive(r, verbose); err != nil {
		return err
	}
	if verbose && r.Prompt != nil {
		if err := s.printShortened(*r.Prompt); err != nil {
			return err
		}
	}
	if err := s.printRuntimeTools(r); err != nil {
		return err
	}
	if err := s.printAllowed(r.AllowedTools); err != nil {
		return err
	}
	return s.printOverrides(r.Overrides)
}

// printOverrides prints what the chosen skills propose to override, and what becomes of it.
func (s streams) printOverrides(o *pannier.TurnOverrides) error {
	if o == nil {
		return nil
	}
	rows := [][]string{{"SLUG", "OVERRIDES", "WITH", "EFFECTIVE"}}
	refused := o.Refused // in the order of the proposals
	for _, p := range o.Proposed {
		effective := "yes, " + map[string]string{pannier.OverridesApply: "applied", pannier.OverridesSuggest: "suggested"}[o.Mode]
		if len(refused) > 0 && refused[0].Slug == p.Slug && refused[0].Part == p.Part && refused[0].Key == p.Key {
			effective, refused = "no, "+refused[0].Reason, refused[1:]
		}
		rows = append(rows, []string{plain.Shorten(p.Slug, 40), p.Part + "." + p.Key, plain.Shorten(string(p.Value), 40), effective})
	}
	fmt.Fprintln(s.out)
	return s.table(rows)
}

func (s streams) printActive(r pannier.Resolution, verbose bool) error {
	rows := [][]string{{"SLUG", "ACTIVE", "WHY"}}
	for _, a := range r.Active {
		why := a.Reason
		if a.Arguments != "" {
			why += ": " + a.Arguments
		}
		if verbose && a.Relevance != nil {
			why += ", score " + scoreText(*a.Relevance) + ", matched " + plain.Shorten(strings.Join(a.Relevance.Matched, " "), 60)
		}
		rows = append(rows, []string{plain.Shorten(a.Slug, 40), "yes", why})
	}
	for _, x := range r.Rejected {
		rows = append(rows, []string{plain.Shorten(x.Slug, 40), "no", x.Reason + ": " + x.Detail})
	}
	return s.table(rows)
}

// printShortened prints which active skills the prompt leaves out or shows in part.
func (s streams) printShortened(prompt pannier.Prompt) error {
	if !prompt.Truncated {
		return nil
	}
	rows := [][]string{{"SLUG", "LEFT OUT OF THE PROMPT", "WHY"}}
	for _, x := range prompt.Shortened {
		rows = append(rows, []string{plain.Shorten(x.Slug, 40), x.LeftOut, x.Why})
	}
	for _, slug := range prompt.Omitted {
		rows = append(rows, []string{plain.Shorten(slug, 40), "all", "limit"})
	}
	fmt.Fprintln(s.out)
	return s.table(rows)
}

// printRuntimeTools tells which tools of the active skills the agent can offer, where they declare any.
func (s streams) printRuntimeTools(r pannier.Resolution) error {
	if len(r.Tools)+len(r.ExcludedTools) == 0 {
		return nil
	}
	rows := [][]string{{"TOOL", "OFFERED", "CALLABLE", "WHAT"}}
	for _, t := range r.Tools {
		callable := "yes"
		if t.Why != nil {
			callable = "no, " + t.Why.Code
		}
		rows = append(rows, []string{t.Name, "yes", callable, fmt.Sprintf("%s: %s", t.Kind, t.Description)})
	}
	for _, t := range r.ExcludedTools {
		rows = append(rows, []string{t.Name, "no", "no", t.Reason + ": " + t.Detail})
	}
	fmt.Fprintln(s.out)
	return s.table(rows)
}

// printAllowed tells what is left of the agent's own tools, where the skills of the turn change them.
func (s streams) printAllowed(t pannier.AllowedTools) error {
	if len(t.NarrowedBy)+len(t.WidenedBy) == 0 {
		return nil
	}
	rows := [][]string{{"ALLOWED TOOLS"}, {cmp.Or(strings.Join(t.Effective, ", "), "none")}}
	if len(t.NarrowedBy) > 0 {
		rows = append(rows, []string{"narrowed by " + strings.Join(t.NarrowedBy, ", ")})
	}
	if len(t.WidenedBy) > 0 {
		rows = append(rows, []string{"widened by " + strings.Join(t.WidenedBy, ", ")})
	}
	fmt.Fprintln(s.out)
	return s.table(rows)
}
