package rpc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"pannier"
	"pannier/publish/turn"
	"pannier/service"
)

type turnParams struct {
	inWorkspace
	pannier.Turn
	// DryRun stands in the query of POST /v1/prompt and POST /v1/resolve.
	DryRun bool `json:"dry_run"`
}

// resolveParams have beside the turn what stands in the query of POST /v1/resolve.
type resolveParams struct {
	turnParams
	Verbose bool `json:"verbose"`
}

func (h *skills) resolve(ctx context.Context, s *pannier.Snapshot, p resolveParams) (any, error) {
	p.Turn.Verbose = p.Verbose
	return h.turn(ctx, s, p.turnParams, (*turn.Answer).AppendJSON)
}

func (h *skills) prompt(ctx context.Context, s *pannier.Snapshot, p turnParams) (any, error) {
	return h.turn(ctx, s, p, func(a *turn.Answer, dst []byte) []byte { return a.AppendPrompt(dst, true) })
}

func (h *skills) turn(
	ctx context.Context, s *pannier.Snapshot, p turnParams, render func(*turn.Answer, []byte) []byte,
) (any, error) {
	asked, err := h.Turns.Complete(p.Turn)
	if err != nil {
		return nil, err
	}
	a, err := h.Turns.Answer(ctx, s, asked)
	if err != nil {
		return nil, err
	}
	if !p.DryRun {
		h.Turns.Record(asked, a)
	}
	return Appender(func(dst []byte) []byte {
		defer a.Release()
		return bytes.TrimSuffix(render(a, dst), []byte("\n"))
	}), nil
}

type findParams struct {
	inWorkspace
	pannier.FindRequest
}

func (h *skills) find(_ context.Context, s *pannier.Snapshot, p findParams) (any, error) {
	return h.Service.FindByText(s, p.FindRequest, nil)
}

// maxReadChars bounds the characters of one part of a body, and is the default.
const maxReadChars = 24000

type readParams struct {
	inWorkspace
	Slug            string             `json:"slug"`
	SourceKind      pannier.SourceKind `json:"source_kind"`
	MaxChars        *int               `json:"max_chars"`
	Offset          int                `json:"offset"`
	IncludeMetadata *bool              `json:"include_metadata"`
}

type readResult struct {
	Slug string `json:"slug"`
	*readMetadata
	Body      string `json:"body"`
	Truncated bool   `json:"truncated"`
	// Offset is where the body begins, NextOffset where the next part does, TotalChars the length of all of it; all
	// count code points.
	Offset     int `json:"offset"`
	NextOffset int `json:"next_offset,omitempty"`
	TotalChars int `json:"total_chars"`
	// AssetRoot is the skill directory as the agent sees it.
	AssetRoot     string `json:"skill_asset_root"`
	RelativePaths string `json:"relative_path_resolution"`
}

type readMetadata struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Fingerprint pannier.Digest     `json:"fingerprint,omitzero"`
	Digest      pannier.Digest     `json:"digest,omitzero"`
	SourceKind  pannier.SourceKind `json:"source_kind"`
}

// read is skills/read: the body of a skill, or a part of it.
func (h *skills) read(ctx context.Context, s *pannier.Snapshot, p readParams) (any, error) {
	limit := maxReadChars
	if p.MaxChars != nil {
		limit = min(*p.MaxChars, maxReadChars)
	}
	if limit < 1 || p.Offset < 0 {
		return nil, invalidParams(
			"max_chars is less than 1, or offset less than 0", "offset is the next_offset of the part before",
		)
	}
	e, err := h.Service.InstructionsOf(ctx, s, func(s *pannier.Snapshot) (*pannier.Entry, error) {
		slug, err := resolveName(s, p.Slug, p.SourceKind)
		if err != nil {
			return nil, err
		}
		return service.Find(s, slug, "")
	})
	if err != nil {
		return nil, err
	}
	h.Service.RecordLoaded(e)
	result := readResult{
		Slug: e.Slug, Offset: p.Offset, AssetRoot: h.Service.Directory(e.Skill),
		RelativePaths: "relative paths in the body are below skill_asset_root",
	}
	if orTrue(p.IncludeMetadata) {
		result.readMetadata = &readMetadata{
			e.Name, e.Description, h.Service.Contents.Fingerprint(e.Skill), e.Digest, e.SourceKind,
		}
	}
	chars := []rune(e.Body)
	result.TotalChars = len(chars)
	from := min(p.Offset, len(chars))
	to := min(from+limit, len(chars))
	result.Body = string(chars[from:to])
	if result.Truncated = to < len(chars); result.Truncated {
		result.NextOffset = to
	}
	return result, nil
}

// resolveName returns which skill a name means, as "owner/slug" or slug: one of these, where a `$` and a kind of root
// may stand before, or the display name of one skill alone. A slug goes before a display name, so that no skill takes
// over another by being called like it.
func resolveName(s *pannier.Snapshot, name string, kind pannier.SourceKind) (string, error) {
	ref := strings.TrimPrefix(strings.TrimSpace(name), "$")
	if before, after, ok := strings.Cut(ref, ":"); ok &&
		slices.Contains(pannier.SourceKinds(), pannier.SourceKind(before)) {
		kind, ref = pannier.SourceKind(before), after
	}
	if strings.TrimSpace(ref) == "" {
		return "", invalidParams("slug is empty", "name the skill as skills/list does")
	}
	if e, ok := s.Lookup(ref); ok && (kind == "" || kind == e.SourceKind) {
		return ref, nil
	}
	var candidates []string
	for _, e := range s.Entries {
		if e.Name == ref && e.State != pannier.StateShadowed && (kind == "" || kind == e.SourceKind) {
			candidates = append(candidates, e.Qualified())
		}
	}
	switch len(candidates) {
	case 0:
		return "", service.NotFound(name, "")
	case 1:
		return candidates[0], nil
	}
	return "", NewError(CodeInvalidParams, invalid, Details{
		Error: fmt.Sprintf("%.100q is an ambiguous skill slug: it can be %s", name, strings.Join(candidates, ", ")),
		Hint:  "give one of these", Candidates: candidates,
	})
}
