package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pannier"
	"pannier/admin/archive"
	"pannier/admin/install"
	"pannier/loader/scan"
	"pannier/publish/molecule/files"
)

// remoteResult is what came of a change on a platform: what comes of one elsewhere, and how it was looked for.
type remoteResult struct {
	pannier.InstallResult
	files.Arrival
	// LeftOver are files of the version before that the platform does not remove.
	LeftOver []string `json:"left_over,omitempty"`
}

type localSkill struct {
	staged     *install.Staged
	contents   archive.Contents
	files      []files.File // with paths below the configuration directory
	executable []string
}

func (r *remoteFiles) install(ctx context.Context) error { return r.put(ctx, "", r.args[0]) }

func (r *remoteFiles) update(ctx context.Context) error {
	if _, err := folder(r.args[0]); err != nil {
		return err
	}
	return r.put(ctx, r.args[0], r.args[1])
}

// put sends a skill. With a slug that one is replaced, without the skill must not be there.
func (r *remoteFiles) put(ctx context.Context, slug, from string) error {
	local, err := r.stageLocal(ctx, from)
	if err != nil {
		return err
	}
	out := r.plan(local, slug != "")
	out.DryRun, _ = r.flags.GetBool("dry-run")
	is := out.Skill.Slug
	if slug != "" && slug != is {
		return &exitError{code: exitNo, message: fmt.Sprintf("this is %s, not a version of %s", is, slug), hint: "name the skill to replace, or install this one too"}
	}
	if err := r.checkPresence(ctx, out.Skill.Path, slug != ""); err != nil {
		return err
	}
	if out.DryRun {
		return r.printResult(out)
	}
	if out.Arrival, err = r.Put(ctx, local.files); err != nil {
		return err
	}
	if out.LeftOver, err = r.clear(ctx, out.Skill.Path, local.files); err != nil {
		return err
	}
	if err := r.enlist(ctx, &out); err != nil {
		return err
	}
	return r.printResult(out)
}

// stageLocal reads a skill as a sidecar would that is to install it: unpacked into a directory, read by the loader, scanned.
func (r *remoteFiles) stageLocal(ctx context.Context, from string) (*localSkill, error) {
	src, err := r.openSource(ctx, from)
	if err != nil {
		return nil, err
	}
	defer src.close()
	dir, err := os.MkdirTemp("", "pannier-files-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	body, format, err := r.spool(src, dir)
	if err != nil {
		return nil, src.fault(err)
	}
	defer body.Close()
	return r.stage(ctx, filepath.Join(dir, remoteSkillsDir), body, format)
}

// spool takes an archive to disk and finds out its format.
func (r *remoteFiles) spool(src io.Reader, dir string) (body *os.File, format pannier.ArchiveFormat, err error) {
	most := r.settings.Install.MaxCompressedBytes
	if body, err = os.CreateTemp(dir, "body-"); err != nil {
		return nil, "", err
	}
	n, err := io.Copy(body, io.LimitReader(src, most+1))
	if err == nil && n > most {
		err = &pannier.Refusal{Code: "upload.size_limit", Message: fmt.Sprintf("the archive has more than %d bytes", most), Hint: "leave out what the skill does not need"}
	}
	head := make([]byte, 4)
	if got, readErr := body.ReadAt(head, 0); err == nil && (readErr == nil || errors.Is(readErr, io.EOF)) {
		var ok bool
		if format, ok = archive.Detect(head[:got]); !ok {
			err = &pannier.Refusal{Code: "archive.format", Message: "neither a tar.gz nor a zip archive", Hint: "pack the folder of the skill with `tar czf`, or name the folder"}
		}
	}
	if err != nil {
		return nil, "", errors.Join(err, body.Close())
	}
	return body, format, nil
}

// stage unpacks, reads and judges a skill in a root of its own.
func (r *remoteFiles) stage(ctx context.Context, root string, body *os.File, format pannier.ArchiveFormat) (*localSkill, error) {
	s := r.settings.Install
	rules := r.settings.DiscoveryRules
	rules.Workspace = filepath.Dir(root)
	rules.Roots = []pannier.Root{{Path: root, Name: remoteSkillsDir, Kind: pannier.SourceWorkspace}}
	store, err := install.Open(ctx, install.Options{Rules: rules, Scan: scan.Options{BlockInstallers: r.settings.ScanInstallers == "block"}})
	if err != nil {
		return nil, err
	}
	info, err := body.Stat()
	if err != nil {
		return nil, err
	}
	local := &localSkill{}
	limits := archive.Limits{MaxUncompressed: s.MaxUncompressedBytes, MaxFile: s.MaxFileBytes, MaxEntries: s.MaxEntries}
	local.staged, err = store.Stage(ctx, pannier.InstallRequest{}, func(ctx context.Context, into *os.Root) (string, error) {
		local.contents, err = archive.Unpack(ctx, body, info.Size(), format, into, limits)
		if err == nil {
			err = local.readAll(into)
		}
		return local.contents.Top, err
	})
	if err != nil {
		return nil, err
	}
	for i := range local.files {
		local.files[i].Path = path.Join(remoteSkillsDir, local.staged.Skill.Slug, local.files[i].Path)
	}
	return local, errors.Join(files.Check(local.files), local.staged.Discard())
}

// readAll reads what was unpacked, which is bounded.
func (l *localSkill) readAll(dir *os.Root) error {
	return fs.WalkDir(dir.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, err := dir.ReadFile(name)
		l.files = append(l.files, files.File{Path: name, Content: string(text)})
		if info.Mode()&0o111 != 0 {
			l.executable = append(l.executable, name)
		}
		return err
	})
}

func (r *remoteFiles) skill(slug string) pannier.InstalledSkill {
	dir := path.Join(remoteSkillsDir, slug)
	return pannier.InstalledSkill{Slug: slug, SourceKind: pannier.SourceWorkspace, Path: dir, InstallPath: path.Join("/configs", dir)}
}

func (r *remoteFiles) plan(local *localSkill, replaces bool) remoteResult {
	read := local.staged.Skill
	out := remoteResult{InstallResult: pannier.InstallResult{
		Status: pannier.StatusInstalled, Skill: r.skill(read.Slug), Files: local.staged.Files, Bytes: local.staged.Bytes,
		Ignored: local.contents.Ignored, Findings: local.staged.Findings, Problems: slices.Clone(local.staged.Problems),
	}}
	if replaces {
		out.Status = pannier.StatusUpdated
	}
	out.Skill.Name, out.Skill.Version, out.Skill.Owner, out.Skill.Fingerprint = read.Name, read.Version, read.Owner, local.staged.Fingerprint
	if len(local.executable) > 0 {
		out.Problems = append(out.Problems, pannier.Problem{
			Code: "files.executable", Severity: pannier.SeverityWarning, Path: out.Skill.Path,
			Message: "the files API does not make files executable: " + strings.Join(local.executable, ", "),
			Hint:    "run them by their interpreter, or set their mode on the host of the workspace",
		})
	}
	return out
}

// checkPresence refuses to install what is there, and to replace what is not.
func (r *remoteFiles) checkPresence(ctx context.Context, dir string, replaces bool) error {
	entries, err := r.Tree(ctx, dir)
	switch {
	case err != nil:
		return err
	case len(entries) > 0 && !replaces:
		return &exitError{code: exitNo, message: dir + " exists", hint: "replace it with `pannier update --files-api " + path.Base(dir) + "`"}
	case len(entries) == 0 && replaces:
		return &exitError{code: exitNo, message: dir + " does not exist", hint: "install it with `pannier install --files-api`"}
	}
	return nil
}

// clear removes what the version before had and this one has not, and returns what the platform keeps of it.
func (r *remoteFiles) clear(ctx context.Context, dir string, sent []files.File) ([]string, error) {
	left, _, err := r.RemoveAll(ctx, dir, func(name string) bool {
		return slices.ContainsFunc(sent, func(f files.File) bool { return f.Path == name })
	})
	return left, err
}

// enlist puts a skill that has arrived on the list of config.yaml. A list that is not edited is told of, and undoes nothing.
func (r *remoteFiles) enlist(ctx context.Context, out *remoteResult) error {
	changed, err := r.Enlist(ctx, out.Skill.Slug)
	if changed {
		out.Config = "added"
		return nil
	}
	problem := pannier.Problem{
		Code: "install.config", Severity: pannier.SeverityWarning, Path: pannier.WorkspaceFile, Field: remoteSkillsDir,
		Message: "config.yaml has no list of skills",
		Hint:    fmt.Sprintf("Molecule's runtime loads only listed skills: write `skills: [%s]`, unless the agent finds skills by itself", out.Skill.Slug),
	}
	var list files.List
	if err == nil {
		list, err = r.List(ctx)
	}
	if list.Has(out.Skill.Slug) {
		return nil
	}
	refusal, ok := errors.AsType[*pannier.Refusal](err)
	if ok && refusal.Code == "files.config" {
		problem.Message, problem.Hint = refusal.Message, refusal.Hint
	} else if err != nil {
		return fmt.Errorf("the files of %s were written, but config.yaml does not list it: %w", out.Skill.Slug, err)
	}
	out.Problems = append(out.Problems, problem)
	return nil
}

func (r *remoteFiles) printResult(out remoteResult) error {
	for _, name := range out.LeftOver {
		out.Problems = append(out.Problems, pannier.Problem{
			Code: "files.left_over", Severity: pannier.SeverityWarning, Path: name,
			Message: "only the previous version has this file, and the platform does not remove it", Hint: "remove it on the host of the workspace",
		})
	}
	if out.Source == "template" {
		out.Problems = append(out.Problems, pannier.Problem{
			Code: "files.template", Severity: pannier.SeverityWarning, Path: out.Skill.Path,
			Message: "the workspace does not run; the platform wrote to its template", Hint: "start the workspace, then run `pannier list --files-api` to check",
		})
	}
	if r.json {
		return r.printJSON(out)
	}
	if err := r.printMove(out.InstallResult); err != nil || out.DryRun || out.Status == pannier.StatusNotInstalled {
		return err
	}
	if n, m := len(out.Exact), len(out.Trimmed); n+m > 0 {
		fmt.Fprintf(r.out, "read back: %d files equal byte for byte, %d equal after trimming, because the platform trims texts\n", n, m)
	}
	_, err := fmt.Fprintln(r.out, "it takes effect "+takesEffect)
	return err
}
