package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/publish/client"
)

func (p *program) resolveCommand() *cobra.Command {
	var slugs []string
	var runtime string
	cmd := &cobra.Command{
		Use:   "resolve [TEXT...]",
		Short: "Tell which skills are active in a turn with that text, and why others are not",
		Example: `  pannier resolve '/skill:pdf-forms fill in form.pdf'
  pannier resolve --skill pdf-forms`,
		RunE: func(cmd *cobra.Command, args []string) error {
			turn := pannier.Turn{Text: strings.Join(args, " "), Runtime: runtime}
			for _, slug := range slugs {
				turn.Capabilities = append(turn.Capabilities, pannier.Capability{ID: slug, Slug: slug})
			}
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				r, err := c.Resolve(ctx, turn)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(r)
				}
				return p.printResolution(r)
			})
		},
	}
	cmd.Flags().StringArrayVar(&slugs, "skill", nil, "a skill that is chosen for the turn; repeatable")
	cmd.Flags().StringVar(&runtime, "for-runtime", "", "an adapter that the skills must fit besides the workspace's own")
	return p.jsonFlag(cmd)
}

func (s streams) printResolution(r pannier.Resolution) error {
	if len(r.Active)+len(r.Rejected) == 0 {
		fmt.Fprintln(s.err, "no skill is active, and none was named")
		return nil
	}
	rows := [][]string{{"SLUG", "ACTIVE", "WHY"}}
	for _, a := range r.Active {
		why := a.Reason
		if a.Arguments != "" {
			why += ": " + a.Arguments
		}
		rows = append(rows, []string{a.Slug, "yes", why})
	}
	for _, x := range r.Rejected {
		rows = append(rows, []string{x.Slug, "no", x.Reason + ": " + x.Detail})
	}
	return s.table(rows)
}
