package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/internal/plain"
	"pannier/publish/client"
)

func (p *program) showCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "show SLUG",
		Short: "Show the details of one skill",
		Example: `  pannier show pdf-forms
  pannier show pdf-forms --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.reading(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Skill(ctx, args[0], path)
				show := func(d pannier.Detail) error { return p.printDetail(d, p.directoryOf(ctx, c, d.Path)) }
				return output(p, show)(d, err)
			})
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "`directory` of the skill, if several have the slug")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// directoryOf returns the directory of a skill for a command that is run here; DIR where only another machine has it.
func (p *program) directoryOf(ctx context.Context, c *client.Client, skillPath string) string {
	if p.remote.or(p.environ).url != "" {
		return "DIR"
	}
	s, err := p.settings()
	if err != nil {
		return "DIR"
	}
	workspace := s.Workspace
	if h, err := c.Health(ctx); err == nil && h.Workspace != "" { // of a directory without a sidecar it is empty
		workspace = h.Workspace
	}
	if filepath.IsAbs(skillPath) {
		return quoteWord(skillPath)
	}
	return quoteWord(filepath.Join(workspace, skillPath))
}

// trustWords names the trust of a skill by its source, and the level only if the settings or the lock file changed it. The
// level verified, which is the default of each root, does not say that a skill was checked.
func trustWords(level pannier.Trust, installed bool, kind pannier.SourceKind) string {
	source, usual := "local", pannier.TrustVerified
	switch {
	case installed:
		source, usual = "installed", pannier.TrustCommunity
	case kind == pannier.SourceBundled || kind == pannier.SourceExtra:
		source = string(kind)
	}
	if level == usual || level == "" {
		return source
	}
	return source + ", set to " + string(level)
}

// printDetail prints a skill, which is in a directory.
func (s streams) printDetail(d pannier.Detail, directory string) error {
	others := slices.DeleteFunc(slices.Clone(d.CollidesWith), func(path string) bool { return path == d.ShadowedBy })
	var files []string
	for _, f := range d.Files {
		files = append(files, f.Path)
	}
	if d.FilesTruncated {
		files = append(files, "…")
	}
	scan := scanWords(d.Scan)
	if d.Scan != nil && d.Scan.Origin == pannier.ScanBackground && len(d.Scan.Findings) == 0 {
		scan = ""
	}
	rows := [][]string{
		{"slug", d.Qualified()},
		{"name", d.Name},
		{"description", d.Description},
		{"version", d.Version},
		{"state", stateWords(&d.Entry)},
		{"path", d.Path},
		{"target", d.Target},
		{"root", fmt.Sprintf("%s (%s)", d.Root, d.SourceKind)},
		{"trust", trustWords(d.TrustLevel, d.Managed, d.SourceKind)},
		{"shadowed by", d.ShadowedBy},
		{"also claimed by", strings.Join(others, ", ")},
		{"runtime", strings.Join(d.Runtimes, ", ")},
		{"tags", strings.Join(d.Tags, ", ")},
		{"allowed tools", strings.Join(d.AllowedTools, " ")},
		{"overrides", proposedOverrides(d)},
		{"license", d.License},
		{"homepage", d.Homepage},
		{"digest", d.Digest.String()},
		{"scan", scan},
		{"files", strings.Join(files, ", ")},
	}
	if d.Activity != nil {
		for _, use := range []struct {
			name string
			at   time.Time
		}{{"last loaded", d.Activity.LoadedAt}, {"last active", d.Activity.ActiveAt}} {
			if !use.at.IsZero() {
				rows = append(rows, []string{use.name, use.at.Format(time.RFC3339)})
			}
		}
	}
	if d.Scan != nil {
		rows = append(rows, acceptedRows(d.Scan.Accepted)...)
	}
	for _, r := range d.Reasons {
		rows = append(rows, []string{"reason", fmt.Sprintf("%s: %s; %s", r.Code, r.Subject, r.Remedy)})
	}
	rows = append(rows, inspectionRows(d, directory)...)
	if err := s.fields(rows, "state", s.paint.state); err != nil {
		return err
	}
	if len(d.Problems) > 0 {
		fmt.Fprintln(s.out)
	}
	s.printProblems(d.Problems)
	return nil
}

// proposedOverrides returns what the skill proposes to override, as its frontmatter says it. What counts depends on the turn.
func proposedOverrides(d pannier.Detail) string {
	var front struct{ Overrides json.RawMessage }
	if err := json.Unmarshal(d.Frontmatter, &front); err != nil {
		return ""
	}
	return plain.Shorten(string(front.Overrides), 120)
}

// inspectionRows tell what was found by looking into the skill's directory.
func inspectionRows(d pannier.Detail, directory string) (rows [][]string) {
	described := func(what, description string) string {
		return strings.TrimSuffix(what+": "+plain.Shorten(description, 72), ": ")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Conformance)) {
		verdict := "yes"
		if c := d.Conformance[name]; !c.Compliant {
			verdict = "no; `pannier audit " + directory + " --profile all` says why"
		}
		rows = append(rows, []string{"profile " + pannier.ShortProfile(name), verdict})
	}
	for _, tool := range d.Tools {
		place := string(tool.Kind)
		if tool.Path != "" {
			place += " in " + tool.Path
		}
		rows = append(rows, []string{"tool", described(fmt.Sprintf("%s (%s)", tool.Name, place), tool.Description)})
	}
	for _, c := range d.Commands {
		rows = append(rows, []string{"command", described(strings.TrimSpace(c.Name+" "+c.Args), c.Description)})
		for _, a := range c.Arguments {
			rows = append(rows, []string{"argument", described(c.Name+" "+a.Usage(), a.Description)})
		}
	}
	for _, spec := range d.Install {
		rows = append(rows, []string{"install", installWords(spec)})
	}
	return rows
}

// installWords shows a way to install as argument vectors: nothing here is for a shell, and pannier never runs it.
func installWords(spec pannier.InstallSpec) string {
	if spec.Refused != "" {
		return spec.Kind + ", refused: " + spec.Refused
	}
	var commands []string
	for _, argv := range spec.Commands {
		commands = append(commands, fmt.Sprintf("%q", argv))
	}
	return spec.Kind + ": " + strings.Join(commands, " then ")
}
