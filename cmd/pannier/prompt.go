package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
	"pannier/publish/prompt"
)

func (p *program) promptCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "prompt",
		Short:   "Print the skills section of the agent's system prompt",
		Example: "  pannier prompt --format skills_xml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				section, err := c.Prompt(ctx, pannier.Turn{Format: format})
				if err != nil || p.json {
					return output(p, func(pannier.Prompt) error { return nil })(section, err)
				}
				list, err := c.List(ctx, client.ListQuery{State: pannier.StateEligible, Policy: true})
				if err != nil {
					return err
				}
				p.printNotOffered(list.Skills)
				if format != prompt.AvailableSkillsReference { // which is byte for byte that of another tool
					section.Text = plain.Lines(section.Text)
				}
				return p.printPrompt(section)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "`format` of the section: "+strings.Join(prompt.Formats(), ", "))
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// maxNotOffered is how many skills are named that are not offered.
const maxNotOffered = 10

// printNotOffered names the skills that are eligible, and that the model is not offered unless a turn names them.
func (s streams) printNotOffered(skills []*pannier.Entry) {
	var byPolicy, byThemselves []string
	for _, e := range skills {
		switch {
		case !e.Usable || e.Automatic():
		case e.DisableModelInvocation:
			byThemselves = append(byThemselves, e.Slug)
		default:
			byPolicy = append(byPolicy, e.Slug)
		}
	}
	names := func(slugs []string) string {
		if more := len(slugs) - maxNotOffered; more > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(slugs[:maxNotOffered], ", "), more)
		}
		return strings.Join(slugs, ", ")
	}
	if len(byPolicy) > 0 {
		sayf(s.err, "eligible, but not offered by policy: %s", names(byPolicy))
		fmt.Fprintf(s.err, "%s run `pannier policy set SLUG --implicit=true` to let the model choose a skill\n", s.complain.quiet("hint:"))
	}
	if len(byThemselves) > 0 {
		sayf(s.err, "eligible, but not offered, because the skill says disable-model-invocation: true: %s", names(byThemselves))
	}
}

func (s streams) printPrompt(prompt pannier.Prompt) error {
	if len(prompt.Omitted) > 0 {
		_ = sayf(s.err, "omitted (over the limit or not readable): %s", strings.Join(prompt.Omitted, ", "))
	}
	if n := len(prompt.Shortened); n > 0 {
		_ = sayf(s.err, "shown in part (over the limit or not readable): %d of the skills", n)
	}
	if prompt.Text == "" {
		fmt.Fprintln(s.err, "no skill is offered; the section is empty")
		return nil
	}
	_, err := fmt.Fprintln(s.out, prompt.Text)
	return err
}
