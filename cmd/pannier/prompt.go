package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/publish/client"
	"pannier/publish/prompt"
)

func (p *program) promptCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "prompt",
		Short: "Print the skills section of the agent's system prompt",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				prompt, err := c.Prompt(ctx, pannier.Turn{Format: format})
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(prompt)
				}
				return p.printPrompt(prompt)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "the format of the section: "+strings.Join(prompt.Formats(), ", "))
	return p.jsonFlag(cmd)
}

func (s streams) printPrompt(prompt pannier.Prompt) error {
	if prompt.Truncated {
		fmt.Fprintf(s.err, "left out, over the limit or not readable: %s\n", strings.Join(prompt.Omitted, ", "))
	}
	if prompt.Text == "" {
		fmt.Fprintln(s.err, "no skill is available, so there is no section")
		return nil
	}
	_, err := fmt.Fprintln(s.out, prompt.Text)
	return err
}
