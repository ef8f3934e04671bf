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
		RunE: reads(p, func(section pannier.Prompt) error {
			return p.printPrompt(section, format == prompt.AvailableSkillsReference)
		},
			func(ctx context.Context, c *client.Client, _ []string) (pannier.Prompt, error) {
				return c.Prompt(ctx, pannier.Turn{Format: format})
			}),
	}
	cmd.Flags().StringVar(&format, "format", "", "`format` of the section: "+strings.Join(prompt.Formats(), ", "))
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// printPrompt prints the section. exact leaves the text as it is, for the format that is byte for byte that of another tool.
func (s streams) printPrompt(prompt pannier.Prompt, exact bool) error {
	if prompt.Truncated {
		_ = sayf(s.err, "omitted (over the limit or not readable): %s", strings.Join(prompt.Omitted, ", "))
	}
	if prompt.Text == "" {
		fmt.Fprintln(s.err, "no skill is available; the section is empty")
		return nil
	}
	text := prompt.Text
	if !exact {
		text = plain.Lines(text)
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}
