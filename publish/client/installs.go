package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"pannier"
)

// Install sends an archive and returns once the skill in it is installed and served; with a slug in the request it replaces
// that skill. It takes as long as the body does: only ctx bounds it.
func (c *Client) Install(ctx context.Context, req pannier.InstallRequest, src pannier.InstallSource) (pannier.InstallResult, error) {
	method, target := http.MethodPost, "/v1/skills"
	if req.Slug != "" {
		method, target = http.MethodPut, skillPath(req.Slug)
	}
	query := moveQuery(req.SourceKind, req.Expected, req.DryRun)
	if req.AllowMissing {
		query.Set("allow_missing", "1")
	}
	acceptQuery(query, req.Accept)
	if src.Name != "" {
		query.Set("file_name", src.Name)
	}
	return sendArchive(ctx, c, method, target+"?"+query.Encode(), src)
}

// Uninstall removes an installed skill.
func (c *Client) Uninstall(ctx context.Context, req pannier.RemoveRequest) (pannier.InstallResult, error) {
	query := moveQuery(req.SourceKind, req.Expected, req.DryRun)
	return do[pannier.InstallResult](ctx, c, http.MethodDelete, skillPath(req.Slug)+"?"+query.Encode(), nil)
}

// Rollback brings back the version of a skill before the newest.
func (c *Client) Rollback(ctx context.Context, req pannier.RemoveRequest) (pannier.InstallResult, error) {
	query := moveQuery(req.SourceKind, req.Expected, req.DryRun)
	return post[pannier.InstallResult](ctx, c, skillPath(req.Slug)+"/rollback?"+query.Encode(), nil)
}

// Promote hands over a packet that asks for a workflow to become a skill.
func (c *Client) Promote(ctx context.Context, packet json.RawMessage) (pannier.SkillPromotion, error) {
	return post[pannier.SkillPromotion](ctx, c, "/v1/promotions", packet)
}

func moveQuery(kind pannier.SourceKind, expected pannier.Digest, dryRun bool) url.Values {
	query := url.Values{}
	if kind != "" {
		query.Set("source_kind", string(kind))
	}
	if !expected.IsZero() {
		query.Set("expected_fingerprint", expected.String())
	}
	if dryRun {
		query.Set("dry_run", strconv.FormatBool(dryRun))
	}
	return query
}

// archiveMedia are the media types of archives.
var archiveMedia = map[pannier.ArchiveFormat]string{
	pannier.TarGz: "application/gzip", pannier.Zip: "application/zip", "": "application/octet-stream",
}

func sendArchive(ctx context.Context, c *Client, method, target string, src pannier.InstallSource) (result pannier.InstallResult, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://pannier"+target, io.NopCloser(src.Body))
	if err != nil {
		return result, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", archiveMedia[src.Format])
	req.Header.Set("Accept", "application/json")
	unbounded := c.HTTP
	unbounded.Timeout = 0
	res, err := unbounded.Do(req)
	if err != nil {
		return result, classify(err)
	}
	defer res.Body.Close()
	text, err := c.readAnswer(res.Body)
	if err != nil {
		return result, fmt.Errorf("read answer of %s: %w", target, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return result, decodeError(res, text)
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return result, fmt.Errorf("decode answer of %s: %w", target, err)
	}
	return result, nil
}
