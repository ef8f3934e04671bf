package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"pannier"
	"pannier/admin/archive"
)

// severalEntries is how many times the entries of one skill an archive with several may have.
const severalEntries = 8

// InstallSeveral installs each skill of an archive by itself, in the order of their paths: a refused one does not stop
// the others. The archive is unpacked once, outside of the workspace. Each installation is audited. An error is about
// the archive as a whole, and nothing was installed then, or about a client that has gone.
//
// An upload stays ready unless all of its skills were installed, so that the client can retry with other parameters.
func (s *Service) InstallSeveral(ctx context.Context, actor pannier.Actor, req pannier.InstallSeveral, src pannier.InstallSource) (results []pannier.InstalledFolder, err error) {
	if err := s.checkInstallable(); err != nil {
		return nil, err
	}
	for _, item := range append([]pannier.InstallItem{{Accept: req.Accept}}, req.Items...) {
		if err := s.checkAccept(item.Accept); err != nil {
			return nil, err
		}
	}
	if src.UploadID == "" {
		if err := acquire(ctx, s.spooling); err != nil {
			return nil, err
		}
		defer func() { <-s.spooling }()
	}
	err = s.withArchive(ctx, actor, src, func(a archiveFile, quota *stagingQuota) (consumed bool, err error) {
		dir, remove, err := s.o.Install.Store.TempDir()
		if err != nil {
			return false, err
		}
		defer func() {
			if e := remove(); e != nil {
				s.o.Logger.Warn("removing an unpacked archive failed", "error", e)
			}
		}()
		b := &batch{service: s, actor: actor, req: req, quota: quota, slugs: map[string]string{}}
		b.req.Origin = originOf(src)
		results, err = b.install(ctx, a, dir)
		failed := slices.ContainsFunc(results, func(f pannier.InstalledFolder) bool { return f.Err != nil })
		return isInvalidArchive(err) || err == nil && !failed && !req.DryRun && len(req.Items) == b.used, err
	})
	return results, err
}

// batch is an installation of several skills.
type batch struct {
	service *Service
	actor   pannier.Actor
	req     pannier.InstallSeveral
	quota   *stagingQuota
	// slugs has the paths of the skills so far, by slug; used counts the items that are not skipped.
	slugs map[string]string
	used  int
}

func (b *batch) install(ctx context.Context, a archiveFile, dir *os.Root) ([]pannier.InstalledFolder, error) {
	each := b.service.o.Install.Archive
	all := each
	all.MaxEntries *= severalEntries
	all.Reserve = b.quota.reserve
	folders, err := archive.UnpackSeveral(ctx, a.File, dir, all, each)
	if err != nil {
		return nil, b.service.o.Install.Store.ExplainTemp(err)
	}
	for _, item := range b.req.Items {
		if !slices.ContainsFunc(folders, func(f archive.Folder) bool { return f.Path == item.Path }) {
			return nil, &pannier.Refusal{Code: "install.item", Message: fmt.Sprintf("the archive has no skill at %.200q", item.Path), Hint: "use a path of the results of a dry run"}
		}
	}
	results := []pannier.InstalledFolder{}
	for i := range folders {
		if err := ctx.Err(); err != nil {
			return results, err
		}
		item, ok := b.item(folders[i].Path)
		if item.Skip {
			continue
		}
		if ok {
			b.used++
		}
		results = append(results, b.installFolder(ctx, &folders[i], item))
	}
	return results, nil
}

// item returns what holds for a folder, and whether an item names it.
func (b *batch) item(path string) (pannier.InstallItem, bool) {
	at := slices.IndexFunc(b.req.Items, func(item pannier.InstallItem) bool { return item.Path == path })
	if at < 0 {
		return pannier.InstallItem{Path: path, AllowMissing: b.req.AllowMissing, Accept: b.req.Accept}, false
	}
	item := b.req.Items[at]
	item.AllowMissing = item.AllowMissing || b.req.AllowMissing
	if len(item.Accept.Rules) == 0 {
		item.Accept = b.req.Accept
	}
	return item, true
}

func (b *batch) installFolder(ctx context.Context, folder *archive.Folder, item pannier.InstallItem) pannier.InstalledFolder {
	req := b.req.InstallRequest
	req.AllowMissing, req.Accept, req.Expected = item.AllowMissing, item.Accept, item.Expected
	done := pannier.InstalledFolder{Path: folder.Path}
	apply := func() (installation, error) {
		in, err := b.stageAndCommit(ctx, folder, item, req)
		done.Slug = in.result.Skill.Slug
		return in, err
	}
	if req.DryRun {
		in, err := apply()
		done.Result, done.Err = in.result, err
		return done
	}
	intent := intentOf(b.actor, req)
	if item.Replace {
		intent.Action = pannier.ActionUpdate
	}
	done.Result, _, done.Err = b.service.auditedInstallation(intent, apply)
	return done
}

func (b *batch) stageAndCommit(ctx context.Context, folder *archive.Folder, item pannier.InstallItem, req pannier.InstallRequest) (in installation, err error) {
	before := b.quota.bytes
	defer b.quota.releaseTo(before)
	var contents archive.Contents
	staged, err := b.service.o.Install.Store.Stage(ctx, req, func(ctx context.Context, into *os.Root) (string, error) {
		contents, err = folder.Unpack(ctx, into, b.quota.reserve)
		return folder.Path, err
	})
	if err != nil {
		return in, err
	}
	in.result.Skill.Slug = staged.Skill.Slug
	if other, ok := b.slugs[staged.Skill.Slug]; ok {
		return in, errors.Join(&pannier.Refusal{
			Code: "install.duplicate", Message: fmt.Sprintf("%s has the slug %s too", other, staged.Skill.Slug),
			Hint: "leave one of the two out, or set another `slug` in its frontmatter",
		}, staged.Discard())
	}
	b.slugs[staged.Skill.Slug] = folder.Path
	if item.Replace {
		req.Slug = staged.Skill.Slug
	}
	return b.service.commitAndDiscard(ctx, b.actor, req, staged, contents)
}
