package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) scanCommand() *cobra.Command {
	var at string
	var accept acceptFlags
	cmd := &cobra.Command{
		Use:   "scan SLUG",
		Short: "Scan the files of a skill for security problems",
		Long: `Scans every file of a skill in the sidecar: executables, secrets, commands that give control of
the machine to a third party, links that leave the skill, invisible characters. The result is kept
until a file of the skill changes. A skill with a blocking finding is not usable; a skill without
a scan is, unless "scan: enforce" is set.

--accept RULE --reason TEXT accepts the blocking findings of a rule for this content at this path.
The acceptance ends when a file of the skill changes, or with --accept none. Later scans of the
same content keep it.

Exit codes: 0 not blocked; 1 a finding blocks; 2 failure; 3 no sidecar answers.`,
		Example: `  pannier scan pdf-forms
  pannier scan pdf-forms --accept scan.command.pipe_shell --reason 'our own host'
  pannier scan pdf-forms --accept none`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				request := pannier.ScanRequest{Accept: accept.request()}
				if slices.Equal(accept.rules, []string{pannier.AcceptNone}) && accept.reason == "" {
					request = pannier.ScanRequest{Withdraw: true}
				}
				report, err := c.Scan(ctx, args[0], at, request)
				return judged(output(p, p.printScan)(report, err), report.Decision == pannier.ScanBlock)
			})
		},
	}
	cmd.Flags().StringVar(&at, "path", "", "`directory` of the skill, if several have the slug")
	accept.add(cmd, "accept the blocking findings of this `rule` for this content; repeatable; none withdraws all")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

type acceptFlags struct {
	rules  []string
	reason string
}

func (f *acceptFlags) add(cmd *cobra.Command, help string) {
	cmd.Flags().StringSliceVar(&f.rules, "accept", nil, help)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why the findings are accepted")
}

func (f *acceptFlags) request() pannier.AcceptRequest {
	return pannier.AcceptRequest{Rules: f.rules, Reason: f.reason}
}

func acceptedRows(accepted []pannier.Acceptance) (rows [][]string) {
	for _, a := range accepted {
		rows = append(rows, []string{"accepted", fmt.Sprintf("%s by %s at %s: %s", a.Rule, a.By.Owner(), a.At.Format(time.RFC3339), a.Reason)})
	}
	return rows
}

func (s streams) printScan(r pannier.ScanReport) error {
	rows := [][]string{
		{"slug", r.Slug},
		{"path", r.Path},
		{"decision", string(r.Decision)},
		{"findings", fmt.Sprintf("%d in %s, %s", len(r.Findings), plain.Count(r.Files, "file"), plain.Count(int(r.Bytes), "byte"))},
		{"fingerprint", r.Fingerprint.String()},
	}
	rows = append(rows, acceptedRows(r.Accepted)...)
	rows = append(rows, []string{"not kept", r.Unkept})
	if err := s.fields(rows, "decision", s.paint.verdict); err != nil {
		return err
	}
	if len(r.Findings) > 0 {
		fmt.Fprintln(s.out)
	}
	for _, f := range r.Findings {
		p := pannier.Problem{Path: path.Join(r.Path, f.Path), Line: f.Line}
		s.printFault(p.Place(), f.Severity, f.Message, f.Rule, f.Hint)
	}
	return nil
}

// scanWords says what the last scan found, and nothing where there was none.
func scanWords(v *pannier.ScanVerdict) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s, %s, %s", v.Decision, plain.Count(len(v.Findings), "finding"), v.At.Format(time.RFC3339), v.Origin)
}
