package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

// allowing is how a permission of tools is asked for.
type allowing struct {
	fingerprint string
	dryRun, yes bool
}

func (p *program) toolAllowCommand() *cobra.Command {
	var how allowing
	var kind string
	var remove, prepare bool
	cmd := &cobra.Command{
		Use:   "allow [SLUG]",
		Short: "Show what the tools of a skill do, and allow them to run",
		Long: `Shows what the permission covers: the files of the skill, how each tool starts, what it reaches, and
what a security scan found. A skill that was not scanned is scanned first. Then it asks, if standard
input and standard error are terminals; --yes or another input allows without a question. --dry-run
only shows.

The permission holds for the files that were shown. A changed file takes it away. It also lets a
skill run tools that has too little trust for them. A skill that a security scan blocks is refused.

--prepare then installs the packages that scripts declare, where tools run. --remove takes the
permission back. Without a slug, the command lists what is allowed. A skill of trust internal needs
no permission, unless a tool of it sends a secret.

Exit codes: 0 allowed; 1 not allowed; 2 failure; 3 no sidecar answers.`,
		Example: `  pannier tool allow repo-review
  pannier tool allow repo-review --dry-run
  pannier tool allow repo-review --prepare
  pannier tool allow`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.asking(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if len(args) == 0 {
					return output(p, p.printToolsAllowed)(c.Policies(ctx))
				}
				change := pannier.PolicyChange{ToolsAllowed: pannier.Permission{Given: true}}
				if !remove {
					var err error
					if change.ToolsAllowed.To, err = p.contentToAllow(ctx, c, args[0], how); err != nil || how.dryRun {
						return err
					}
				}
				if prepare {
					if _, err := c.SetPolicy(ctx, args[0], pannier.SourceKind(kind), change); err != nil {
						return err
					}
					return p.prepareTools(ctx, c, args[0])
				}
				show := func(policy pannier.Policy) error {
					if remove {
						return sayf(p.err, "tools of %s are not allowed to run", args[0])
					}
					return p.printToolsAllowed(pannier.PolicyList{Policies: []pannier.Policy{policy}})
				}
				return output(p, show)(c.SetPolicy(ctx, args[0], pannier.SourceKind(kind), change))
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the permission back")
	cmd.Flags().BoolVar(&prepare, "prepare", false, "install the packages that scripts of the skill declare")
	cmd.Flags().BoolVar(&how.dryRun, "dry-run", false, "show what would be allowed, and allow nothing")
	cmd.Flags().BoolVar(&how.yes, "yes", false, "allow without a question")
	cmd.Flags().StringVar(&how.fingerprint, "fingerprint", "", "the `fingerprint` of the files that were read (default: as they are now)")
	cmd.Flags().StringVar(&kind, "source-kind", "", "`kind` of root: workspace, managed, bundled or extra (default: that of the skill)")
	cmd.MarkFlagsMutuallyExclusive("remove", "dry-run", "prepare")
	cmd.MarkFlagsMutuallyExclusive("remove", "fingerprint")
	return p.share(p.jsonFlag(cmd), asksSidecar...)
}

// contentToAllow shows what a permission covers, and returns the fingerprint of the files that may run. It fails where they may not,
// or where the user does not want it.
func (p *program) contentToAllow(ctx context.Context, c *client.Client, slug string, how allowing) (seen pannier.Digest, err error) {
	if how.fingerprint != "" {
		if seen, err = pannier.ParseFingerprint(how.fingerprint); err != nil {
			return seen, failure("invalid fingerprint: "+err.Error(), "copy it from \"pannier tool allow "+slug+" --dry-run\"")
		}
	}
	shown, err := c.ToolPermission(ctx, slug)
	if err == nil && shown.Scan == nil {
		sayf(p.err, "scanning %s …", shown.Slug)
		if _, err = c.Scan(ctx, slug, shown.Path, pannier.ScanRequest{}); err == nil {
			shown, err = c.ToolPermission(ctx, slug)
		}
	}
	if err != nil {
		return seen, err
	}
	if how.dryRun {
		return seen, output(p, p.printPermission)(shown, nil)
	}
	if !p.json {
		toError := p.streams
		toError.out, toError.paint = p.err, p.complain
		if err := toError.printPermission(shown); err != nil {
			return seen, err
		}
	}
	switch {
	case shown.Refused != nil:
		return seen, answerNo(shown.Refused.Code+": "+shown.Refused.Message, shown.Refused.Hint)
	case shown.Allowed || how.yes || p.json || !p.errTerminal || !isTerminal(os.Stdin):
	case !p.confirmed("Allow these tools to run?"):
		return seen, answerNo("the tools of "+shown.Slug+" are not allowed", "run \"pannier tool allow "+shown.Slug+"\" to look again")
	}
	if seen.IsZero() {
		seen = shown.Fingerprint
	}
	return seen, nil
}

// confirmed asks a question on the terminal. Everything but a yes is a no.
func (p *program) confirmed(question string) bool {
	fmt.Fprintf(p.err, "%s [y/N] ", question)
	line, _ := bufio.NewReader(io.LimitReader(os.Stdin, 1<<10)).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func (s streams) printPermission(shown pannier.ToolPermission) error {
	network := cmp.Or(strings.Join(shown.Hosts, ", "), "off for programs (tools.network)")
	if shown.Network {
		network = "every address for programs (tools.network)"
	}
	writes := "a scratch directory of the call"
	if len(shown.ProjectDirs) > 0 {
		writes += "; below " + strings.Join(shown.ProjectDirs, ", ") + " if a call names that"
	}
	state := "no"
	switch {
	case shown.Allowed:
		state = "yes"
	case !shown.ToolsAllowed.IsZero():
		state = "no: the files changed since they were allowed"
	}
	rows := [][]string{
		{"skill", fmt.Sprintf("%s in %s, trust %s", shown.Slug, shown.Path, shown.TrustLevel)},
		{"allowed", state},
		{"files", fmt.Sprintf("%s, %s", plain.Count(shown.Files, "file"), plain.Count(int(shown.Bytes), "byte"))},
		{"fingerprint", shown.Fingerprint.String()},
		{"network", network},
		{"variables", cmp.Or(strings.Join(shown.Env, ", "), "none (tools.env)")},
		{"writes to", writes},
		{"scan", scanWords(shown.Scan)},
	}
	if err := s.fields(rows, "allowed", s.paint.negative); err != nil {
		return err
	}
	if shown.Scan != nil {
		for _, f := range shown.Scan.Findings {
			place := pannier.Problem{Path: path.Join(shown.Path, f.Path), Line: f.Line}
			s.printFault(place.Place(), f.Severity, f.Message, f.Rule, f.Hint)
		}
	}
	if len(shown.Tools)+len(shown.Excluded) > 0 {
		fmt.Fprintln(s.out)
		rows := [][]string{{"TOOL", "KIND", "STARTS"}}
		for _, t := range shown.Tools {
			rows = append(rows, []string{plain.Shorten(t.Name, 80), string(t.Kind), startOf(t)})
		}
		for _, t := range shown.Excluded {
			rows = append(rows, []string{plain.Shorten(t.Name, 80), string(t.Kind), "never: " + t.Reason + ": " + t.Detail})
		}
		if err := s.table(rows); err != nil {
			return err
		}
	}
	return s.printWithheld(shown)
}

// startOf says how a tool starts, or what it sends.
func startOf(t pannier.PermittedTool) string {
	switch t.Kind {
	case pannier.RuntimeShell:
		return strings.Join(t.Command, " ")
	case pannier.RuntimePython:
		return t.Function + " in " + t.File
	case pannier.RuntimeHTTP:
		if len(t.Secrets) > 0 {
			return t.Method + " " + t.URL + " with the secret " + strings.Join(t.Secrets, ", ")
		}
		return t.Method + " " + t.URL
	case pannier.RuntimeProxy:
		return t.TargetTool + " of the agent"
	}
	return t.File
}

// printWithheld says what keeps tools from running though they are allowed.
func (s streams) printWithheld(shown pannier.ToolPermission) error {
	switch {
	case !shown.Enabled:
		return sayf(s.err, "warning: tools are not enabled in this sidecar\nhint: set tools.enabled, or start it with \"pannier run --tools\"")
	case len(shown.Tools) == 0:
		return sayf(s.err, "warning: the skill has no tool that can run here\nhint: "+
			"run \"pannier tool list\" to see all tools; scripts need script in tools.kinds, and modules and empty files are no scripts")
	}
	said := map[string]bool{}
	for _, t := range shown.Tools {
		if t.Why == nil || said[t.Why.Code+t.Why.Message] {
			continue
		}
		said[t.Why.Code+t.Why.Message] = true
		if err := sayf(s.err, "warning: %s cannot be called yet: %s: %s", t.Name, t.Why.Code, t.Why.Message); err != nil {
			return err
		}
		if err := sayf(s.err, "hint: %s", t.Why.Hint); err != nil {
			return err
		}
	}
	return nil
}

func (s streams) printToolsAllowed(list pannier.PolicyList) error {
	rows := [][]string{{"SLUG", "KIND", "PATH", "FINGERPRINT"}}
	for _, policy := range list.Policies {
		if !policy.ToolsAllowed.IsZero() {
			rows = append(rows, []string{
				plain.Shorten(policy.Slug, 40), string(policy.SourceKind), plain.Shorten(policy.Path, 60), policy.ToolsAllowed.String(),
			})
		}
	}
	if len(rows) == 1 {
		fmt.Fprintln(s.err, "no tools of skills are allowed to run")
		return nil
	}
	return s.table(rows)
}
