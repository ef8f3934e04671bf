package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/publish/client"
)

func (p *program) showCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "show SLUG",
		Short: "Show all that is known of one skill",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Skill(ctx, args[0], path)
				if err != nil {
					return err
				}
				if p.json {
					return p.printJSON(d)
				}
				return p.printDetail(d)
			})
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "the directory of the skill that is meant, where several have the slug")
	return p.jsonFlag(cmd)
}

func (s streams) printDetail(d pannier.Detail) error {
	rows := [][]string{
		{"slug", d.Qualified()},
		{"name", d.Name},
		{"description", d.Description},
		{"version", d.Version},
		{"state", stateWords(&d.Entry)},
		{"path", d.Path},
		{"root", fmt.Sprintf("%s (%s)", d.Root, d.SourceKind)},
		{"shadowed by", d.ShadowedBy},
		{"runtime", strings.Join(d.Runtimes, ", ")},
		{"tags", strings.Join(d.Tags, ", ")},
		{"allowed tools", strings.Join(d.AllowedTools, " ")},
		{"license", d.License},
		{"homepage", d.Homepage},
		{"digest", d.Digest.String()},
		{"files", fileWords(d)},
	}
	kept := rows[:0]
	for _, row := range rows {
		if row[1] != "" {
			kept = append(kept, row)
		}
	}
	for _, r := range d.Reasons {
		kept = append(kept, []string{"reason", fmt.Sprintf("%s: %s; %s", r.Code, r.Subject, r.Remedy)})
	}
	if err := s.fields(kept, "state", s.paint.state); err != nil {
		return err
	}
	if len(d.Problems) > 0 {
		fmt.Fprintln(s.out)
	}
	s.printProblems(d.Problems)
	return nil
}

func fileWords(d pannier.Detail) string {
	var names []string
	for _, f := range d.Files {
		names = append(names, f.Path)
	}
	if d.FilesTruncated {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
