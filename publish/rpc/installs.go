package rpc

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"

	"pannier"
	"pannier/service"
)

// uploadedArchive is the only kind of source that the protocol takes.
const uploadedArchive = "uploaded_archive"

type sourceParam struct {
	Type     string `json:"type"`
	UploadID string `json:"upload_id"`
}

// archiveParams are an archive and the rules whose blocking findings are accepted.
type archiveParams struct {
	inWorkspace
	Source       sourceParam `json:"source"`
	AllowMissing bool        `json:"allow_missing"`
	Accept       []string    `json:"accept"`
	Reason       string      `json:"reason"`
}

type installParams struct {
	archiveParams
	TargetSourceKind pannier.SourceKind `json:"target_source_kind"`
	DryRun           bool               `json:"dry_run"`
	Several          bool               `json:"several"`
	Items            []itemParam        `json:"items"`
}

// itemParam says what differs for one skill of an archive.
type itemParam struct {
	Path         *string       `json:"path"`
	Skip         bool          `json:"skip"`
	Replace      *replaceParam `json:"replace"`
	AllowMissing bool          `json:"allow_missing"`
	Accept       []string      `json:"accept"`
	Reason       string        `json:"reason"`
}

type replaceParam struct {
	Expected *string `json:"expected_fingerprint"`
}

type updateParams struct {
	archiveParams
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	Expected   *string            `json:"expected_previous_fingerprint"`
}

type uninstallParams struct {
	inWorkspace
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
}

type installResult struct {
	Status pannier.InstallStatus `json:"status"`
	Skill  installed             `json:"skill"`
	Audit  audited               `json:"audit"`
	// DryRun says that nothing was touched; Findings, Accepted and Reasons are as in [pannier.InstallResult]. They
	// are additions too.
	DryRun   bool                 `json:"dry_run,omitempty"`
	Findings []pannier.Finding    `json:"findings,omitempty"`
	Accepted []pannier.Acceptance `json:"accepted,omitempty"`
	Reasons  []pannier.Reason     `json:"reasons,omitempty"`
	// Issues are an addition to the protocol: what a client should know of the skill, such as that only a turn that
	// names it uses it.
	Issues []issue `json:"validation_issues,omitempty"`
}

type installed struct {
	Slug        string             `json:"slug"`
	SourceKind  pannier.SourceKind `json:"source_kind"`
	Version     string             `json:"version,omitempty"`
	Fingerprint pannier.Digest     `json:"fingerprint,omitzero"`
	TrustLevel  string             `json:"trust_level"`
	InstallPath string             `json:"install_path"`
}

type audited struct {
	EventsWritten int `json:"events_written"`
}

type uninstallResult struct {
	Status     pannier.InstallStatus `json:"status"`
	Slug       string                `json:"slug"`
	SourceKind pannier.SourceKind    `json:"source_kind"`
	Removed    string                `json:"removed_install_path,omitempty"`
	Audit      audited               `json:"audit"`
}

func (h *skills) installSkill(ctx context.Context, _ *pannier.Snapshot, p installParams) (any, error) {
	req := pannier.InstallRequest{SourceKind: p.TargetSourceKind, DryRun: p.DryRun}
	if !p.Several && len(p.Items) == 0 {
		return h.installUpload(ctx, p.archiveParams, req)
	}
	if !p.Several {
		return nil, invalidParams("items are given without several", "give both, or none")
	}
	if err := p.Source.check(); err != nil {
		return nil, err
	}
	items, err := installItems(p.Items)
	if err != nil {
		return nil, err
	}
	req.AllowMissing, req.Accept = p.AllowMissing, pannier.AcceptRequest{Rules: p.Accept, Reason: p.Reason}
	return h.Service.InstallSeveral(
		ctx, pannier.InstallSeveral{InstallRequest: req, Items: items},
		pannier.InstallSource{UploadID: p.Source.UploadID},
	)
}

// maxItems bounds the items of an installation; an archive has no more skills.
const maxItems = 200

func installItems(params []itemParam) ([]pannier.InstallItem, error) {
	if len(params) > maxItems {
		return nil, invalidParams(
			fmt.Sprintf("there are %d items, more than %d", len(params), maxItems), "install fewer at a time",
		)
	}
	var items []pannier.InstallItem
	seen := map[string]bool{}
	for _, p := range params {
		if p.Path == nil || seen[*p.Path] {
			return nil, invalidParams(
				"an item has no path, or that of another", "give the paths of the results of a dry run, each once",
			)
		}
		seen[*p.Path] = true
		item := pannier.InstallItem{
			Path: *p.Path, Skip: p.Skip, Replace: p.Replace != nil, AllowMissing: p.AllowMissing,
			Accept: pannier.AcceptRequest{Rules: p.Accept, Reason: p.Reason},
		}
		if item.Replace && p.Replace.Expected != nil {
			var err error
			if item.Expected, err = service.ParseExpected("expected_fingerprint", prefixed(*p.Replace.Expected)); err != nil {
				return nil, err
			}
		}
		items = append(items, item)
	}
	return items, nil
}

func (p sourceParam) check() error {
	const hint = `give {"type":"uploaded_archive","upload_id":…} of a finished upload`
	if p.Type != uploadedArchive {
		return invalidParams(fmt.Sprintf("the source is of type %.40q", p.Type), hint)
	}
	if p.UploadID == "" {
		return invalidParams("upload_id of the source is missing", hint)
	}
	return nil
}

func (h *skills) updateSkill(ctx context.Context, _ *pannier.Snapshot, p updateParams) (any, error) {
	if p.Slug == "" {
		return nil, errSlugMissing
	}
	req := pannier.InstallRequest{Slug: p.Slug, SourceKind: p.SourceKind}
	if p.Expected != nil {
		var err error
		if req.Expected, err = service.ParseExpected("expected_previous_fingerprint", prefixed(*p.Expected)); err != nil {
			return nil, err
		}
	}
	return h.installUpload(ctx, p.archiveParams, req)
}

// prefixed returns a fingerprint as the rest of the API writes it. The protocol leaves out `sha256:`.
func prefixed(fingerprint string) string {
	if len(fingerprint) == hex.EncodedLen(len(pannier.Digest{})) {
		return "sha256:" + fingerprint
	}
	return fingerprint
}

func (h *skills) installUpload(ctx context.Context, p archiveParams, req pannier.InstallRequest) (any, error) {
	if err := p.Source.check(); err != nil {
		return nil, err
	}
	req.AllowMissing, req.Accept = p.AllowMissing, pannier.AcceptRequest{Rules: p.Accept, Reason: p.Reason}
	result, err := h.Service.Install(ctx, req, pannier.InstallSource{UploadID: p.Source.UploadID})
	if err != nil {
		return nil, err
	}
	s := result.Skill
	return installResult{
		Status: result.Status, Audit: audited{result.AuditEntries},
		Skill:  installed{s.Slug, s.SourceKind, s.Version, s.Fingerprint, trust(s.TrustLevel), s.InstallPath},
		Issues: issues(result.Problems), DryRun: result.DryRun, Findings: result.Findings, Accepted: result.Accepted,
		Reasons: result.Reasons,
	}, nil
}

func (h *skills) uninstall(ctx context.Context, _ *pannier.Snapshot, p uninstallParams) (any, error) {
	if p.Slug == "" {
		return nil, errSlugMissing
	}
	result, err := h.Service.Uninstall(ctx, pannier.RemoveRequest{Slug: p.Slug, SourceKind: p.SourceKind})
	if err != nil {
		return nil, err
	}
	_, slug := pannier.SplitQualified(p.Slug)
	return uninstallResult{
		result.Status, cmp.Or(result.Skill.Slug, slug),
		cmp.Or(result.Skill.SourceKind, p.SourceKind, pannier.SourceWorkspace),
		result.Removed,
		audited{result.AuditEntries},
	}, nil
}
