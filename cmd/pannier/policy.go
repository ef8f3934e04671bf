package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) policyCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "policy",
		Short: "Show and change which skills may be used",
		Example: `  pannier policy list
  pannier policy set pdf-forms --enabled=false`,
	}, p.policyListCommand(), p.policySetCommand())
}

func (p *program) policyListCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:     "list",
		Short:   "List the policy of every skill, and the layer that decides it",
		Example: "  pannier policy list",
		Args:    cobra.NoArgs,
		RunE: reads(p, p.printPolicies, func(ctx context.Context, c *client.Client, _ []string) (pannier.PolicyList, error) {
			return c.Policies(ctx)
		}),
	}), readsSkills...)
}

func (p *program) policySetCommand() *cobra.Command {
	var enabled, implicit, offered, overrides, kind string
	var future bool
	cmd := &cobra.Command{
		Use:   "set SLUG",
		Short: "Change the policy of a skill",
		Long: `Changes the policy of a skill in the workspace: whether it is usable, whether the model may use it
on its own, whether its tools are offered, and whether it may override something in its turns. A
switch that is not given keeps its value; "default" removes it. Without a sidecar, the command
changes the state directory itself.

A slug that no skill has is refused. --future sets the policy of a skill that is not there yet.`,
		Example: `  pannier policy set pdf-forms --enabled=false
  pannier policy set pdf-forms --enabled=default --implicit=true
  pannier policy set next-week --implicit=false --future`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := policyChange(enabled, implicit, offered, overrides)
			if err != nil {
				return err
			}
			return p.changing(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if !future {
					if err := knownToPolicy(ctx, c, args[0], pannier.SourceKind(kind)); err != nil {
						return err
					}
				}
				show := func(policy pannier.Policy) error {
					return p.printPolicies(pannier.PolicyList{Policies: []pannier.Policy{policy}})
				}
				return output(p, show)(c.SetPolicy(ctx, args[0], pannier.SourceKind(kind), change))
			})
		},
	}
	cmd.Flags().StringVar(&enabled, "enabled", "", "whether the skill is usable: true, false or default")
	cmd.Flags().StringVar(&implicit, "implicit", "", "whether the model may use it on its own: true, false or default")
	cmd.Flags().StringVar(&offered, "tools", "", "whether its tools are offered: true, false or default")
	cmd.Flags().StringVar(&overrides, "overrides", "", "whether it may override something in its turns: true, false or default")
	cmd.Flags().StringVar(&kind, "source-kind", "", "`kind` of root: workspace, managed, bundled or extra (default: that of the skill)")
	cmd.Flags().BoolVar(&future, "future", false, "set the policy of a skill that is not there yet")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// knownToPolicy returns an error if a slug, in the roots of a kind if it is not empty, has neither a skill nor a policy.
func knownToPolicy(ctx context.Context, c *client.Client, slug string, kind pannier.SourceKind) error {
	list, err := c.Policies(ctx)
	if err != nil {
		return err
	}
	_, bare := pannier.SplitQualified(slug)
	var slugs []string
	for _, policy := range list.Policies {
		if kind != "" && policy.SourceKind != kind {
			continue
		}
		if policy.Slug == bare {
			return nil
		}
		slugs = append(slugs, policy.Slug)
	}
	e := answerNo(fmt.Sprintf("skill %q not found", slug),
		"run `pannier list` to see all skills; to set the policy of a skill that is not there yet, add --future")
	if kind != "" {
		e.message = fmt.Sprintf("skill %q not found in roots of the kind %s", slug, kind)
	}
	e.suggest(slugs, bare)
	return e
}

// policyChange reads the switches. At least one must be given.
func policyChange(enabled, implicit, offered, overrides string) (change pannier.PolicyChange, err error) {
	if enabled+implicit+offered+overrides == "" {
		return change, failure("nothing to change", "give --enabled, --implicit, --tools or --overrides")
	}
	for _, flag := range []struct {
		name, text string
		to         *pannier.Toggle
	}{
		{"--enabled", enabled, &change.Enabled},
		{"--implicit", implicit, &change.AllowImplicit},
		{"--tools", offered, &change.Tools},
		{"--overrides", overrides, &change.Overrides},
	} {
		switch flag.text {
		case "":
		case "default":
			flag.to.Given = true
		case "true", "false":
			value := flag.text == "true"
			*flag.to = pannier.Toggle{Given: true, To: &value}
		default:
			return change, failure(fmt.Sprintf("%s is %q", flag.name, flag.text), "give true, false or default")
		}
	}
	return change, nil
}

func (s streams) printPolicies(list pannier.PolicyList) error {
	if len(list.Policies) == 0 {
		fmt.Fprintln(s.err, "no skills, no policies")
		return nil
	}
	rows := [][]string{{"SLUG", "KIND", "ENABLED", "BY", "IMPLICIT", "BY"}}
	for _, policy := range list.Policies {
		e := policy.Effective
		rows = append(rows, []string{
			plain.Shorten(policy.Slug, 40), string(policy.SourceKind), strconv.FormatBool(e.Enabled), string(e.Source),
			strconv.FormatBool(e.AllowImplicit), string(e.ImplicitSource),
		})
	}
	return s.table(rows, columnPaint{2, s.paint.negative})
}
