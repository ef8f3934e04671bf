package api

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/http"

	"pannier"
)

// uploadedArchive is the only kind of source that the protocol takes.
const uploadedArchive = "uploaded_archive"

type rpcSourceParam struct {
	Type     string `json:"type"`
	UploadID string `json:"upload_id"`
}

// rpcArchiveParams are an archive and the rules whose blocking findings are accepted.
type rpcArchiveParams struct {
	inWorkspace
	Source       rpcSourceParam `json:"source"`
	AllowMissing bool           `json:"allow_missing"`
	Accept       []string       `json:"accept"`
	Reason       string         `json:"reason"`
}

type rpcInstallParams struct {
	rpcArchiveParams
	TargetSourceKind pannier.SourceKind `json:"target_source_kind"`
	DryRun           bool               `json:"dry_run"`
	Several          bool               `json:"several"`
	Items            []rpcItemParam     `json:"items"`
}

// rpcItemParam says what differs for one skill of an archive.
type rpcItemParam struct {
	Path         *string          `json:"path"`
	Skip         bool             `json:"skip"`
	Replace      *rpcReplaceParam `json:"replace"`
	AllowMissing bool             `json:"allow_missing"`
	Accept       []string         `json:"accept"`
	Reason       string           `json:"reason"`
}

type rpcReplaceParam struct {
	Expected *string `json:"expected_fingerprint"`
}

type rpcUpdateParams struct {
	rpcArchiveParams
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
	Expected   *string            `json:"expected_previous_fingerprint"`
}

type rpcUninstallParams struct {
	inWorkspace
	Slug       string             `json:"slug"`
	SourceKind pannier.SourceKind `json:"source_kind"`
}

type rpcInstallResult struct {
	Status pannier.InstallStatus `json:"status"`
	Skill  rpcInstalled          `json:"skill"`
	Audit  rpcAudited            `json:"audit"`
	// DryRun says that nothing was touched; Findings, Accepted and Reasons are as in [pannier.InstallResult]. They are additions too.
	DryRun   bool                 `json:"dry_run,omitempty"`
	Findings []pannier.Finding    `json:"findings,omitempty"`
	Accepted []pannier.Acceptance `json:"accepted,omitempty"`
	Reasons  []pannier.Reason     `json:"reasons,omitempty"`
	// Issues are an addition to the protocol: what a client should know of the skill, such as that only a turn that names it
	// uses it.
	Issues []rpcIssue `json:"validation_issues,omitempty"`
}

type rpcInstalled struct {
	Slug        string             `json:"slug"`
	SourceKind  pannier.SourceKind `json:"source_kind"`
	Version     string             `json:"version,omitempty"`
	Fingerprint pannier.Digest     `json:"fingerprint,omitzero"`
	TrustLevel  string             `json:"trust_level"`
	InstallPath string             `json:"install_path"`
}

type rpcAudited struct {
	EventsWritten int `json:"events_written"`
}

type rpcUninstallResult struct {
	Status     pannier.InstallStatus `json:"status"`
	Slug       string                `json:"slug"`
	SourceKind pannier.SourceKind    `json:"source_kind"`
	Removed    string                `json:"removed_install_path,omitempty"`
	Audit      rpcAudited            `json:"audit"`
}

func (h *Handler) rpcInstallSkill(r *http.Request, _ *pannier.Snapshot, p rpcInstallParams) (any, error) {
	req := pannier.InstallRequest{SourceKind: p.TargetSourceKind, DryRun: p.DryRun}
	if !p.Several && len(p.Items) == 0 {
		return h.rpcInstallUpload(r, p.rpcArchiveParams, req)
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
	return h.installSeveral(r, pannier.InstallSeveral{InstallRequest: req, Items: items}, pannier.InstallSource{UploadID: p.Source.UploadID})
}

// maxItems bounds the items of an installation; an archive has no more skills.
const maxItems = 200

func installItems(params []rpcItemParam) ([]pannier.InstallItem, error) {
	if len(params) > maxItems {
		return nil, invalidParams(fmt.Sprintf("there are %d items, more than %d", len(params), maxItems), "install fewer at a time")
	}
	var items []pannier.InstallItem
	seen := map[string]bool{}
	for _, p := range params {
		if p.Path == nil || seen[*p.Path] {
			return nil, invalidParams("an item has no path, or that of another", "give the paths of the results of a dry run, each once")
		}
		seen[*p.Path] = true
		item := pannier.InstallItem{
			Path: *p.Path, Skip: p.Skip, Replace: p.Replace != nil, AllowMissing: p.AllowMissing,
			Accept: pannier.AcceptRequest{Rules: p.Accept, Reason: p.Reason},
		}
		if item.Replace && p.Replace.Expected != nil {
			var err error
			if item.Expected, err = expectedFingerprint("expected_fingerprint", rpcPrefixed(*p.Replace.Expected)); err != nil {
				return nil, err
			}
		}
		items = append(items, item)
	}
	return items, nil
}

func (p rpcSourceParam) check() error {
	const hint = `give {"type":"uploaded_archive","upload_id":…} of a finished upload`
	if p.Type != uploadedArchive {
		return invalidParams(fmt.Sprintf("the source is of type %.40q", p.Type), hint)
	}
	if p.UploadID == "" {
		return invalidParams("upload_id of the source is missing", hint)
	}
	return nil
}

func (h *Handler) rpcUpdateSkill(r *http.Request, _ *pannier.Snapshot, p rpcUpdateParams) (any, error) {
	if p.Slug == "" {
		return nil, errSlugMissing
	}
	req := pannier.InstallRequest{Slug: p.Slug, SourceKind: p.SourceKind}
	if p.Expected != nil {
		var err error
		if req.Expected, err = expectedFingerprint("expected_previous_fingerprint", rpcPrefixed(*p.Expected)); err != nil {
			return nil, err
		}
	}
	return h.rpcInstallUpload(r, p.rpcArchiveParams, req)
}

// rpcPrefixed returns a fingerprint as the rest of the API writes it. The protocol leaves out `sha256:`.
func rpcPrefixed(fingerprint string) string {
	if len(fingerprint) == hex.EncodedLen(len(pannier.Digest{})) {
		return "sha256:" + fingerprint
	}
	return fingerprint
}

func (h *Handler) rpcInstallUpload(r *http.Request, p rpcArchiveParams, req pannier.InstallRequest) (any, error) {
	if err := p.Source.check(); err != nil {
		return nil, err
	}
	req.AllowMissing, req.Accept = p.AllowMissing, pannier.AcceptRequest{Rules: p.Accept, Reason: p.Reason}
	result, err := h.Service.Install(r.Context(), req, pannier.InstallSource{UploadID: p.Source.UploadID})
	if err != nil {
		return nil, err
	}
	s := result.Skill
	return rpcInstallResult{
		Status: result.Status, Audit: rpcAudited{result.AuditEntries},
		Skill:  rpcInstalled{s.Slug, s.SourceKind, s.Version, s.Fingerprint, rpcTrust(s.TrustLevel), s.InstallPath},
		Issues: rpcIssues(result.Problems), DryRun: result.DryRun, Findings: result.Findings, Accepted: result.Accepted, Reasons: result.Reasons,
	}, nil
}

func (h *Handler) rpcUninstall(r *http.Request, _ *pannier.Snapshot, p rpcUninstallParams) (any, error) {
	if p.Slug == "" {
		return nil, errSlugMissing
	}
	result, err := h.Service.Uninstall(r.Context(), pannier.RemoveRequest{Slug: p.Slug, SourceKind: p.SourceKind})
	if err != nil {
		return nil, err
	}
	_, slug := pannier.SplitQualified(p.Slug)
	return rpcUninstallResult{
		result.Status, cmp.Or(result.Skill.Slug, slug), cmp.Or(result.Skill.SourceKind, p.SourceKind, pannier.SourceWorkspace),
		result.Removed,
		rpcAudited{result.AuditEntries},
	}, nil
}
