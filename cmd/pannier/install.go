package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier"
	"pannier/publish/client"
)

type movingFlags struct {
	kind         string
	expected     pannier.Digest // zero where the flag is not given
	allowMissing bool
	implicit     bool
	accept       acceptFlags
	dryRun       bool
}

func (f *movingFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kind, "source-kind", "", "`kind` of root: workspace or managed (default workspace)")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the result, and change nothing")
}

func (f *movingFlags) addExpected(cmd *cobra.Command) {
	cmd.Flags().Func("expected-fingerprint", "change the skill only if it has this `fingerprint`", func(text string) (err error) {
		if f.expected, err = pannier.ParseFingerprint(text); err != nil {
			return failure("invalid --expected-fingerprint: "+err.Error(),
				"give the fingerprint of `pannier show --json` while a sidecar runs: sha256: and 64 digits; leave the flag out to accept any")
		}
		return nil
	})
}

func (f *movingFlags) addAllowMissing(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.allowMissing, "allow-missing", false, "install a skill whose requirements are not met")
	f.accept.add(cmd, "accept the blocking findings of this `rule` for this content; needs --reason; repeatable")
}

func (p *program) installCommand() *cobra.Command {
	var f movingFlags
	cmd := &cobra.Command{
		Use:   "install DIR|ARCHIVE|-",
		Short: "Install a skill into the workspace",
		Long: `Installs a skill from its folder, from a tar.gz or zip archive, or from an archive on standard
input. The skill is validated and scanned in a staging directory, then moved into place
atomically. When the command ends, the sidecar serves it. Without a sidecar, the command changes
the directory itself. The agent uses the skill only if a turn names it, or with --implicit.

A skill with a blocking finding is refused. --accept RULE --reason TEXT accepts the findings of
that rule for this content at this path; the lock file and the audit log record who accepted and
why. A skill that needs a missing executable or variable is refused without --allow-missing.`,
		Example: `  pannier install ./pdf-forms
  pannier install pdf-forms.tar.gz --dry-run
  curl -sL https://example.org/pdf-forms.tgz | pannier install -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.move(cmd, f, "", args[0])
		},
	}
	f.add(cmd)
	f.addAllowMissing(cmd)
	cmd.Flags().BoolVar(&f.implicit, "implicit", false, "let the model choose the skill on its own")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

func (p *program) updateCommand() *cobra.Command {
	var f movingFlags
	cmd := &cobra.Command{
		Use:   "update SLUG DIR|ARCHIVE|-",
		Short: "Replace an installed skill by another version",
		Long: `Replaces an installed skill by the content of a folder or an archive. The previous version is kept
for one "pannier rollback". A skill that pannier did not install is replaced only with
--expected-fingerprint.`,
		Example: "  pannier update pdf-forms ./pdf-forms",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.move(cmd, f, args[0], args[1])
		},
	}
	f.add(cmd)
	f.addExpected(cmd)
	f.addAllowMissing(cmd)
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

func (p *program) uninstallCommand() *cobra.Command {
	return p.removalCommand("uninstall SLUG", "Remove an installed skill",
		`Removes a skill that pannier installed, and the policy that clients set for it. It refuses a skill
that pannier did not install.`, (*client.Client).Uninstall)
}

func (p *program) rollbackCommand() *cobra.Command {
	return p.removalCommand("rollback SLUG", "Restore the previous version of an installed skill",
		"Restores the version of a skill that the last update replaced. One version is kept.", (*client.Client).Rollback)
}

type removal = func(*client.Client, context.Context, pannier.RemoveRequest) (pannier.InstallResult, error)

// removalCommand is a command that changes a skill without bringing one.
func (p *program) removalCommand(use, short, long string, do removal) *cobra.Command {
	var f movingFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Example: "  pannier " + strings.Replace(use, "SLUG", "pdf-forms", 1),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.changing(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				result, err := do(c, ctx, pannier.RemoveRequest{
					Slug: args[0], SourceKind: pannier.SourceKind(f.kind), Expected: f.expected, DryRun: f.dryRun,
				})
				if err != nil {
					return err
				}
				if err := p.printMove(result); err != nil || result.Status != pannier.StatusNotInstalled {
					return err
				}
				return notInstalled(ctx, c, args[0])
			})
		},
	}
	f.add(cmd)
	f.addExpected(cmd)
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// notInstalled is the answer to the removal of a skill that neither pannier nor another installed.
func notInstalled(ctx context.Context, c *client.Client, slug string) error {
	e := answerNo(fmt.Sprintf("skill %q is not installed", slug), "run `pannier list` to see all skills")
	list, err := c.Skills(ctx, "", false)
	if err != nil {
		return err
	}
	var slugs []string
	for _, entry := range list.Skills {
		slugs = append(slugs, entry.Slug)
	}
	e.suggest(slugs, slug)
	return e
}

func (p *program) move(cmd *cobra.Command, f movingFlags, slug, from string) error {
	src, err := p.openSource(cmd.Context(), from)
	if err != nil {
		return err
	}
	defer src.close()
	req := pannier.InstallRequest{
		Slug: slug, SourceKind: pannier.SourceKind(f.kind), Expected: f.expected, AllowMissing: f.allowMissing,
		Accept: f.accept.request(), DryRun: f.dryRun,
	}
	return p.changing(cmd.Context(), func(ctx context.Context, c *client.Client) error {
		result, err := c.Install(ctx, req, pannier.InstallSource{Body: src, Name: src.name, Format: src.format})
		if err != nil {
			return goOn(src.fault(err), cmd, from)
		}
		result.Ignored = append(src.skipped, result.Ignored...)
		if f.implicit {
			if err := chooseImplicitly(ctx, c, &result); err != nil {
				return err
			}
		}
		return p.printMove(result)
	})
}

// chooseImplicitly lets the model choose an installed skill.
func chooseImplicitly(ctx context.Context, c *client.Client, result *pannier.InstallResult) error {
	if !result.DryRun {
		implicit := pannier.PolicyChange{AllowImplicit: pannier.Toggle{Given: true, To: new(true)}}
		if _, err := c.SetPolicy(ctx, result.Skill.Slug, result.Skill.SourceKind, implicit); err != nil {
			return failure(fmt.Sprintf("skill %q is installed, but the model cannot choose it: %v", result.Skill.Slug, err),
				fmt.Sprintf("run `pannier policy set %s --implicit=true`", result.Skill.Slug))
		}
	}
	result.Problems = slices.DeleteFunc(result.Problems, func(p pannier.Problem) bool { return p.Code == "install.explicit_only" })
	return nil
}

// goOn ends the hint of a refused installation with the command that goes on.
func goOn(err error, cmd *cobra.Command, from string) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) { line += " " + quoteWord("--"+f.Name+"="+strings.Trim(f.Value.String(), "[]")) })
	for _, arg := range cmd.Flags().Args() {
		line += " " + quoteWord(arg)
	}
	switch {
	case e.Code == "install.security" && len(e.Findings) > 0:
		var rules []string
		for _, f := range e.Findings {
			if !slices.Contains(rules, f.Rule) {
				rules = append(rules, f.Rule)
			}
		}
		e.Hint += fmt.Sprintf(": run `%s --accept %s --reason TEXT`", line, strings.Join(rules, ","))
	case e.Code == "install.dependency":
		e.Hint += fmt.Sprintf(": run `%s --allow-missing`", line)
	case e.Code == "install.exists" && e.Conflict != nil && (e.Conflict.Managed || !e.Conflict.Fingerprint.IsZero()):
		next := fmt.Sprintf("pannier update %s %s", e.Conflict.Slug, quoteWord(from))
		if !e.Conflict.Managed {
			next += " --expected-fingerprint " + e.Conflict.Fingerprint.String()
		}
		e.Hint += fmt.Sprintf(": run `%s`", next)
	case e.Code == "install.not_found":
		e.Hint += fmt.Sprintf(": run `pannier install %s`", quoteWord(from))
	default:
		e.Hint = strings.TrimPrefix(fmt.Sprintf("%s; then run `%s`", e.Hint, line), "; then ")
	}
	return e
}

// quoteWord quotes a word for a shell where it needs that.
func quoteWord(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./=:,@+", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (p *program) printMove(r pannier.InstallResult) error {
	if p.json {
		return p.printJSON(r)
	}
	status := string(r.Status)
	if r.DryRun {
		status += " (nothing was touched)"
	}
	files := ""
	if r.Files > 0 {
		files = fmt.Sprintf("%d, %d bytes", r.Files, r.Bytes)
	}
	rows := [][]string{
		{"status", status},
		{"slug", r.Skill.Slug},
		{"name", r.Skill.Name},
		{"version", r.Skill.Version},
		{"path", r.Skill.Path},
		{"trust", trustWords(r.Skill.TrustLevel, true, r.Skill.SourceKind)},
		{"fingerprint", r.Skill.Fingerprint.String()},
		{"before", r.Previous.String()},
		{"removed", r.Removed},
		{"files", files},
		{"left out", strings.Join(r.Ignored, ", ")},
		{"config.yaml", configWords[r.Config]},
	}
	rows = append(rows, acceptedRows(r.Accepted)...)
	if err := p.fields(rows, "status", p.paint.good); err != nil {
		return err
	}
	for _, reason := range r.Reasons {
		p.printFault(r.Skill.Path, pannier.SeverityWarning, "not usable yet: "+reason.Subject, reason.Code, reason.Remedy)
	}
	for _, f := range r.Findings {
		p.printFault(pannier.Problem{Path: f.Path, Line: f.Line}.Place(), f.Severity, f.Message, f.Rule, f.Hint)
	}
	p.printProblems(r.Problems)
	return nil
}

var configWords = map[string]string{"added": "an entry was added under skills", "removed": "its entry under skills was removed"}
