package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"pannier"
	"pannier/publish/prompt"
)

// list answers with the whole catalog, or with the skills of one state.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	state := pannier.State(r.URL.Query().Get("state"))
	if state != "" && !slices.Contains(pannier.States(), state) {
		return invalidParameter("state", fmt.Sprintf("there is no state %q", state), fmt.Sprintf("the states are %v", pannier.States()))
	}
	withProblems, err := included(r)
	if err != nil {
		return err
	}
	list := pannier.List{
		SnapshotVersion: s.Version, Digest: s.Digest, TreeDigest: s.TreeDigest, GeneratedAt: s.Time,
		EnvironmentSource: s.EnvironmentSource, Held: s.Held(), Skills: make([]pannier.Entry, 0, len(s.Entries)),
	}
	for _, e := range s.Entries {
		if state != "" && e.State != state {
			continue
		}
		if !withProblems {
			e.Problems = nil
		}
		list.Skills = append(list.Skills, e)
	}
	return writeJSON(w, r, list)
}

// included reports whether the list shall hold the problems of each skill.
func included(r *http.Request) (problems bool, err error) {
	for part := range strings.SplitSeq(r.URL.Query().Get("include"), ",") {
		switch part {
		case "":
		case "problems":
			problems = true
		default:
			return false, invalidParameter("include", fmt.Sprintf("%q can not be included", part), "problems can")
		}
	}
	return problems, nil
}

// detail answers with all that is known of one skill.
func (h *Handler) detail(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	e, err := find(s, r.PathValue("slug"), r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	d := pannier.Detail{Entry: *e, Requirements: e.Requirements, Files: []pannier.File{}, CollidesWith: []string{}}
	for i := range s.Entries {
		if other := &s.Entries[i]; other.Slug == e.Slug && other.Path != e.Path {
			d.CollidesWith = append(d.CollidesWith, other.Path)
		}
	}
	if doc, err := h.Texts.Read(r.Context(), e.Skill); err == nil {
		d.Frontmatter = doc.Frontmatter
	}
	if files, truncated, err := h.Texts.Files(r.Context(), e.Skill); err == nil {
		d.Files, d.FilesTruncated = append(d.Files, files...), truncated
	}
	return writeJSON(w, r, d)
}

func find(s *pannier.Snapshot, ref, at string) (*pannier.Entry, error) {
	e, ok := s.Lookup(ref)
	if at != "" {
		e, ok = s.LookupPath(ref, at)
	}
	if !ok {
		return nil, &statusError{http.StatusNotFound, "skill_not_found", fmt.Sprintf("there is no skill %q", ref), "GET /v1/skills lists the slugs of all that were found"}
	}
	return e, nil
}

// content answers with what an agent needs to follow a skill.
func (h *Handler) content(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	e, doc, err := h.read(r.Context(), s, r.PathValue("slug"))
	if err != nil {
		return err
	}
	h.Emit(pannier.EventSkillLoaded, pannier.SkillLoaded{Name: e.Name, Path: e.Path, Digest: e.Digest, Frontmatter: doc.Frontmatter})
	if prefers(r, "text/markdown", "application/json") {
		return writeBody(w, r, "text/markdown; charset=utf-8", []byte(doc.Body))
	}
	c := pannier.Content{
		Slug: e.Slug, Name: e.Name, Digest: e.Digest, Frontmatter: doc.Frontmatter, Body: doc.Body,
		Directory: path.Dir(prompt.Location(e.Skill, h.AgentWorkspace)), Resources: []string{}, Warnings: append([]string{}, doc.Warnings...),
	}
	files, truncated, err := h.Texts.Files(r.Context(), e.Skill)
	if err != nil {
		c.Warnings = append(c.Warnings, "the files of the skill can not be listed: "+err.Error())
	}
	c.ResourcesTruncated = truncated
	for _, f := range files {
		if f.Path != e.File {
			c.Resources = append(c.Resources, f.Path)
		}
	}
	return writeJSON(w, r, c)
}

// readTries bounds how often a skill that changes while it is read is looked at again.
const readTries = 3

// read returns a usable skill with its document. Where the disk has moved on from the snapshot it looks again first, so
// that what is served is what a snapshot says.
func (h *Handler) read(ctx context.Context, s *pannier.Snapshot, ref string) (*pannier.Entry, pannier.Document, error) {
	for range readTries {
		e, err := find(s, ref, "")
		if err != nil {
			return nil, pannier.Document{}, err
		}
		if !e.Usable {
			return nil, pannier.Document{}, unusable(e)
		}
		doc, err := h.Texts.Read(ctx, e.Skill)
		switch {
		case err == nil:
			return e, doc, nil
		case errors.Is(err, pannier.ErrNotServable):
			return nil, pannier.Document{}, held(e)
		case !errors.Is(err, pannier.ErrChanged):
			return nil, pannier.Document{}, err
		}
		if s, err = h.Rescan(ctx, true); err != nil {
			return nil, pannier.Document{}, err
		}
	}
	return nil, pannier.Document{}, errMoving
}

func unusable(e *pannier.Entry) error {
	detail, hint := fmt.Sprintf("%s is %s", e.Slug, e.State), "GET /v1/skills/"+e.Slug+" says more"
	switch {
	case len(e.Reasons) > 0:
		detail, hint = fmt.Sprintf("%s can not be used: %s (%s)", e.Slug, e.Reasons[0].Code, e.Reasons[0].Subject), e.Reasons[0].Remedy
	case e.State == pannier.StateUnlisted:
		hint = fmt.Sprintf("add %q to the list under skills in config.yaml", e.Folder)
	}
	return &statusError{http.StatusConflict, "skill_" + string(e.State), detail, hint}
}

func held(e *pannier.Entry) error {
	hint := "mend its SKILL.md"
	if len(e.Problems) > 0 {
		hint = e.Problems[0].String() + "; " + e.Problems[0].Hint
	}
	return &statusError{http.StatusConflict, "skill_held", fmt.Sprintf("%s stays listed as it last was, but its text on the disk can not be read any more", e.Slug), hint}
}

// prefers reports whether the caller names one media type in Accept, and does so before another.
func prefers(r *http.Request, mediaType, other string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		name, _, _ := strings.Cut(part, ";")
		switch strings.TrimSpace(name) {
		case mediaType:
			return true
		case other:
			return false
		}
	}
	return false
}
