package main

import (
	"context"
	"fmt"
	"slices"
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
	var enabled, implicit, offered, kind string
	cmd := &cobra.Command{
		Use:   "set SLUG",
		Short: "Change the policy of a skill",
		Long: `Changes the policy of a skill in the workspace: whether it is usable, whether the model may use it
on its own, and whether its tools are offered. A switch that is not given keeps its value;
"default" removes it.`,
		Example: `  pannier policy set pdf-forms --enabled=false
  pannier policy set pdf-forms --enabled=default --implicit=true`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := policyChange(enabled, implicit, offered)
			if err != nil {
				return err
			}
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				show := func(policy pannier.Policy) error {
					return p.printPolicies(pannier.PolicyList{Policies: []pannier.Policy{policy}})
				}
				policy, err := c.SetPolicy(ctx, args[0], pannier.SourceKind(kind), change)
				if err == nil && (change.Enabled.To != nil || change.AllowImplicit.To != nil || change.Tools.To != nil) {
					p.warnWithoutSkill(ctx, c, policy)
				}
				return output(p, show)(policy, err)
			})
		},
	}
	cmd.Flags().StringVar(&enabled, "enabled", "", "whether the skill is usable: true, false or default")
	cmd.Flags().StringVar(&implicit, "implicit", "", "whether the model may use it on its own: true, false or default")
	cmd.Flags().StringVar(&offered, "tools", "", "whether its tools are offered: true, false or default")
	cmd.Flags().StringVar(&kind, "source-kind", "", "`kind` of root: workspace, managed, bundled or extra (default: that of the skill)")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

// warnWithoutSkill warns of a policy that is not about any skill of the catalog. It applies to a later skill, if the slug is right.
func (p *program) warnWithoutSkill(ctx context.Context, c *client.Client, policy pannier.Policy) {
	list, err := c.Skills(ctx, "", false)
	if err != nil || slices.ContainsFunc(list.Skills, func(e *pannier.Entry) bool { return e.Slug == policy.Slug && e.SourceKind == policy.SourceKind }) {
		return
	}
	sayf(p.err, "warning: no skill %s of kind %s; the policy applies once there is one", strconv.Quote(policy.Slug), policy.SourceKind)
}

// policyChange reads the switches. At least one must be given.
func policyChange(enabled, implicit, offered string) (change pannier.PolicyChange, err error) {
	if enabled == "" && implicit == "" && offered == "" {
		return change, &exitError{code: exitUnknown, message: "nothing to change", hint: "give --enabled, --implicit or --tools"}
	}
	for _, flag := range []struct {
		name, text string
		to         *pannier.Toggle
	}{{"--enabled", enabled, &change.Enabled}, {"--implicit", implicit, &change.AllowImplicit}, {"--tools", offered, &change.Tools}} {
		switch flag.text {
		case "":
		case "default":
			flag.to.Given = true
		case "true", "false":
			value := flag.text == "true"
			*flag.to = pannier.Toggle{Given: true, To: &value}
		default:
			return change, &exitError{code: exitUnknown, message: fmt.Sprintf("%s is %q", flag.name, flag.text), hint: "give true, false or default"}
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
			plain.Shorten(policy.Slug, 40), string(policy.SourceKind), strconv.FormatBool(e.Enabled), string(e.Source), strconv.FormatBool(e.AllowImplicit), string(e.ImplicitSource),
		})
	}
	return s.table(rows, columnPaint{2, func(cell string) string {
		if cell == "false" {
			return s.paint.bad(cell)
		}
		return cell
	}})
}
