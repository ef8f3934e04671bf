package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pannier"
	"pannier/config"
	"pannier/link"
	"pannier/publish/client"
)

// linkFlags are the flags of `pannier link`.
type linkFlags struct{ user, copy, remove, dryRun bool }

func (p *program) linkCommand() *cobra.Command {
	var f linkFlags
	cmd := &cobra.Command{
		Use:   "link [HOST|DIR]",
		Short: "Put the skills into a directory that a host loads by itself",
		Long: `Makes a symlink to each skill that the model may be offered, in the directory that a host loads by
itself. Skills that are not usable, and skills that a turn has to name, have none. The directory of
HOST is that of the project of the working directory, or with --user that of the home directory.
Without an argument, the command lists the hosts.

Run it again after a change, or set "link" for "pannier run", which follows changes. Only what
pannier made is replaced or removed; files of that name that others made stay. --remove undoes it.

With --copy it copies the files, for hosts that do not follow links or do not see the workspace.
Files of a copy are read-only: change the skill in the workspace.`,
		Example: `  pannier link claude-code --workspace ./agent
  pannier link codex --user --dry-run
  pannier link .claude/skills --remove`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				rows := [][]string{{"HOST", "PROGRAM", "PROJECT", "USER"}}
				for _, h := range link.Hosts() {
					rows = append(rows, []string{h.Name, h.Title, h.Project, "~/" + h.User})
				}
				return p.table(rows)
			}
			dir, err := f.directory(args[0])
			if err != nil {
				return err
			}
			return p.link(cmd.Context(), f, dir)
		},
	}
	cmd.Flags().BoolVar(&f.user, "user", false, "the directory of HOST for all projects, in the home directory")
	cmd.Flags().BoolVar(&f.copy, "copy", false, "copy the skills in place of links to them")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "remove all that pannier made in the directory")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the changes, and change nothing")
	return p.share(p.jsonFlag(cmd), readsSkills...)
}

// linkNames completes HOST of `pannier link`.
func linkNames(context.Context) (words []string) {
	for _, h := range link.Hosts() {
		words = append(words, described(h.Name, h.Title))
	}
	return words
}

func (f linkFlags) directory(text string) (*link.Directory, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	home := ""
	if f.user {
		if home, err = os.UserHomeDir(); err != nil {
			return nil, err
		}
	}
	dir, err := link.Find(text, projectOf(here), home, here)
	if err == nil {
		dir.Copy = f.copy
	}
	return dir, err
}

// link changes a directory to what a sidecar says of the skills, or the workspace itself without one.
func (p *program) link(ctx context.Context, f linkFlags, dir *link.Directory) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	return p.reading(ctx, func(ctx context.Context, c *client.Client) error {
		o, err := linkOptions(ctx, c, s)
		if err != nil {
			return err
		}
		list, err := c.List(ctx, client.ListQuery{Policy: true})
		if err != nil {
			return err
		}
		o.DryRun, o.Partial, o.Contents = f.dryRun, link.IsPartial(list.Problems), fetched{c}
		skills, do := link.SkillsOf(o.Workspace, list.Skills), dir.Keep
		if f.remove {
			do = dir.Remove
		}
		report, err := do(ctx, o, skills)
		if err != nil {
			return fmt.Errorf("link %s: %w", dir.Path, err)
		}
		return judged(output(p, p.printLinks)(report, nil), len(report.Conflicts()) > 0)
	})
}

// linkOptions returns those of the sidecar that answers, or of the settings without one.
func linkOptions(ctx context.Context, c *client.Client, s config.Settings) (link.Options, error) {
	o := link.Options{WorkspaceID: s.WorkspaceID, Workspace: s.Workspace, Rules: s.DiscoveryRules}
	h, err := c.Health(ctx)
	if err != nil || h.Workspace == "" { // the latter if the directory is read in this process
		return o, err
	}
	if o.WorkspaceID = h.WorkspaceID; h.Workspace != s.Workspace {
		o.Workspace, o.Rules.Roots = h.Workspace, nil
	}
	for _, root := range h.Watch.Roots {
		if !filepath.IsAbs(root) {
			root = filepath.Join(h.Workspace, root)
		}
		o.Rules.Roots = append(o.Rules.Roots, pannier.Root{Path: root})
	}
	return o, nil
}

func (s streams) printLinks(r link.Report) error {
	rows := [][]string{{"ACTION", "SKILL", "ABOUT"}}
	for _, c := range r.Changes {
		rows = append(rows, []string{string(c.Action), c.Slug, c.Message})
	}
	if len(rows) > 1 {
		if err := s.table(rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(s.err, "pannier: skills in %s: %d\n", r.Directory, r.Skills)
	return err
}

// fetched reads files of skills by the API. It implements [link.Contents].
type fetched struct{ *client.Client }

// Files implements [link.Contents].
func (f fetched) Files(ctx context.Context, slug string) ([]pannier.File, error) {
	detail, err := f.Skill(ctx, slug, "")
	if detail.FilesTruncated {
		err = errors.Join(err, link.ErrTooMany)
	}
	return detail.Files, err
}

// Read implements [link.Contents].
func (f fetched) Read(ctx context.Context, slug, path string, to io.Writer) error {
	content, _, err := f.File(ctx, slug, path)
	if err == nil {
		_, err = to.Write(content)
	}
	return err
}
