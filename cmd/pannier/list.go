package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/publish/client"
)

func (p *program) listCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all skills and their states",
		Long:  `Lists all skills of the workspace with their states. A skill that is not usable shows why.`,
		Example: `  pannier list
  pannier list --state ineligible`,
		Args:   cobra.NoArgs,
		PreRun: func(*cobra.Command, []string) { p.listing = true },
		RunE: reads(p, p.printList, func(ctx context.Context, c *client.Client, _ []string) (pannier.List, error) {
			return c.List(ctx, client.ListQuery{State: pannier.State(state), Problems: true, Activity: p.json})
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only skills in this `state`: eligible, ineligible, disabled, unlisted or shadowed")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// maxPathShown is how many characters a path in a list has at most.
const maxPathShown = 60

func (s streams) printList(list pannier.List) error {
	if len(list.Skills) == 0 {
		fmt.Fprintln(s.err, "no skills")
		s.printProblems(list.Problems)
		return nil
	}
	collides := map[string]bool{} // the rows of slugs that several skills claim need the path to be told apart
	for i := range list.Skills {
		if e := list.Skills[i]; e.State == pannier.StateShadowed {
			collides[e.Slug] = true
		}
	}
	rows := [][]string{{"SLUG", "STATE", "VERSION", "ABOUT"}}
	if len(collides) > 0 {
		rows = [][]string{{"SLUG", "STATE", "VERSION", "PATH", "ABOUT"}}
	}
	problems := slices.DeleteFunc(list.Problems, func(p pannier.Problem) bool {
		return p.Severity == pannier.SeverityInfo && !strings.HasPrefix(p.Code, "root.") // what is not listed is told
	})
	for i := range list.Skills {
		e := list.Skills[i]
		row := []string{s.shorten(e.Slug, 40), stateWords(e), s.shorten(e.Version, 20), about(e)}
		if len(collides) > 0 {
			path := []rune(e.Path)
			if !collides[e.Slug] {
				path = nil
			} else if len(path) > maxPathShown { // its end tells it from others
				path = append([]rune("…"), path[len(path)-maxPathShown+1:]...)
			}
			row = slices.Insert(row, 3, string(path))
		}
		rows = append(rows, row)
		problems = append(problems, e.Problems...)
	}
	s.fit(rows)
	if err := s.table(rows, columnPaint{1, s.paint.state}); err != nil {
		return err
	}
	if len(problems) > 0 {
		fmt.Fprintln(s.out)
	}
	s.printProblems(problems)
	return nil
}

func stateWords(e *pannier.Entry) string {
	if e.LastGood {
		return string(e.State) + " (last good)"
	}
	if e.Deleting {
		return string(e.State) + " (deleting)"
	}
	return string(e.State)
}

func about(e *pannier.Entry) string {
	switch {
	case e.State == pannier.StateShadowed:
		return "its slug belongs to " + e.ShadowedBy
	case e.State == pannier.StateUnlisted:
		return "config.yaml does not list " + e.Folder
	case len(e.Reasons) > 0:
		var words []string
		for _, r := range e.Reasons {
			words = append(words, r.Code+": "+r.Subject)
		}
		return strings.Join(words, ", ")
	}
	return strings.Join(strings.Fields(e.Description), " ")
}
