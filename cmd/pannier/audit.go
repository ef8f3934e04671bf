package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/loader/lint"
	"pannier/loader/profile"
)

type auditing struct {
	*program
	options            lint.Options
	base               string // the directory that paths are relative to; empty for a text that was piped in
	sarif, fix, dryRun bool
	// bare is set for a directory of skills without a config.yaml.
	bare bool
}

func (p *program) auditCommand() *cobra.Command {
	a := &auditing{program: p}
	cmd := &cobra.Command{
		Use:   "audit [DIR | -]",
		Short: "Check skills against the rules of a profile",
		Long: `Checks every skill that config.yaml lists, in its order, then every other skill, and reports the
line, the rule and a fix. DIR is a workspace, a skill, or a directory of skills; the default is
the workspace of the settings if they name one, else the current directory. "-" reads one SKILL.md
from standard input. It needs no sidecar. In a directory of skills, such as a repository,
.claude/skills and skills/.curated are checked too.

Exit codes: 0 clean; 1 errors in skills that config.yaml lists (--all: in any skill), with
--strict also warnings; 2 wrong usage or failure.`,
		Example: `  pannier audit ./my-skills --profile all
  pannier audit ./my-skills --fix --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.options.Profile, "profile", lint.ProfileMolecule, "`profile` of rules: "+strings.Join(lint.Profiles(), ", "))
	flags.BoolVar(&a.options.Scan, "scan", false, "add the findings of the security scan")
	flags.BoolVar(&a.options.Strict, "strict", false, "warnings fail a skill too")
	flags.BoolVar(&a.options.All, "all", false, "skills that config.yaml does not list count too")
	flags.BoolVar(&a.sarif, "sarif", false, "print SARIF 2.1.0")
	flags.BoolVar(&a.fix, "fix", false, "show safe fixes as a diff, apply them, and check again")
	flags.BoolVar(&a.dryRun, "dry-run", false, "with --fix: only show the diff")
	cmd = p.jsonFlag(cmd)
	cmd.MarkFlagsMutuallyExclusive("json", "sarif")
	return p.share(cmd, append(readsSettings, "root")...)
}

func (a *auditing) run(cmd *cobra.Command, args []string) error {
	stdin := len(args) == 1 && args[0] == "-"
	switch {
	case !slices.Contains(lint.Profiles(), a.options.Profile) && !slices.Contains(profile.Names(), a.options.Profile):
		return failure(fmt.Sprintf("unknown profile %q", a.options.Profile),
			"give one of "+strings.Join(lint.Profiles(), ", "))
	case a.dryRun && !a.fix:
		return failure("--dry-run needs --fix", "add --fix")
	case stdin && a.fix:
		return failure("standard input cannot be fixed in place", "name the directory of the SKILL.md")
	}
	if stdin {
		return a.text(cmd.Context(), cmd.InOrStdin())
	}
	if err := a.target(args); err != nil {
		return err
	}
	report, err := lint.Audit(cmd.Context(), a.options)
	if err == nil && a.bare && len(report.Skills) == 0 {
		tools, _ := os.ReadDir(filepath.Join(a.base, "tools")) // a directory without SKILL.md can be a skill of tools only
		if slices.ContainsFunc(tools, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".py") }) {
			a.options.ToolsOnly = true
			if err = a.auditSkill(a.base); err == nil {
				report, err = lint.Audit(cmd.Context(), a.options)
			}
		}
	}
	if err == nil && a.fix {
		report, err = a.applyFixes(cmd.Context(), report)
	}
	if err != nil {
		return err
	}
	return a.conclude(report)
}

func (a *auditing) text(ctx context.Context, in io.Reader) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	a.options.Rules = s.DiscoveryRules
	text, err := io.ReadAll(io.LimitReader(in, s.MaxSkillBytes+1)) // one more byte shows that it is too long
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	report, err := lint.Text(ctx, text, "stdin", a.options)
	if err != nil {
		return err
	}
	return a.conclude(report)
}

func (a *auditing) target(args []string) error {
	if len(args) == 0 {
		s, err := a.settings()
		if err != nil {
			return err
		}
		if s.Given.Workspace {
			return a.setWorkspace()
		}
		args = []string{"."}
	}
	if a.flags.Changed("workspace") {
		return failure("two directories given: an argument and --workspace", "give one of them")
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if err := checkDirectory(dir); err != nil {
		return err
	}
	isSkillFile := func(e os.DirEntry) bool { return !e.IsDir() && pannier.IsSkillFile(e.Name()) }
	if entries, err := os.ReadDir(dir); err == nil && slices.ContainsFunc(entries, isSkillFile) {
		return a.auditSkill(dir)
	}
	if _, err := os.Lstat(filepath.Join(dir, pannier.WorkspaceFile)); err == nil {
		if err := a.flags.Set("workspace", dir); err != nil {
			return err
		}
		return a.setWorkspace()
	}
	a.bare = true
	if err := a.setRoot(dir, pannier.Root{Path: dir, Name: ".", Kind: pannier.SourceWorkspace}); err != nil {
		return err
	}
	a.options.Rules.Roots = append(a.options.Rules.Roots, lint.HiddenRoots(dir, a.options.Rules)...)
	return nil
}

func checkDirectory(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return failure(fmt.Sprintf("cannot audit %s: %v", dir, errors.Unwrap(err)),
			"name a workspace, a skill, or a directory of skills")
	case !info.IsDir():
		return failure(dir+" is not a directory", "name its directory, or pipe it: `pannier audit - < FILE`")
	}
	return nil
}

func (a *auditing) setWorkspace() error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if err := checkDirectory(s.Workspace); err != nil {
		return err
	}
	a.base, a.options.Rules = s.Workspace, s.DiscoveryRules
	a.options.Workspace = config.NewWorkspaceReader(s.Workspace, 0).Read()
	return nil
}

func (a *auditing) auditSkill(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	a.options.Only = filepath.Base(dir)
	return a.setRoot(dir, pannier.Root{Path: filepath.Dir(dir), Kind: pannier.SourceWorkspace})
}

// setRoot audits one root that belongs to no workspace.
func (a *auditing) setRoot(base string, root pannier.Root) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	a.base, a.options.Rules = base, s.DiscoveryRules
	a.options.Rules.Workspace, a.options.Rules.Roots = base, []pannier.Root{root}
	for dir := base; dir != filepath.Dir(dir); dir = filepath.Dir(dir) { // below the skills of a workspace with a config.yaml
		if _, err := os.Lstat(filepath.Join(filepath.Dir(dir), pannier.WorkspaceFile)); err == nil && filepath.Base(dir) == "skills" {
			a.options.Configured = true
		}
	}
	return nil
}

// applyFixes shows what can be mended, mends it unless this is a dry run, and returns the report as it then is.
func (a *auditing) applyFixes(ctx context.Context, report lint.Report) (lint.Report, error) {
	fixes, left, err := lint.Fixes(ctx, a.options, report)
	if err != nil {
		return report, err
	}
	to := a.streams
	if a.json || a.sarif { // what is not data
		to.out, to.paint = a.err, a.complain
	}
	var failed []string
	for i := range fixes {
		f := &fixes[i]
		to.printDiff(f.Heading() + f.Diff)
		if a.dryRun {
			continue
		}
		if err := f.Apply(); err != nil {
			failed = append(failed, err.Error())
		}
	}
	to.printProblems(left)
	words := "fixed"
	if a.dryRun {
		words = "can be fixed"
	}
	fmt.Fprintf(to.out, "%s %s\n", plain.Count(len(fixes)-len(failed), "file"), words)
	if len(failed) > 0 {
		return report, failure(strings.Join(failed, "\n"), "check the permissions and other writers, then audit again")
	}
	if a.dryRun || len(fixes) == 0 {
		return report, nil
	}
	if a.options.Workspace.Fields != nil {
		a.options.Workspace = config.NewWorkspaceReader(a.base, 0).Read()
	}
	return lint.Audit(ctx, a.options)
}

func (a *auditing) conclude(r lint.Report) error {
	var err error
	switch {
	case a.json:
		err = a.printJSON(r)
	case a.sarif:
		err = r.WriteSARIF(a.out, a.base, version(), compactJSON)
	default:
		a.printAudit(r)
	}
	if err != nil {
		return err
	}
	unknown := slices.ContainsFunc(r.Problems, func(p pannier.Problem) bool { return p.Severity == pannier.SeverityError })
	switch {
	case unknown:
		return failure("config.yaml or a directory of skills is not readable; the report may be incomplete",
			"fix that first, then audit again")
	case len(r.Skills) == 0 && (a.bare || a.options.Only != ""):
		return failure("no skill found in "+a.base, "name a workspace, a skill, or a directory of skills")
	case r.Summary.Failed > 0, a.options.Strict && r.Summary.Warnings > 0:
		return &exitError{code: exitNo}
	}
	return nil
}

func (s streams) printAudit(r lint.Report) {
	s.printProblems(r.Problems)
	others := 0
	for i := range r.Skills {
		skill := &r.Skills[i]
		where := skill.Path
		if !skill.Listed {
			where += ", not in config.yaml"
			others++
		}
		paint := s.paint.bad
		if skill.Status == lint.Pass {
			paint = s.paint.good
		}
		fmt.Fprintf(s.out, "[%s] %s %s\n", paint(string(skill.Status)), plain.Text(skill.Slug), s.paint.quiet("("+plain.Text(where)+")"))
		s.printProblems(skill.Problems)
		for _, spec := range skill.Install {
			fmt.Fprintf(s.out, "  %s %s\n", s.paint.quiet("install:"), plain.Text(installWords(spec)))
		}
	}
	fmt.Fprintln(s.out, summaryWords(r, others))
}

// summaryWords sums a report up. others is how many of its skills config.yaml does not list.
func summaryWords(r lint.Report, others int) string {
	sum := r.Summary
	words := plain.Count(sum.Checked, "skill") + " passed"
	switch {
	case sum.Checked == 0:
		words = "no skill was checked"
	case sum.Failed > 0:
		words = fmt.Sprintf("%d of %s failed", sum.Failed, plain.Count(sum.Checked, "skill"))
	}
	words += fmt.Sprintf(" (%s): %s, %s", r.Profile, plain.Count(sum.Errors, "error"), plain.Count(sum.Warnings, "warning"))
	if more := len(r.Skills) - sum.Checked; others > 0 && more > 0 {
		words += fmt.Sprintf("; %d more not in config.yaml, not counted without --all", more)
	}
	return words
}

// printDiff prints a unified diff. A CR, which a terminal would obey, shows as its symbol.
func (s streams) printDiff(text string) {
	for l := range strings.Lines(text) {
		l = strings.Map(func(r rune) rune {
			switch {
			case r == '\r':
				return '␍'
			case r != '\t' && plain.IsControl(r):
				return -1
			}
			return r
		}, strings.ToValidUTF8(strings.TrimSuffix(l, "\n"), "\uFFFD"))
		switch {
		case strings.HasPrefix(l, "+"):
			l = s.paint.good(l)
		case strings.HasPrefix(l, "-"):
			l = s.paint.bad(l)
		case strings.HasPrefix(l, "@@"):
			l = s.paint.quiet(l)
		}
		fmt.Fprintln(s.out, l)
	}
}
