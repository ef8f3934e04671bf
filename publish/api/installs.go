package api

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"pannier"
	"pannier/service"
)

var installRoutes = []route{
	{
		pattern:  "POST /v1/skills",
		endpoint: endpoint{(*Handler).installAny, nil, eitherOf{pannier.InstallResult{}, pannier.FolderList{}}},
		scope:    service.ScopeWrite, raw: archiveMedia,
		id:      "installSkill",
		summary: "Installs the skill of an archive, or each of several. The answer comes once a snapshot shows them. Emits install_added.",
		parameters: append(
			[]parameter{
				query(
					"several",
					"boolean",
					"Installs every skill of the archive by itself; the answer has a result for each.",
				),
			},
			archiveParameters...), has: hasInstall,
	},
	{
		pattern: "PUT /v1/skills/{slug}", endpoint: returns((*Handler).install), scope: service.ScopeWrite,
		raw: archiveMedia,
		id:  "updateSkill", summary: "Replaces an installed skill by the one of an archive. Emits install_replaced.",
		parameters: append([]parameter{expectedParameter}, archiveParameters...), has: hasInstall,
	},
	{
		pattern: "DELETE /v1/skills/{slug}", endpoint: removes((*service.Service).Uninstall), scope: service.ScopeWrite,
		id:         "uninstallSkill",
		summary:    "Removes an installed skill, and what clients have set of it. Emits install_removed.",
		parameters: removalParameters, has: hasInstall,
	},
	{
		pattern: "POST /v1/skills/{slug}/rollback", endpoint: removes((*service.Service).Rollback),
		scope:      service.ScopeWrite,
		id:         "rollBackSkill",
		summary:    "Brings back the version of a skill that was there before the newest. Emits install_rolled_back.",
		parameters: removalParameters, has: hasInstall,
	},
	{
		pattern: "GET /v1/skills/{slug}/versions", endpoint: returns((*Handler).versions),
		id: "listVersions", summary: "The version of a skill that is there, and the one before.",
		parameters: []parameter{skillPathParameter}, has: func(o *Options) bool { return o.Service.Versions != nil },
	},
	{
		pattern: "GET /v1/skills/{slug}/diff", endpoint: returns((*Handler).diff),
		id: "diffVersions", summary: "What changed from the version before to the one that is there.",
		parameters: []parameter{
			skillPathParameter, inspectParameter,
		}, has: func(o *Options) bool { return o.Service.Diff != nil },
	},
	{
		pattern: "POST /v1/promotions", endpoint: returns((*Handler).promote), bodySchema: promotionBody{},
		scope: service.ScopeWrite,
		id:    "promote", summary: "Records a packet that asks for a workflow to become a skill. Emits skill_promotion.",
		has: hasInstall,
	},
}

func hasInstall(o *Options) bool { return o.Service.Installer != nil }

// The parameters of the routes that move skills.
var (
	kindParameter     = query("source_kind", "string", "The kind of root: workspace, which is the default, or managed.")
	dryRunParameter   = query("dry_run", "boolean", "Tells what would come of it, and touches nothing.")
	expectedParameter = query("expected_fingerprint", "string", "The fingerprint that the skill must have.")
	removalParameters = []parameter{kindParameter, expectedParameter, dryRunParameter}
	acceptParameters  = []parameter{
		queryList(
			"accept", object{"type": "string"},
			"Rules whose blocking findings are accepted for exactly this content at this path. For a scan, none takes all acceptances back.",
		),
		query("reason", "string", "Why they are accepted: at most 500 bytes on one line."),
	}
	archiveParameters = append([]parameter{
		kindParameter, dryRunParameter,
		query("file_name", "string", "What the archive is called where it comes from."),
		query("allow_missing", "boolean", "Installs a skill that lacks what it needs."),
	}, acceptParameters...)
	archiveMedia = []string{"application/gzip", "application/zip", "application/octet-stream", multipartMedia}
)

type promotionBody struct {
	PromoteToSkill   any    `json:"promote_to_skill"`
	RepetitionSignal any    `json:"repetition_signal"`
	Summary          string `json:"summary,omitempty"`
}

// install puts the skill of an archive into the workspace. With a slug in the path it replaces that skill.
func (h *Handler) install(r *http.Request, _ *pannier.Snapshot) (result pannier.InstallResult, err error) {
	req, src, err := installRequest(r)
	if err != nil {
		return result, err
	}
	return h.Service.Install(r.Context(), req, src)
}

// installAny puts the skill of an archive into the workspace, or each of several.
func (h *Handler) installAny(w http.ResponseWriter, r *http.Request, s *pannier.Snapshot) error {
	if !isSet(r, "several") {
		result, err := h.install(r, s)
		if err != nil {
			return err
		}
		return WriteJSON(w, r, result)
	}
	req, src, err := installRequest(r)
	if err != nil {
		return err
	}
	list, err := h.Service.InstallSeveral(r.Context(), pannier.InstallSeveral{InstallRequest: req}, src)
	if err != nil {
		return err
	}
	return WriteJSON(w, r, list)
}

func installRequest(r *http.Request) (req pannier.InstallRequest, src pannier.InstallSource, err error) {
	remove, err := removeRequest(r)
	if err != nil {
		return req, src, err
	}
	accept, err := acceptRequest(r)
	if err != nil {
		return req, src, err
	}
	req = pannier.InstallRequest{
		SourceKind: remove.SourceKind, Slug: remove.Slug, Expected: remove.Expected, DryRun: remove.DryRun,
		AllowMissing: isSet(r, "allow_missing"), Accept: accept,
	}
	src.Name = r.URL.Query().Get("file_name")
	switch media, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case media == multipartMedia && parameters["boundary"] == "":
		return req, src, badPart(
			"its media type has no boundary", "let the browser set Content-Type, or add boundary to it",
		)
	case media == multipartMedia:
		src.Write = packParts(r.Body, parameters["boundary"])
	case strings.HasPrefix(media, "application/") && media != "application/json" && media != "application/x-www-form-urlencoded":
		// which archive it is decides its content: browsers and systems disagree on the types of archives
		src.Body = r.Body
	default:
		return req, src, &statusError{
			http.StatusUnsupportedMediaType, "unsupported_media_type",
			fmt.Sprintf("the body is said to be %.60q", media),
			"send a tar.gz as application/gzip, a zip as application/zip, or files as multipart/form-data",
		}
	}
	return req, src, nil
}

var skillPathParameter = query("path", "string", "The path of the skill directory that is meant.")

func (h *Handler) versions(r *http.Request, s *pannier.Snapshot) (list pannier.VersionList, err error) {
	e, err := service.Find(s, r.PathValue("slug"), r.URL.Query().Get("path"))
	if err != nil {
		return list, err
	}
	return h.Service.Versions(r.Context(), e.Skill)
}

func (h *Handler) diff(r *http.Request, s *pannier.Snapshot) (diff pannier.VersionDiff, err error) {
	by, err := h.reader(r)
	if err != nil {
		return diff, err
	}
	return h.Service.VersionDiff(r.Context(), s, r.PathValue("slug"), r.URL.Query().Get("path"), by)
}

func removes(
	by func(*service.Service, context.Context, pannier.RemoveRequest) (pannier.InstallResult, error),
) endpoint {
	return returns(func(h *Handler, r *http.Request, _ *pannier.Snapshot) (pannier.InstallResult, error) {
		req, err := removeRequest(r)
		if err != nil {
			return pannier.InstallResult{}, err
		}
		return by(h.Service, r.Context(), req)
	})
}

func removeRequest(r *http.Request) (req pannier.RemoveRequest, err error) {
	query := r.URL.Query()
	req = pannier.RemoveRequest{
		Slug: r.PathValue("slug"), SourceKind: pannier.SourceKind(query.Get("source_kind")),
		DryRun: isSet(r, "dry_run"),
	}
	if query.Has("expected_fingerprint") {
		req.Expected, err = service.ParseExpected("expected_fingerprint", query.Get("expected_fingerprint"))
	}
	return req, err
}

// The bounds of an archive that comes in as a body: how long it may stand still, and how long the rest of the request
// may take once it is here.
const (
	bodyIdleTimeout = 30 * time.Second
	installTimeout  = 2 * time.Minute
)

// progressBody replaces the deadline of the whole request by one that each read moves.
type progressBody struct {
	connection *http.ResponseController
	io.ReadCloser
}

// Read implements [io.Reader]. A connection within the process has no deadlines.
func (p *progressBody) Read(b []byte) (int, error) {
	now := time.Now()
	_ = p.connection.SetReadDeadline(now.Add(bodyIdleTimeout))
	_ = p.connection.SetWriteDeadline(now.Add(bodyIdleTimeout + installTimeout))
	return p.ReadCloser.Read(b)
}

func (h *Handler) promote(r *http.Request, _ *pannier.Snapshot) (recorded pannier.SkillPromotion, err error) {
	text, err := readText(r)
	if err != nil {
		return recorded, err
	}
	p, err := pannier.ParsePromotion(text)
	if err != nil {
		return recorded, err
	}
	return h.Service.Promote(r.Context(), p)
}
