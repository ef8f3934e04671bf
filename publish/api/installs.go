package api

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"pannier"
)

// Installs are how a peer that may moves skills. A function that is nil has no route.
type Installs struct {
	// Install puts a skill into the workspace, or replaces one, and returns with a snapshot that shows it; nil of a dry run.
	Install func(context.Context, pannier.Actor, pannier.InstallRequest, pannier.InstallSource) (pannier.InstallResult, *pannier.Snapshot, error)
	// Uninstall removes a skill that was installed, Rollback brings back the version before.
	Uninstall func(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)
	Rollback  func(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)
	// Promote records a packet that asks for a workflow to become a skill.
	Promote func(context.Context, pannier.Actor, pannier.Promotion) (pannier.SkillPromotion, error)
	// MaxArchiveBytes bounds the body of an installation.
	MaxArchiveBytes int64
}

// The patterns of the routes whose bodies are archives.
const (
	installPattern = "POST /v1/skills"
	updatePattern  = "PUT /v1/skills/{slug}"
)

func (h *Handler) installs() {
	if h.Install != nil {
		h.handle(installPattern, h.install, "source_kind", "file_name", "allow_missing", "accept", "reason", "dry_run")
		h.handle(updatePattern, h.update, "source_kind", "file_name", "allow_missing", "accept", "reason", "dry_run", "expected_fingerprint")
	}
	if h.Uninstall != nil {
		h.handle("DELETE /v1/skills/{slug}", h.uninstall, "source_kind", "expected_fingerprint", "dry_run")
	}
	if h.Rollback != nil {
		h.handle("POST /v1/skills/{slug}/rollback", h.rollback, "source_kind", "expected_fingerprint", "dry_run")
	}
	if h.Promote != nil {
		h.handle("POST /v1/promotions", h.promote)
	}
}

// mostBytes bounds the body of a request by its route.
func (h *Handler) mostBytes(pattern string) int64 {
	if pattern == installPattern || pattern == updatePattern {
		return h.MaxArchiveBytes + 1 // so that who is over it is told so by whoever counts
	}
	return maxRequestBytes
}

// archiveTypes are the media types of archives, and of those that do not say.
var archiveTypes = map[string]pannier.ArchiveFormat{
	"application/gzip": pannier.TarGz, "application/x-gzip": pannier.TarGz, "application/zip": pannier.Zip,
	"application/octet-stream": "",
}

// install puts the skill of an archive into the workspace.
func (h *Handler) install(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return h.takeArchive(w, r, "")
}

// update replaces an installed skill by the one of an archive.
func (h *Handler) update(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return h.takeArchive(w, r, r.PathValue("slug"))
}

func (h *Handler) takeArchive(w http.ResponseWriter, r *http.Request, slug string) error {
	if err := h.mayWrite(r); err != nil {
		return err
	}
	remove, err := removeRequest(r, slug)
	if err != nil {
		return err
	}
	allow, err := queryBool(r, "allow_missing")
	if err != nil {
		return err
	}
	accept, err := acceptRequest(r)
	if err != nil {
		return err
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	format, ok := archiveTypes[media]
	if !ok {
		return &statusError{
			http.StatusUnsupportedMediaType, "unsupported_media_type", fmt.Sprintf("the body is said to be %.60q", media),
			"send a tar.gz as application/gzip, or a zip as application/zip",
		}
	}
	req := pannier.InstallRequest{
		SourceKind: remove.SourceKind, Slug: slug, Expected: remove.Expected, DryRun: remove.DryRun, AllowMissing: allow, Accept: accept,
	}
	src := pannier.InstallSource{Body: patient(w, r), Format: format, Name: r.URL.Query().Get("file_name")}
	result, _, err := h.Install(r.Context(), actorOf(r), req, src)
	if err != nil {
		return err
	}
	return writeJSON(w, r, result)
}

// uninstall removes an installed skill.
func (h *Handler) uninstall(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return h.takeRemoval(w, r, h.Uninstall)
}

// rollback brings back the version of a skill before the newest one.
func (h *Handler) rollback(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	return h.takeRemoval(w, r, h.Rollback)
}

func (h *Handler) takeRemoval(w http.ResponseWriter, r *http.Request, do func(context.Context, pannier.Actor, pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error)) error {
	if err := h.mayWrite(r); err != nil {
		return err
	}
	req, err := removeRequest(r, r.PathValue("slug"))
	if err != nil {
		return err
	}
	result, _, err := do(r.Context(), actorOf(r), req)
	if err != nil {
		return err
	}
	return writeJSON(w, r, result)
}

// removeRequest reads what the routes of installations have in common.
func removeRequest(r *http.Request, slug string) (pannier.RemoveRequest, error) {
	query := r.URL.Query()
	req := pannier.RemoveRequest{Slug: slug, SourceKind: pannier.SourceKind(query.Get("source_kind"))}
	var err error
	if query.Has("expected_fingerprint") {
		if req.Expected, err = expectedFingerprint("expected_fingerprint", query.Get("expected_fingerprint")); err != nil {
			return req, err
		}
	}
	req.DryRun, err = queryBool(r, "dry_run")
	return req, err
}

// expectedFingerprint reads the parameter that names the fingerprint the skill must have.
func expectedFingerprint(parameter, text string) (pannier.Digest, error) {
	digest, err := pannier.ParseFingerprint(text)
	if err != nil {
		return digest, invalidParameter(parameter, "invalid "+parameter+": "+err.Error(),
			"give the fingerprint of the skill as it was listed, sha256: and 64 hexadecimal digits; leave the parameter out to accept any")
	}
	return digest, nil
}

func queryBool(r *http.Request, name string) (bool, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, invalidParameter(name, fmt.Sprintf("%s is %.40q", name, text), "give 1 or 0")
	}
	return value, nil
}

// The bounds of an archive that comes in as a body: how long it may stand still, and how long the rest of the request may
// take once it is here.
const (
	stillFor      = 30 * time.Second
	installWithin = 2 * time.Minute
)

// patient reads a body that takes longer than a request may otherwise, as long as there is progress.
func patient(w http.ResponseWriter, r *http.Request) io.Reader {
	return &patientBody{http.NewResponseController(w), r.Body}
}

type patientBody struct {
	connection *http.ResponseController
	io.Reader
}

// Read implements [io.Reader]. Where there are no deadlines to move, as within one process, none is in the way.
func (p *patientBody) Read(b []byte) (int, error) {
	now := time.Now()
	_ = p.connection.SetReadDeadline(now.Add(stillFor))
	_ = p.connection.SetWriteDeadline(now.Add(stillFor + installWithin))
	return p.Reader.Read(b)
}

// promote records a packet.
func (h *Handler) promote(w http.ResponseWriter, r *http.Request, _ *pannier.Snapshot) error {
	if err := h.mayWrite(r); err != nil {
		return err
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return &statusError{http.StatusBadRequest, "invalid_body", "the body can not be read: " + err.Error(), "send one JSON object of at most 1 MiB"}
	}
	p, err := pannier.ParsePromotion(text)
	if err != nil {
		return err
	}
	recorded, err := h.Promote(r.Context(), actorOf(r), p)
	if err != nil {
		return err
	}
	return writeJSON(w, r, recorded)
}
