package api

import (
	"net/http"
	"strings"

	"pannier"
	"pannier/service"
)

var skillRoutes = []route{
	{
		pattern: "GET /v1/skills", endpoint: writes[pannier.List]((*Handler).list),
		id: "listSkills", summary: "Every skill that was found, usable or not, by slug.",
		parameters: []parameter{
			{"state", "query", "Only the skills in this state.", pannier.State("")},
			queryList(
				"include", object{"type": "string", "enum": []string{"activity", "problems", "policy", "health"}},
				"What to add to each skill. With activity, the ETag changes with each use of a skill.",
			),
			queryList(
				"fields", object{"type": "string", "enum": fieldNames},
				"Only these fields of each skill, slug and path; with it, others that the schema requires are absent.",
			),
			queryList(
				"slug", object{"type": "string"},
				"Only the skills with one of these slugs, at most 100; also those that are shadowed.",
			),
			{
				"q", "query",
				"Only the skills that have words of this text, the most relevant first; shadowed ones are not among them.",
				object{"type": "string", "maxLength": maxSearchBytes},
			},
			{
				"limit", "query", "The most skills; the answer has total, and next_cursor if there are more.",
				object{"type": "integer", "minimum": 1, "maximum": service.MaxPage},
			},
			query("cursor", "string", "The next_cursor of the answer before; needs limit."),
		},
	},
	{
		pattern: "GET /v1/skills/{slug}", endpoint: returns((*Handler).detail),
		id: "getSkill", summary: "All that is known of one skill.",
		parameters: []parameter{
			query(
				"path", "string",
				"The path of the skill directory that is meant; it reaches a skill that is shadowed.",
			),
			{
				"include", "query", "Adds when the skill was last used. The ETag then changes with each use.",
				object{"type": "string", "enum": []string{"activity"}},
			},
		},
	},
	{
		pattern: "GET /v1/skills/{slug}/content", endpoint: writes[pannier.Content]((*Handler).content),
		id: "getContent", summary: "What an agent needs to follow a skill. Emits skill_loaded.",
		texts: []string{"text/markdown"},
		parameters: []parameter{
			query(
				"expand", "boolean",
				"Puts the skill directory, as the agent sees it, in the place of ${skill_dir} and {baseDir}.",
			),
		},
	},
	{
		pattern: "GET /v1/skills/{slug}/files/{path...}", endpoint: endpoint{serve: (*Handler).file},
		id: "getFile", summary: "One file of a skill, byte for byte; its ETag is its digest. Emits skill_file_read.",
		texts: []string{"text/plain", "application/octet-stream"},
		has:   func(o *Options) bool { return o.Service.Options.OpenFile != nil },
		parameters: []parameter{
			inspectParameter,
			query(
				"skill_path", "string",
				"The path of the skill directory that is meant; with inspect, it reaches a skill that is shadowed.",
			),
		},
	},
	{
		pattern: "POST /v1/skills/{slug}/scan", endpoint: returns((*Handler).scan), scope: service.ScopeWrite,
		id: "scanSkill", summary: "Scans a skill as it is now.",
		has: func(o *Options) bool { return o.Service.Changes != nil },
		parameters: append(
			[]parameter{query("path", "string", "The path of the skill directory that is meant.")},
			acceptParameters...),
	},
}

func (h *Handler) detail(r *http.Request, s *pannier.Snapshot) (pannier.Detail, error) {
	query := r.URL.Query()
	d, err := h.Service.Describe(r.Context(), s, r.PathValue("slug"), query.Get("path"))
	if err == nil && query.Get("include") == "activity" {
		d.Activity = h.Service.Activity.Of(h.Service.Snapshot()).Times(&d.Entry)
	}
	return d, err
}

// content answers with what an agent needs to follow a skill. A HEAD emits no event.
func (h *Handler) content(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	text, err := h.Service.Instructions(r.Context(), s, r.PathValue("slug"))
	if err != nil {
		return err
	}
	if isSet(r, "expand") {
		directory := h.Service.Directory(text.Skill)
		text.Body = strings.NewReplacer("${skill_dir}", directory, "{baseDir}", directory).Replace(text.Body)
	}
	if r.Method != http.MethodHead {
		h.Service.RecordLoaded(text)
	}
	if Prefers(w, r, "text/markdown", "application/json") {
		return writeBody(w, r, "text/markdown; charset=utf-8", []byte(text.Body))
	}
	return WriteJSON(w, r, h.Service.Content(r.Context(), text))
}
