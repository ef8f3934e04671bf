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
				if err != nil {
					return err
				}
				err = output(p, p.printHealth)(h, nil)
				if err == nil && h.Status != pannier.HealthOK {
					err = &exitError{code: exitNo}
				}
				return err
			})
		},
	})
	cmd.AddCommand(p.acknowledgeCommand())
	return p.share(cmd, asksSidecar...)
}

func (p *program) printHealth(h pannier.Health) error {
	rows := [][]string{
		{"status", string(h.Status)},
		{"version", h.Version + commitWords(h.Commit)},
		{"uptime", uptimeWords(time.Since(h.StartedAt))},
		p.sidecarAddress(),
		{"workspace", h.Workspace},
		{"workspace id", h.WorkspaceID},
		{"skills", countWords(h.Skills)},
		{"snapshot", fmt.Sprint(h.SnapshotVersion)},
		{"watching", watchWords(h.Watch)},
	}
	for _, push := range h.Push {
		rows = append(rows, []string{"platform", push.Platform + ": " + pushWords(push)})
	}
	if err := p.fields(rows, "status", p.paint.health); err != nil {
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

func watchWords(watch pannier.WatchHealth) string {
	words := fmt.Sprintf("%s, %s", watch.Mode, plain.Count(watch.Watches, "directory"))
	if watch.Polled > 0 && watch.Polled < watch.Watches {
		words += fmt.Sprintf(", %d of them polled", watch.Polled)
	}
	return words
}

func pushWords(push pannier.PushHealth) string {
	switch {
	case push.LastError != "":
		return "not up to date: " + push.LastError
	case push.Desired == push.Acknowledged:
		return "has the newest card"
	}
	return "the newest card is being pushed"
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
