package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"pannier"
	"pannier/admin"
	"pannier/admin/scans"
	"pannier/loader"
	"pannier/loader/scan"
	"pannier/publish/api"
	"pannier/publish/client"
)

// openScans begins with what scans have found before this process.
func (c *sidecar) openScans(reg prometheus.Registerer) admin.ScanOptions {
	verdicts := c.memory.refusals.verdicts
	c.prints = newFingerprints(c.rules, c.registry, verdicts, newScanPolicy(c.settings), c.log)
	c.prints.contents, c.prints.keepContents = c.loader.Contents, c.memory.contents.writer.Put
	return admin.ScanOptions{
		IsRule: isScanRule, Ruleset: c.prints.policy.ruleset, Verdicts: newCountedVerdicts(verdicts, reg), Fingerprint: c.prints.now, Scan: c.scanDirectory, ApplyVerdict: c.prints.apply,
	}
}

// countedVerdicts counts the verdicts that are kept.
type countedVerdicts struct {
	*scans.Store
	scans *prometheus.CounterVec
}

func newCountedVerdicts(s *scans.Store, reg prometheus.Registerer) countedVerdicts {
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pannier_skill_scans_total", Help: "Security scans whose verdict was kept, by what they were made for and by their decision.",
	}, []string{"origin", "decision"})
	for _, origin := range []pannier.ScanOrigin{pannier.ScanBackground, pannier.ScanInstall, pannier.ScanExplicit} {
		for _, decision := range []pannier.ScanDecision{pannier.ScanAllow, pannier.ScanWarn, pannier.ScanBlock} {
			count.WithLabelValues(string(origin), string(decision))
		}
	}
	reg.MustRegister(count)
	return countedVerdicts{s, count}
}

// Put implements [admin.Verdicts].
func (c countedVerdicts) Put(v pannier.ScanVerdict) (pannier.ScanVerdict, error) {
	kept, err := c.Store.Put(v)
	if err == nil {
		c.scans.WithLabelValues(string(v.Origin), string(v.Decision)).Inc()
	}
	return kept, err
}

// Hold implements [admin.Verdicts].
func (c countedVerdicts) Hold(skill *pannier.Skill, v pannier.ScanVerdict) error {
	err := c.Store.Hold(skill, v)
	if err == nil {
		c.scans.WithLabelValues(string(v.Origin), string(v.Decision)).Inc()
	}
	return err
}

// scanDirectory scans a skill directory as it is now.
func (c *sidecar) scanDirectory(ctx context.Context, s *pannier.Skill) (pannier.ScanReport, error) {
	found, err := scan.Path(ctx, loader.PlaceOf(c.rules.Roots[s.RootIndex]), s.PathBelowRoot, c.scanOptions(s.SourceKind))
	return pannier.ScanReport{
		ScanVerdict: pannier.ScanVerdict{
			Ruleset: c.prints.policy.ruleset, Decision: pannier.ScanDecision(found.Decision), Findings: found.Findings, Truncated: found.Truncated,
		},
		Files: found.Files, Bytes: found.Bytes,
	}, err
}

// isScanRule reports whether a scan has a rule.
func isScanRule(name string) bool {
	return slices.ContainsFunc(scan.Rules(), func(r scan.Rule) bool { return r.Code == name })
}

// scanOptions are those of every scan by these settings.
func (h *house) scanOptions(kind pannier.SourceKind) scan.Options {
	return scan.Options{Builtin: kind == pannier.SourceBundled, BlockInstallers: h.settings.ScanInstallers == "block"}
}

// scans is what the socket shows of fingerprints and verdicts.
func (c *sidecar) scans() api.Scans {
	return api.Scans{Fingerprint: c.prints.of, Generation: c.prints.generation, Verdict: c.prints.found, Summary: c.prints.summary}
}

func (p *program) scanCommand() *cobra.Command {
	var at string
	var accept acceptFlags
	cmd := &cobra.Command{
		Use:   "scan SLUG",
		Short: "Look through the files of a skill for what would do harm",
		Long: `Has the sidecar look through every file of a skill: programs, secrets, commands that hand the machine to somebody
else, links that lead out, characters that nobody sees. What is found is kept until a file of the skill changes, and while
one of the findings blocks, the skill can not be used. A skill that nobody has scanned is not blocked.

With --accept RULE --reason TEXT the blocking findings of a rule no longer block this content at this path. This ends as soon as
a file of the skill changes, and with --accept none. Later scans of the same content keep it.

The exit code is 1 where a finding blocks.`,
		Example: "  pannier scan pdf-forms\n  pannier scan pdf-forms --accept scan.command.pipe_shell --reason 'our own host'\n  pannier scan pdf-forms --accept none",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				report, err := c.Scan(ctx, args[0], at, accept.scan())
				if err != nil {
					return err
				}
				if p.json {
					err = p.printJSON(report)
				} else {
					err = p.printScan(report)
				}
				if err == nil && report.Decision == pannier.ScanBlock {
					err = &exitError{code: exitNo}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&at, "path", "", "the directory of the skill that is meant, where several have the slug")
	accept.add(cmd, "accept the blocking findings of this rule for exactly this content; repeatable; none takes all acceptances of the skill back")
	return p.jsonFlag(cmd)
}

// acceptFlags say which rules are accepted, and why.
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

// scan returns the request of a scan, where one word in the place of a rule takes acceptances back.
func (f *acceptFlags) scan() pannier.ScanRequest {
	if slices.Equal(f.rules, []string{pannier.AcceptNone}) && f.reason == "" {
		return pannier.ScanRequest{Withdraw: true}
	}
	return pannier.ScanRequest{Accept: f.request()}
}

// acceptedRows tell what is accepted, by whom and why.
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
		{"findings", fmt.Sprintf("%d in %s, %s", len(r.Findings), plural(r.Files, "file"), plural(int(r.Bytes), "byte"))},
	}
	if !r.Fingerprint.IsZero() {
		rows = append(rows, []string{"fingerprint", r.Fingerprint.String()})
	}
	rows = append(rows, acceptedRows(r.Accepted)...)
	if r.Unkept != "" {
		rows = append(rows, []string{"not kept", r.Unkept})
	}
	if err := s.fields(rows, "decision", s.paint.decision); err != nil {
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
	return fmt.Sprintf("%s, %d findings, %s, %s", v.Decision, len(v.Findings), v.At.Format(time.RFC3339), v.Origin)
}

// shownScan is as scanWords, and leaves out a background scan that found nothing.
func shownScan(v *pannier.ScanVerdict) string {
	if v != nil && v.Origin == pannier.ScanBackground && len(v.Findings) == 0 {
		return ""
	}
	return scanWords(v)
}

// decision colours what follows from a scan.
func (p palette) decision(word string) string {
	switch pannier.ScanDecision(word) {
	case pannier.ScanAllow:
		return p.good(word)
	case pannier.ScanBlock:
		return p.bad(word)
	}
	return p.in(yellow, word)
}
