package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pannier"
	"pannier/config"
	"pannier/internal/plain"
	"pannier/publish/molecule/files"
	"pannier/sidecar"
)

// variableAgentID is the variable in which a platform tells an agent its workspace id.
const variableAgentID = "WORKSPACE_ID"

const remoteSkillsDir = "skills"

// takesEffect says when what was changed on a platform is seen there.
const takesEffect = "when the workspace restarts, or at once where pannier runs beside it"

// remoteFiles is one command that moves skills by the files API of a platform.
type remoteFiles struct {
	*program
	*files.Client
	settings config.Settings
	flags    *pflag.FlagSet
	args     []string
}

// byFilesAPI lets a command ask a Molecule platform in the place of a sidecar. Those of its flags that are not in means are
// then refused, because nothing would come of them.
func (p *program) byFilesAPI(cmd *cobra.Command, do func(*remoteFiles, context.Context) error, means ...string) *cobra.Command {
	var on bool
	cmd.Flags().BoolVar(&on, "files-api", false, "use the Molecule platform at --url and its workspace --workspace-id")
	means = append(means, "files-api", "json")
	p.share(cmd, "workspace-id")
	asking := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !on {
			return asking(cmd, args)
		}
		if err := p.refuseOthers(cmd, means); err != nil {
			return err
		}
		r, err := p.openFilesAPI(cmd, args)
		if err != nil {
			return offPlatform(err)
		}
		defer r.Close()
		return offPlatform(do(r, cmd.Context()))
	}
	return cmd
}

func (p *program) refuseOthers(cmd *cobra.Command, means []string) (err error) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && p.flags.Lookup(f.Name) == nil && !slices.Contains(means, f.Name) {
			err = &exitError{code: exitUnknown, message: fmt.Sprintf("--%s has no effect with --files-api", f.Name), hint: "leave it out"}
		}
	})
	return err
}

func (p *program) openFilesAPI(cmd *cobra.Command, args []string) (*remoteFiles, error) {
	s, err := config.Load(p.flags, p.withoutPathID())
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	remote := p.remote.or(p.environ)
	if remote.url == "" || remote.tokenFile == "" {
		return nil, &exitError{code: exitUnknown, message: "--files-api needs the platform's address and the workspace's token", hint: "name them with --url and --token-file, or " + variableURL + " and " + variableTokenFile}
	}
	authorities, err := remote.authorities()
	if err != nil {
		return nil, err
	}
	at := s.Platforms[0]
	if at.WorkspaceID == noID {
		return nil, &exitError{code: exitUnknown, message: "--files-api needs the workspace's id", hint: "give the UUID that the platform has for it with --workspace-id"}
	}
	header, err := sidecar.PlatformHeader(at.Headers)
	if err != nil {
		return nil, err
	}
	c, err := files.New(files.Options{URL: remote.url, WorkspaceID: at.WorkspaceID, Token: remote.readToken, Header: header, RootCAs: authorities})
	return &remoteFiles{p, c, s, cmd.Flags(), args}, err
}

// noID stands for a missing workspace id. No platform knows the default, which is derived from the path.
const noID = "none"

// withoutPathID returns the variables, with a workspace id that whatever else says one goes before.
func (p *program) withoutPathID() []string {
	environ := withoutRemote(p.environ)
	if slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, variableAgentID+"=") && v != variableAgentID+"=" }) {
		return environ
	}
	return append(slices.Clone(environ), variableAgentID+"="+noID)
}

// offPlatform turns a refusal into an exit code: a fault of the platform or the connection is not a negative answer.
func offPlatform(err error) error {
	r, ok := errors.AsType[*pannier.Refusal](err)
	if !ok {
		return err
	}
	code := exitNo
	if strings.HasPrefix(r.Code, "platform.") {
		code = exitUnknown
	}
	return &exitError{code: code, message: err.Error(), hint: r.Hint}
}

func folder(slug string) (string, error) {
	if files.CheckName(slug) != nil || strings.Contains(slug, "/") || slug[0] == '.' {
		return "", &exitError{code: exitUnknown, message: fmt.Sprintf("%q is not the name of a skill's directory", slug), hint: "`pannier list --files-api` lists them"}
	}
	return path.Join(remoteSkillsDir, slug), nil
}

// uninstallByFiles is the command that removes skills, with what is left of it on a platform that removes nothing.
func (p *program) uninstallByFiles(cmd *cobra.Command) *cobra.Command {
	keep := cmd.Flags().Bool("keep-files", false, "with --files-api: only remove the skill from the list of config.yaml")
	cmd = p.byFilesAPI(cmd, func(r *remoteFiles, ctx context.Context) error { return r.uninstall(ctx, *keep) }, "keep-files", "dry-run")
	remote := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *keep && !cmd.Flags().Changed("files-api") {
			return &exitError{code: exitUnknown, message: "--keep-files needs --files-api", hint: "add --files-api, or leave it out"}
		}
		return remote(cmd, args)
	}
	return cmd
}

func (r *remoteFiles) uninstall(ctx context.Context, keep bool) error {
	slug := r.args[0]
	dir, err := folder(slug)
	if err != nil {
		return err
	}
	out := remoteResult{InstallResult: pannier.InstallResult{Status: pannier.StatusUninstalled, Skill: r.skill(slug)}}
	out.DryRun, _ = r.flags.GetBool("dry-run")
	there, err := r.exists(ctx, slug, dir)
	if err != nil {
		return err
	}
	if !there {
		out.Status = pannier.StatusNotInstalled
	}
	if there && !out.DryRun {
		err = r.remove(ctx, &out, keep)
	}
	if err != nil {
		return err
	}
	return r.printResult(out)
}

func (r *remoteFiles) exists(ctx context.Context, slug, dir string) (bool, error) {
	entries, err := r.Tree(ctx, dir)
	if err != nil || len(entries) > 0 {
		return len(entries) > 0, err
	}
	list, err := r.List(ctx)
	return list.Has(slug), err
}

// remove removes the files of a skill, unless they are kept, and then takes it off the list.
func (r *remoteFiles) remove(ctx context.Context, out *remoteResult, keep bool) error {
	dir := out.Skill.Path
	if keep {
		out.Problems = []pannier.Problem{{
			Code: "files.kept", Severity: pannier.SeverityWarning, Path: dir, Message: "its files still exist",
			Hint: "a runtime that follows the list of config.yaml no longer loads it; for others, remove the directory by hand",
		}}
	} else {
		if err := r.removeFiles(ctx, out.Skill.Slug, dir); err != nil {
			return err
		}
		out.Removed = dir
	}
	changed, err := r.Delist(ctx, out.Skill.Slug)
	if changed {
		out.Config = "removed"
	}
	return err
}

// removeFiles removes the files of a skill, or says why they are still there.
func (r *remoteFiles) removeFiles(ctx context.Context, slug, dir string) error {
	left, why, err := r.RemoveAll(ctx, dir, func(string) bool { return false })
	if err != nil || len(left) == 0 {
		return err
	}
	message := fmt.Sprintf("%d files of %s still exist; config.yaml is unchanged", len(left), slug)
	if why != nil {
		message += ": " + why.Error()
	}
	return &exitError{code: exitNo, message: message, hint: fmt.Sprintf(
		"platforms before the middle of 2026 do not remove files; remove it from the list with --keep-files, or remove it on the host of the workspace, such as `docker exec ws-%.12s rm -r /configs/%s`",
		r.settings.Platforms[0].WorkspaceID, dir)}
}

func (r *remoteFiles) publish(ctx context.Context) error {
	to, _ := r.flags.GetString("to")
	if to == "" {
		return &exitError{code: exitUnknown, message: "publish needs a directory", hint: "name it with --to"}
	}
	slug := r.args[0]
	if _, err := folder(slug); err != nil {
		return err
	}
	got, err := r.Fetch(ctx, slug)
	if err != nil {
		return err
	}
	out := published{Slug: slug, Directory: filepath.Join(to, slug), Files: []string{}, LeftOut: slices.Concat([]string{}, got.LeftOut, got.Damaged)}
	slices.Sort(out.LeftOut)
	contents := map[string]string{}
	var list []pannier.File
	for _, f := range got.Files {
		if !slices.Contains(got.Damaged, f.Path) {
			contents[f.Path] = f.Content
			list, out.Files = append(list, pannier.File{Path: f.Path}), append(out.Files, f.Path)
		}
	}
	if !slices.ContainsFunc(out.Files, pannier.IsSkillFile) {
		return &exitError{code: exitNo, message: "no readable SKILL.md in " + path.Join(remoteSkillsDir, slug) + "; nothing was written", hint: "check it on the host of the workspace"}
	}
	if err := writeFolder(out.Directory, list, func(name string) ([]byte, error) { return []byte(contents[name]), nil }, nil); err != nil {
		return err
	}
	r.warnOfLosses(got)
	return r.printPublished(out)
}

// warnOfLosses says which files may not be what lies in the workspace.
func (r *remoteFiles) warnOfLosses(got files.Fetched) {
	for _, loss := range []struct {
		of   []string
		what string
	}{
		{got.Restored, "the final line end, which the platform trims, was restored"},
		{got.Trimmed, "the platform leaves out blanks around a text; these files end with one line end"},
		{got.Damaged, "not UTF-8 text, or damaged by the platform; not written"},
		{got.LeftOut, "an unsafe name; not written"},
	} {
		if len(loss.of) > 0 {
			fmt.Fprintf(r.err, "%s: %s\n", loss.what, plain.Text(strings.Join(loss.of, ", ")))
		}
	}
	fmt.Fprintln(r.err, "the platform does not report file modes; no file is executable")
}

// remoteSkill is a skill that a platform has, as `pannier list --files-api --json` prints it.
type remoteSkill struct {
	Slug string `json:"slug"`
	// There says that it has a SKILL.md, Listed that config.yaml names it.
	There  bool `json:"there"`
	Listed bool `json:"listed"`
}

func (r *remoteFiles) list(ctx context.Context) error {
	list, err := r.List(ctx)
	if err != nil {
		return err
	}
	entries, err := r.Tree(ctx, remoteSkillsDir)
	if err != nil {
		return err
	}
	nested, err := r.Nested(ctx)
	if err != nil {
		return err
	}
	if nested {
		fmt.Fprintln(r.err, "/configs/configs has files that no agent reads; the files API of the platform may have misplaced them; remove them by hand")
	}
	skills := remoteSkills(entries, list)
	if r.json {
		return r.printJSON(skills)
	}
	if !list.There {
		fmt.Fprintln(r.err, "config.yaml has no list of skills")
	}
	rows := [][]string{{"SLUG", "SKILL.md", "config.yaml"}}
	words := map[bool]string{true: "there", false: "missing"}
	listed := map[bool]string{true: "listed", false: "not listed"}
	for _, s := range skills {
		rows = append(rows, []string{plain.Shorten(s.Slug, 40), words[s.There], listed[s.Listed]})
	}
	return r.table(rows)
}

// remoteSkills returns the directories of skills, and what the list names beside them, by name.
func remoteSkills(entries []files.Entry, list files.List) []remoteSkill {
	skills := []remoteSkill{}
	for _, e := range entries {
		dir, name := path.Split(e.Path)
		if slug := path.Base(dir); !e.Dir && name == pannier.SkillFile && path.Dir(path.Clean(dir)) == remoteSkillsDir {
			skills = append(skills, remoteSkill{Slug: slug, There: true, Listed: list.Has(slug)})
		}
	}
	for _, entry := range list.Entries {
		slug := path.Clean(strings.TrimSpace(entry))
		if !slices.ContainsFunc(skills, func(s remoteSkill) bool { return s.Slug == slug }) {
			skills = append(skills, remoteSkill{Slug: slug, Listed: true})
		}
	}
	slices.SortFunc(skills, func(a, b remoteSkill) int { return strings.Compare(a.Slug, b.Slug) })
	return skills
}
