package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"pannier"
)

// Install sends an archive and returns once the skill in it is installed and served; with a slug in the request it replaces
// that skill. It takes as long as the body does: only ctx bounds it.
func (c *Client) Install(ctx context.Context, req pannier.InstallRequest, src pannier.InstallSource) (pannier.InstallResult, error) {
	method, path := http.MethodPost, "/v1/skills"
	if req.Slug != "" {
		method, path = http.MethodPut, SkillPath(req.Slug)
	}
	send, err := newRequest(ctx, method, target(path, append(
		moveParameters(req.SourceKind, req.Expected, req.DryRun),
		"allow_missing", flag(req.AllowMissing), "accept", strings.Join(req.Accept.Rules, ","), "reason", req.Accept.Reason, "file_name", src.Name,
	)...), io.NopCloser(src.Body))
	if err != nil {
		return pannier.InstallResult{}, err
	}
	send.Header.Set("Content-Type", archiveMedia[src.Format])
	return exchange[pannier.InstallResult](c.withoutTimeout(), send)
}

// Uninstall removes an installed skill.
func (c *Client) Uninstall(ctx context.Context, req pannier.RemoveRequest) (pannier.InstallResult, error) {
	return send[pannier.InstallResult](ctx, c, http.MethodDelete, target(SkillPath(req.Slug), moveParameters(req.SourceKind, req.Expected, req.DryRun)...), nil)
}

// Rollback brings back the version of a skill before the newest.
func (c *Client) Rollback(ctx context.Context, req pannier.RemoveRequest) (pannier.InstallResult, error) {
	return post[pannier.InstallResult](ctx, c, target(SkillPath(req.Slug)+"/rollback", moveParameters(req.SourceKind, req.Expected, req.DryRun)...), nil)
}

// Promote hands over a packet that asks for a workflow to become a skill.
func (c *Client) Promote(ctx context.Context, packet json.RawMessage) (pannier.SkillPromotion, error) {
	return post[pannier.SkillPromotion](ctx, c, "/v1/promotions", packet)
}

func moveParameters(kind pannier.SourceKind, expected pannier.Digest, dryRun bool) []string {
	fingerprint := ""
	if !expected.IsZero() {
		fingerprint = expected.String()
	}
	return []string{"source_kind", string(kind), "expected_fingerprint", fingerprint, "dry_run", flag(dryRun)}
}

var archiveMedia = map[pannier.ArchiveFormat]string{
	pannier.TarGz: "application/gzip", pannier.Zip: "application/zip", "": "application/octet-stream",
}
