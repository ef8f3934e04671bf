package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) healthCommand() *cobra.Command {
	cmd := p.jsonFlag(&cobra.Command{
		Use:   "health [SLUG]",
		Short: "Show the health of the sidecar or of one skill",
		Long: `Shows the health of the sidecar and its workspace, or of one skill, and how to fix each problem.

Exit codes: 0 healthy; 1 not healthy; 2 failure; 3 no sidecar answers.`,
		Example: `  pannier health
  pannier health pdf-forms`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if len(args) > 0 {
					return p.showSkillHealth(ctx, c, args[0])
				}
				h, err := c.Health(ctx)
				return judged(output(p, p.printHealth)(h, err), h.Status != pannier.HealthOK)
			})
		},
	})
	cmd.AddCommand(p.acknowledgeCommand())
	return p.share(cmd, asksSidecar...)
}

func (p *program) printHealth(h pannier.Health) error {
	address := []string{"url", p.remote.or(p.environ).url}
	if address[1] == "" {
		socket, err := p.socketPath()
		if err != nil {
			socket = err.Error()
		}
		address = []string{"socket", socket}
	}
	watching := fmt.Sprintf("%s, %s", h.Watch.Mode, plain.Count(h.Watch.Watches, "directory"))
	if h.Watch.Polled > 0 && h.Watch.Polled < h.Watch.Watches {
		watching += fmt.Sprintf(", %d of them polled", h.Watch.Polled)
	}
	rows := [][]string{
		{"status", string(h.Status)},
		{"version", h.Version + commitWords(h.Commit)},
		{"uptime", uptimeWords(time.Since(h.StartedAt))},
		address,
		{"workspace", h.Workspace},
		{"workspace id", h.WorkspaceID},
		{"skills", countWords(h.Skills)},
		{"snapshot", fmt.Sprint(h.SnapshotVersion)},
		{"watching", watching},
	}
	for _, push := range h.Push {
		words := "the newest card is being pushed"
		if push.LastError != "" {
			words = "not up to date: " + push.LastError
		} else if push.Desired == push.Acknowledged {
			words = "has the newest card"
		}
		rows = append(rows, []string{"platform", push.Platform + ": " + words})
	}
	if err := p.fields(rows, "status", p.paint.verdict); err != nil {
		return err
	}
	for _, c := range h.Conditions {
		fmt.Fprintln(p.out)
		p.printFault(c.Subject, c.Severity, c.Message, c.Code, c.Hint)
	}
	return nil
}

// uptimeWords returns a duration in its two largest units. A clock that was set back makes it zero.
func uptimeWords(d time.Duration) string {
	if day := 24 * time.Hour; d >= day {
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
	words := max(0, d).Truncate(time.Second).String()
	if d >= time.Hour {
		words = words[:strings.IndexByte(words, 'm')+1]
	}
	return words
}

// countWords returns the number of skills, and of those in each state, the usable first.
func countWords(counts map[pannier.State]int) string {
	total := 0
	var words []string
	for _, state := range slices.Backward(pannier.States()) {
		if n := counts[state]; n > 0 {
			total += n
			words = append(words, fmt.Sprintf("%d %s", n, state))
		}
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(words, ", "))
}

func (p *program) acknowledgeCommand() *cobra.Command {
	return p.share(p.jsonFlag(&cobra.Command{
		Use:   "acknowledge CONDITION",
		Short: "End a condition that lasts until an operator acknowledges it",
		Long: `Ends a condition of health that lasts until an operator acknowledges it. The acknowledgement is
recorded in the audit log.

  state_lost       policy and scan results were lost, and every skill is blocked until you end this.
                   Check "pannier policy list" and scan the skills first
  policy_restored  the policy file was damaged and has been restored completely
  audit_broken     entries of the audit log were changed or removed`,
		Example: "  pannier health acknowledge state_lost",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				show := func(h pannier.Health) error {
					return sayf(p.out, "acknowledged %s; health is %s", args[0], h.Status)
				}
				return output(p, show)(c.Acknowledge(ctx, args[0]))
			})
		},
	}), asksSidecar...)
}
