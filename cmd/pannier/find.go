package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/publish/client"
)

func (p *program) findCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "find TEXT...",
		Short: "Find the skills that a text is about",
		Long: `Finds the skills that a text is about, usable or not, the most relevant first. A turn ranks the
skills that it offers in the same way.`,
		Example: `  pannier find fill in a tax form
  pannier find --limit 3 'totals by month as a chart'`,
		Args: cobra.MinimumNArgs(1),
		RunE: reads(p, p.printFound, func(ctx context.Context, c *client.Client, args []string) (pannier.FoundList, error) {
			return c.Find(ctx, pannier.FindRequest{Text: strings.Join(args, " "), Limit: limit})
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "the most skills; 0 means 20")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

func (s streams) printFound(list pannier.FoundList) error {
	if len(list.Skills) == 0 {
		fmt.Fprintln(s.err, "no skill has words of the text")
		return nil
	}
	rows := [][]string{{"SLUG", "STATE", "OFFERED", "SCORE", "MATCHED", "ABOUT"}}
	for _, f := range list.Skills {
		rows = append(rows, []string{
			s.shorten(f.Slug, 40), string(f.State), yesNo(f.Offered), scoreText(f.Relevance), s.shorten(strings.Join(f.Relevance.Matched, " "), 40),
			strings.Join(strings.Fields(f.Description), " "),
		})
	}
	s.fit(rows)
	if err := s.table(rows, columnPaint{1, s.paint.state}); err != nil {
		return err
	}
	if more := list.Total - len(list.Skills); more > 0 {
		fmt.Fprintf(s.err, "%d more; use --limit to see them\n", more)
	}
	return nil
}

func scoreText(r pannier.Relevance) string { return fmt.Sprintf("%.1f", r.Score) }
