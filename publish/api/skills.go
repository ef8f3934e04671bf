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

var skillRoutes = []route{
	{
		pattern: "GET /v1/skills", endpoint: writes[pannier.List]((*Handler).list),
		id: "listSkills", summary: "Every skill that was found, usable or not, by slug.",
		parameters: []parameter{
			{"state", "query", "Only the skills in this state.", pannier.State("")},
			queryList("include", object{"type": "string", "enum": []string{"activity", "problems", "policy", "health"}}, "What to add to each skill. With activity, the ETag changes with each use of a skill."),
			queryList("fields", object{"type": "string", "enum": fieldNames()}, "Only these fields of each skill, slug and path; with it, others that the schema requires are absent."),
			queryList("slug", object{"type": "string"}, "Only the skills with one of these slugs, at most 100; also those that are shadowed."),
			{"q", "query", "Only the skills with each of these words in their slug, name, description or tags; case does not matter.", object{"type": "string", "maxLength": maxSearchBytes}},
			{"limit", "query", "The most skills; the answer has total, and next_cursor if there are more.", object{"type": "integer", "minimum": 1, "maximum": maxPage}},
			query("cursor", "string", "The next_cursor of the answer before; needs limit."),
		},
	},
	{
		pattern: "GET /v1/skills/{slug}", endpoint: returns((*Handler).detail),
		id: "getSkill", summary: "All that is known of one skill.",
		parameters: []parameter{
			query("path", "string", "The path of the skill directory that is meant; it reaches a skill that is shadowed."),
			{"include", "query", "Adds when the skill was last used. The ETag then changes with each use.", object{"type": "string", "enum": []string{"activity"}}},
		},
	},
	{
		pattern: "GET /v1/skills/{slug}/content", endpoint: writes[pannier.Content]((*Handler).content),
		id: "getContent", summary: "What an agent needs to follow a skill. Emits skill_loaded.", texts: []string{"text/markdown"},
		parameters: []parameter{query("expand", "boolean", "Puts the skill directory, as the agent sees it, in the place of ${skill_dir} and {baseDir}.")},
	},
	{
		pattern: "GET /v1/skills/{slug}/files/{path...}", endpoint: endpoint{serve: (*Handler).file},
		id: "getFile", summary: "One file of a skill, byte for byte; its ETag is its digest. Emits skill_file_read.",
		texts: []string{"text/plain", "application/octet-stream"}, has: func(o *Options) bool { return o.OpenFile != nil },
		parameters: []parameter{
			query("inspect", "boolean", "Serves the file as it is on disk, also of a skill that is not usable. Needs the scope write, emits no event."),
			query("skill_path", "string", "The path of the skill directory that is meant; with inspect, it reaches a skill that is shadowed."),
		},
	},
	{
		pattern: "POST /v1/skills/{slug}/scan", endpoint: returns((*Handler).scan), scope: ScopeWrite,
		id: "scanSkill", summary: "Scans a skill as it is now.", has: func(o *Options) bool { return o.Scan != nil },
		parameters: append([]parameter{query("path", "string", "The path of the skill directory that is meant.")}, acceptParameters...),
	},
}

func (h *Handler) detail(r *http.Request, s *pannier.Snapshot) (d pannier.Detail, err error) {
	query := r.URL.Query()
	err = h.fresh(r.Context(), s, func(s *pannier.Snapshot) (err error) {
		d, err = h.describe(r.Context(), s, r.PathValue("slug"), query.Get("path"))
		return err
	})
	if err != nil && !errors.Is(err, errChanging) {
		return d, err
	}
	if query.Get("include") == "activity" {
		d.Activity = h.activity.of(h.Snapshot()).times(&d.Entry)
	}
	return d, nil
}

// describe returns what it could find out along with [pannier.ErrChanged].
func (h *Handler) describe(ctx context.Context, s *pannier.Snapshot, ref, at string) (pannier.Detail, error) {
	e, err := find(s, ref, at)
	if err != nil {
		return pannier.Detail{}, err
	}
	d := pannier.Detail{
		Entry: *e, Requirements: e.Requirements, Files: []pannier.File{}, CollidesWith: []string{},
		Conformance: map[string]pannier.Conformance{}, Tools: []pannier.Tool{}, Commands: []pannier.Command{}, Install: []pannier.InstallSpec{},
	}
	d.Fingerprint = h.fingerprint(e.Skill)
	d.Scan = h.verdict(e.Skill)
	for i := range s.Entries {
		if other := s.Entries[i]; other.Slug == e.Slug && other.Path != e.Path {
			d.CollidesWith = append(d.CollidesWith, other.Path)
		}
	}
	if files, truncated, err := h.Texts.Files(ctx, e.Skill); err == nil {
		d.Files, d.FilesTruncated = append(d.Files, files...), truncated
	}
	return d, h.inspect(ctx, &d)
}

// inspect adds what is only known by opening files. An inspection reads SKILL.md, so it is read apart only without one.
func (h *Handler) inspect(ctx context.Context, d *pannier.Detail) error {
	if h.Inspect == nil {
		return h.readFrontmatter(ctx, d)
	}
	found, err := h.Inspect(ctx, d.Skill)
	switch {
	case errors.Is(err, pannier.ErrChanged), ctx.Err() != nil:
		return err
	case err != nil: // the problems of the skill say why
		h.Logger.Debug("cannot inspect a skill", "skill", d.Slug, "error", err)
		return h.readFrontmatter(ctx, d)
	}
	d.Frontmatter, d.Conformance = found.Frontmatter, found.Conformance
	d.Tools = append(d.Tools, found.Tools...)
	d.Commands = append(d.Commands, found.Commands...)
	d.Install = append(d.Install, found.Install...)
	d.Problems = slices.Concat(d.Problems, found.Problems)
	slices.SortStableFunc(d.Problems, pannier.CompareProblems)
	return nil
}

// readFrontmatter adds the frontmatter, none if it cannot be read.
func (h *Handler) readFrontmatter(ctx context.Context, d *pannier.Detail) error {
	doc, err := h.Texts.Read(ctx, d.Skill)
	if errors.Is(err, pannier.ErrChanged) {
		return err
	}
	d.Frontmatter = doc.Frontmatter
	return nil
}

func find(s *pannier.Snapshot, ref, at string) (*pannier.Entry, error) {
	e, ok := s.Lookup(ref)
	if at != "" {
		e, ok = s.LookupPath(ref, at)
	}
	if !ok {
		detail := fmt.Sprintf("skill %q not found", ref)
		if at != "" {
			detail += fmt.Sprintf(" at %q", at)
		}
		return nil, &statusError{http.StatusNotFound, "skill_not_found", detail, "GET /v1/skills lists the slugs of all skills"}
	}
	return e, nil
}

// content answers with what an agent needs to follow a skill. A HEAD emits no event.
func (h *Handler) content(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	e, doc, err := h.readFresh(r.Context(), s, r.PathValue("slug"))
	if err != nil {
		return err
	}
	if isSet(r, "expand") {
		directory := h.directory(e)
		doc.Body = strings.NewReplacer("${skill_dir}", directory, "{baseDir}", directory).Replace(doc.Body)
	}
	if r.Method != http.MethodHead {
		h.recordLoaded(e, doc)
	}
	if prefers(w, r, "text/markdown", "application/json") {
		return writeBody(w, r, "text/markdown; charset=utf-8", []byte(doc.Body))
	}
	return writeJSON(w, r, h.contentOf(r.Context(), e, doc))
}

// readFresh reads a usable skill as the newest snapshot has it.
func (h *Handler) readFresh(ctx context.Context, s *pannier.Snapshot, ref string) (e *pannier.Entry, doc pannier.Document, err error) {
	err = h.fresh(ctx, s, func(s *pannier.Snapshot) (err error) {
		e, doc, err = h.read(ctx, s, ref)
		return err
	})
	return e, doc, err
}

// recordLoaded records that the text of a skill is served.
func (h *Handler) recordLoaded(e *pannier.Entry, doc pannier.Document) {
	h.recordLoad(e)
	h.Emit(pannier.EventSkillLoaded, skillLoaded(e, doc.Frontmatter))
}

// contentOf returns a document with the files of its skill.
func (h *Handler) contentOf(ctx context.Context, e *pannier.Entry, doc pannier.Document) pannier.Content {
	c := pannier.Content{
		Slug: e.Slug, Name: e.Name, Digest: e.Digest, Frontmatter: doc.Frontmatter, Body: doc.Body,
		Directory: h.directory(e), Resources: []string{}, Warnings: append([]string{}, doc.Warnings...),
	}
	files, truncated, err := h.Texts.Files(ctx, e.Skill)
	if err != nil {
		c.Warnings = append(c.Warnings, "cannot list the files of the skill: "+err.Error())
	}
	c.ResourcesTruncated = truncated
	for _, f := range files {
		if f.Path != e.File {
			c.Resources = append(c.Resources, f.Path)
		}
	}
	return c
}

// directory returns the directory of a skill as the agent sees it.
func (h *Handler) directory(e *pannier.Entry) string {
	return path.Dir(prompt.Location(e.Skill, h.AgentWorkspace))
}

// readTries bounds how often a skill that changes while it is read is read.
const readTries = 3

// fresh calls answer with a snapshot. If answer fails with [pannier.ErrChanged], since the disk has changed, it scans again and
// retries, so that what is served is what a snapshot says.
func (h *Handler) fresh(ctx context.Context, s *pannier.Snapshot, answer func(*pannier.Snapshot) error) error {
	for try := range readTries {
		if try > 0 {
			var err error
			if s, err = h.Rescan(ctx, true); err != nil {
				return err
			}
		}
		if err := answer(s); !errors.Is(err, pannier.ErrChanged) {
			return err
		}
	}
	return errChanging
}

func (h *Handler) read(ctx context.Context, s *pannier.Snapshot, ref string) (*pannier.Entry, pannier.Document, error) {
	e, err := find(s, ref, "")
	if err != nil {
		return nil, pannier.Document{}, err
	}
	if !e.Usable {
		return nil, pannier.Document{}, unusable(e)
	}
	if e.ToolsOnly {
		return nil, pannier.Document{}, errToolsOnly(e)
	}
	doc, err := h.Texts.Read(ctx, e.Skill)
	if errors.Is(err, pannier.ErrNotServable) {
		return nil, pannier.Document{}, errHeldFor(e)
	}
	return e, doc, err
}

// unusable says why, by the state: a skill can have reasons against it besides.
func unusable(e *pannier.Entry) error {
	detail, hint := fmt.Sprintf("%s is %s", e.Slug, e.State), "GET /v1/skills/"+e.Slug+" says more"
	switch {
	case e.State == pannier.StateUnlisted:
		hint = fmt.Sprintf("add %q to the list under skills in config.yaml", e.Folder)
	case (e.State == pannier.StateIneligible || e.State == pannier.StateDisabled) && len(e.Reasons) > 0:
		detail, hint = fmt.Sprintf("%s cannot be used: %s (%s)", e.Slug, e.Reasons[0].Code, e.Reasons[0].Subject), e.Reasons[0].Remedy
	}
	return &statusError{http.StatusConflict, "skill_" + string(e.State), detail, hint}
}

func errToolsOnly(e *pannier.Entry) error {
	return &statusError{http.StatusConflict, "skill_tools_only", e.Slug + " has tools and no instructions", "GET /v1/skills/" + e.Slug + " lists its files; a SKILL.md beside tools/ gives it instructions"}
}

func errHeldFor(e *pannier.Entry) error {
	hint := "fix its SKILL.md"
	if e.Deleting {
		hint = "its directory is gone; put it back, or it is listed no more in a moment"
	} else if len(e.Problems) > 0 {
		hint = e.Problems[0].String() + "; " + e.Problems[0].Hint
	}
	return &statusError{http.StatusConflict, "skill_held", fmt.Sprintf("%s is listed as it last was; its text on disk can no longer be read", e.Slug), hint}
}
