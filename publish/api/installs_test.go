package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/service"
)

// mover is a door that notes what it was asked for, and refuses the slug "no".
type mover struct {
	install pannier.InstallRequest
	source  pannier.InstallSource
	body    string
	remove  pannier.RemoveRequest
	actor   pannier.Actor
	refuse  string // the code
	refusal error  // instead
	// problems are those of an installation.
	problems []pannier.Problem
}

func newMover() *mover { return &mover{} }

// versioned has two versions of every skill.
func versioned(o *service.Options) {
	o.Versions = func(_ context.Context, s *pannier.Skill) (pannier.VersionList, error) {
		return pannier.VersionList{Slug: s.Slug, Path: s.Path, Versions: []pannier.SkillVersion{{Version: "2", Current: true}, {Version: "1", CanRollBack: true, RolledBack: true}}}, nil
	}
	o.Diff = func(context.Context, *pannier.Skill) (pannier.VersionDiff, error) {
		return pannier.VersionDiff{Files: []pannier.FileDiff{{Path: "SKILL.md", Change: pannier.FileChanged, Additions: 1, Patch: "@@ -0,0 +1 @@\n+x\n"}, {Path: "x", Change: pannier.FileAdded, Binary: true}}}, nil
	}
}

func (m *mover) Install(_ context.Context, actor pannier.Actor, req pannier.InstallRequest, src pannier.InstallSource) (pannier.InstallResult, *pannier.Snapshot, error) {
	m.actor, m.install, m.source = actor, req, src
	if m.refusal != nil {
		return pannier.InstallResult{}, nil, m.refusal
	}
	if m.refuse != "" {
		return pannier.InstallResult{}, nil, &pannier.Refusal{Code: m.refuse, Message: "m", Hint: "h"}
	}
	if src.Body != nil {
		text, err := io.ReadAll(src.Body)
		if err != nil {
			return pannier.InstallResult{}, nil, err
		}
		m.body = string(text)
	}
	return pannier.InstallResult{Status: pannier.StatusInstalled, DryRun: req.DryRun, Skill: moved, AuditEntries: 2, Problems: m.problems}, nil, nil
}

func (*mover) InstallSeveral(context.Context, pannier.Actor, pannier.InstallSeveral, pannier.InstallSource) ([]pannier.InstalledFolder, error) {
	return nil, nil
}

func (m *mover) Uninstall(_ context.Context, actor pannier.Actor, req pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error) {
	return m.leave(actor, req, pannier.StatusUninstalled)
}

func (m *mover) Rollback(_ context.Context, actor pannier.Actor, req pannier.RemoveRequest) (pannier.InstallResult, *pannier.Snapshot, error) {
	return m.leave(actor, req, pannier.StatusRolledBack)
}

func (m *mover) leave(actor pannier.Actor, req pannier.RemoveRequest, status pannier.InstallStatus) (pannier.InstallResult, *pannier.Snapshot, error) {
	m.actor, m.remove = actor, req
	if req.Slug == "no" {
		return pannier.InstallResult{}, nil, &pannier.Refusal{Code: "install.not_found", Message: "m", Hint: "h"}
	}
	return pannier.InstallResult{Status: status, Skill: moved, Removed: moved.InstallPath, AuditEntries: 2}, nil, nil
}

func (m *mover) Promote(_ context.Context, actor pannier.Actor, p pannier.Promotion) (pannier.SkillPromotion, error) {
	m.actor = actor
	return pannier.SkillPromotion{Summary: p.Summary, Digest: pannier.DigestOf(p.Packet), Repetition: p.Repetition, Packet: p.Packet}, nil
}

// moved is what every change is about.
var moved = pannier.InstalledSkill{
	Slug: "documents", SourceKind: pannier.SourceWorkspace, Version: "0.1.0", Fingerprint: pannier.DigestOf([]byte("f")),
	TrustLevel: pannier.TrustVerified, Path: "skills/documents", InstallPath: "/w/skills/documents",
}

func (m *mover) ask(t *testing.T, peer service.Caller, method, target, media, body string) *httptest.ResponseRecorder {
	t.Helper()
	h := newHouse()
	h.content.Installer = m
	versioned(&h.content)
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	h.handler().ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), peer)))
	return w
}

func TestInstallRoutes(t *testing.T) {
	f := pannier.DigestOf([]byte("f"))
	tests := []struct {
		method, target, media, body string
		status                      int
		install                     pannier.InstallRequest
		remove                      pannier.RemoveRequest
		format                      pannier.ArchiveFormat
	}{
		{"POST", "/v1/skills?source_kind=managed&allow_missing=1&file_name=d.tgz", "application/gzip", "archive", 200, pannier.InstallRequest{SourceKind: "managed", AllowMissing: true}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills?dry_run=true", "application/zip; x=1", "archive", 200, pannier.InstallRequest{DryRun: true}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills", "application/octet-stream", "archive", 200, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"PUT", "/v1/skills/acme%2Fdocuments?expected_fingerprint=" + f.String(), "application/gzip", "archive", 200, pannier.InstallRequest{Slug: "acme/documents", Expected: f}, pannier.RemoveRequest{}, ""},
		{"DELETE", "/v1/skills/documents?source_kind=managed", "", "", 200, pannier.InstallRequest{}, pannier.RemoveRequest{Slug: "documents", SourceKind: "managed"}, ""},
		{"POST", "/v1/skills/documents/rollback?dry_run=1", "", "", 200, pannier.InstallRequest{}, pannier.RemoveRequest{Slug: "documents", DryRun: true}, ""},
		{"POST", "/v1/skills", "application/x-zip-compressed", "archive", 200, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills", "application/json", "archive", 415, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills", "text/plain", "archive", 415, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills?allow_missing=maybe", "application/gzip", "archive", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"PUT", "/v1/skills/documents?expected_fingerprint=sha256:1", "application/gzip", "archive", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"PUT", "/v1/skills/documents?expected_fingerprint=sha256:" + strings.Repeat("0", 64), "application/gzip", "archive", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"PUT", "/v1/skills/documents?expected_fingerprint=", "application/gzip", "archive", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"DELETE", "/v1/skills/documents?expected_fingerprint=", "", "", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"DELETE", "/v1/skills/documents?expected_fingerprint", "", "", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills/documents/rollback?expected_fingerprint=", "", "", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills?accept=scan.a,scan.b&reason=it+is+ours", "application/gzip", "archive", 200, pannier.InstallRequest{Accept: pannier.AcceptRequest{Rules: []string{"scan.a", "scan.b"}, Reason: "it is ours"}}, pannier.RemoveRequest{}, ""},
		{"POST", "/v1/skills?accept=scan.a&reason=", "application/gzip", "archive", 400, pannier.InstallRequest{}, pannier.RemoveRequest{}, ""},
		{"DELETE", "/v1/skills/no", "", "", 404, pannier.InstallRequest{}, pannier.RemoveRequest{Slug: "no"}, ""},
	}
	for _, tt := range tests {
		m := newMover()
		w := m.ask(t, service.Caller{}, tt.method, tt.target, tt.media, tt.body)
		if w.Code != tt.status {
			t.Errorf("%s %s: %d %s", tt.method, tt.target, w.Code, w.Body)
		}
		if !reflect.DeepEqual(m.install, tt.install) || m.remove != tt.remove || m.source.Format != tt.format {
			t.Errorf("%s %s: %+v, %+v, %q", tt.method, tt.target, m.install, m.remove, m.source.Format)
		}
		if tt.media != "" && tt.status == 200 && m.body != "archive" {
			t.Errorf("%s %s: body %q", tt.method, tt.target, m.body)
		}
		if tt.status == 200 && m.actor.Kind != "socket" {
			t.Errorf("actor %+v", m.actor)
		}
	}
}

// TestWhoMayInstall leaves out the members of the socket's group.
func TestWhoMayInstall(t *testing.T) {
	for _, q := range [][3]string{
		{"POST", "/v1/skills", "application/gzip"},
		{"PUT", "/v1/skills/a", "application/gzip"},
		{"DELETE", "/v1/skills/a", ""},
		{"POST", "/v1/skills/a/rollback", ""},
		{"POST", "/v1/promotions", ""},
	} {
		m := newMover()
		w := m.ask(t, service.Caller{UID: 12345, GID: 1}, q[0], q[1], q[2], "x")
		if w.Code != http.StatusForbidden || m.actor.Kind != "" {
			t.Errorf("%v: %d, %+v", q, w.Code, m.actor)
		}
	}
}

// TestRefusedInstalls have a class of their own on both surfaces.
func TestRefusedInstalls(t *testing.T) {
	tests := []struct {
		code   string
		status int
		number int
		rpc    string
	}{
		{"install.exists", 409, -32600, "skills.update_conflict.fingerprint_mismatch"},
		{"install.dependency", 422, -32600, "skills.install_blocked.dependency"},
		{"install.security", 422, -32600, "skills.install_blocked.security"},
		{"install.trust", 422, -32600, "skills.install_blocked.trust"},
		{"install.disabled", 403, -32600, "skills.forbidden"},
		{"install.read_only", 409, -32000, "skills.unavailable"},
		{"archive.link", 422, -32600, "skills.upload.invalid_archive"},
		{"upload.expired", 410, -32600, "skills.upload.expired"},
		{"upload.unheard_of", 400, -32602, "skills.upload.invalid_request"},
		{"unheard.of", 400, -32602, "skills.invalid_request"},
	}
	for _, tt := range tests {
		m := &mover{refuse: tt.code}
		w := m.ask(t, service.Caller{}, "POST", "/v1/skills", "application/gzip", "x")
		problem := decodeLoosely[pannier.ErrorDocument](t, w.Body.Bytes())
		if w.Code != tt.status || problem.Code != tt.code || problem.Hint != "h" {
			t.Errorf("%s: %d %+v", tt.code, w.Code, problem)
		}
		w = m.ask(t, service.Caller{}, "POST", "/v1/rpc", "application/json", `{"jsonrpc":"2.0","id":"1","method":"skills/install","params":{"source":{"type":"uploaded_archive","upload_id":"upl_1"}}}`)
		answer := decodeLoosely[struct {
			Error struct {
				Code int
				Data struct {
					Code    string
					Details struct{ Code string }
				}
			}
		}](t, w.Body.Bytes())
		if e := answer.Error; e.Code != tt.number || e.Data.Code != tt.rpc || e.Data.Details.Code != tt.code {
			t.Errorf("%s: %+v", tt.code, e)
		}
	}
}

// TestRPCInstallTellsProblems of the skill that was installed, such as that only a turn that names it uses it: "When false, the
// skill can still be selected explicitly by the user or client flow" (Pioneer skills protocol, allow_implicit_invocation).
func TestRPCInstallTellsProblems(t *testing.T) {
	s := newMethodSchemas(t)
	for _, method := range []string{"skills/install", "skills/update"} {
		m := newMover()
		m.problems = []pannier.Problem{{
			Code: "install.explicit_only", Severity: pannier.SeverityInfo, Path: "skills/documents", Field: "allow_implicit_invocation", Message: "m", Hint: "h",
		}}
		asked := rpcRequest("1", method, `{"source":{"type":"uploaded_archive","upload_id":"upl_1"}}`)
		if method == "skills/update" {
			asked = rpcRequest("1", method, `{"slug":"documents","source":{"type":"uploaded_archive","upload_id":"upl_1"}}`)
		}
		answered := m.ask(t, service.Caller{}, "POST", "/v1/rpc", "application/json", asked).Body.String()
		if method == "skills/install" {
			s.exchange(t, asked, answered)
		}
		want := `"validation_issues":[{"code":"install.explicit_only","level":"info","message":"m","field_path":"allow_implicit_invocation"}]`
		if !strings.Contains(answered, want) {
			t.Errorf("%s: %s, want %s", method, answered, want)
		}
	}
}

// TestRPCInstalls answer in the shapes of the Pioneer skills protocol.
func TestRPCInstalls(t *testing.T) {
	f := strings.TrimPrefix(pannier.DigestOf([]byte("f")).String(), "sha256:")
	const source = `"source":{"type":"uploaded_archive","upload_id":"upl_000000000000000001"}`
	tests := []struct{ method, params, want string }{
		{"skills/install", `{` + source + `,"target_source_kind":"workspace"}`, `{"status":"installed","skill":{"slug":"documents","source_kind":"workspace","version":"0.1.0","fingerprint":"sha256:` + f + `","trust_level":"trusted","install_path":"/w/skills/documents"},"audit":{"events_written":2}}`},
		{"skills/uninstall", `{"slug":"documents","source_kind":"workspace"}`, `{"status":"uninstalled","slug":"documents","source_kind":"workspace","removed_install_path":"/w/skills/documents","audit":{"events_written":2}}`},
	}
	for _, tt := range tests {
		w := newMover().ask(t, service.Caller{}, "POST", "/v1/rpc", "application/json", `{"jsonrpc":"2.0","id":"1","method":"`+tt.method+`","params":`+tt.params+`}`)
		answer := decodeLoosely[struct{ Result json.RawMessage }](t, w.Body.Bytes())
		if diff := cmp.Diff(tt.want, string(answer.Result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", tt.method, diff, w.Body)
		}
	}
	for source, want := range map[string]string{
		`{"type":"uploaded_archive"}`:        "upload_id of the source is missing",
		`{"type":"git","upload_id":"upl_1"}`: `the source is of type \"git\"`,
	} {
		m := newMover()
		w := m.ask(t, service.Caller{}, "POST", "/v1/rpc", "application/json", `{"jsonrpc":"2.0","id":"1","method":"skills/install","params":{"source":`+source+`}}`)
		if text := w.Body.String(); !strings.Contains(text, `"code":"skills.invalid_request","details":{"error":"`+want+`"`) || m.source.UploadID != "" {
			t.Errorf("%s: %s", source, text)
		}
	}
	for _, fingerprint := range []string{strings.Repeat("0", 64), "sha256:" + strings.Repeat("0", 64), "", "f"} {
		m := newMover()
		w := m.ask(t, service.Caller{}, "POST", "/v1/rpc", "application/json", `{"jsonrpc":"2.0","id":"1","method":"skills/update","params":{"slug":"documents",`+source+`,"expected_previous_fingerprint":"`+fingerprint+`"}}`)
		if text := w.Body.String(); !strings.Contains(text, `"code":"skills.invalid_request","details":{"error":"invalid expected_previous_fingerprint: `) ||
			!strings.Contains(text, `"hint":"give the fingerprint of the skill`) || m.install.Slug != "" {
			t.Errorf("%q: %s", fingerprint, text)
		}
	}
	m := newMover()
	m.ask(t, service.Caller{}, "POST", "/v1/rpc", "application/json", `{"jsonrpc":"2.0","id":"1","method":"skills/update","params":{"slug":"acme/documents","source_kind":"managed",`+source+`,"expected_previous_fingerprint":"`+f+`"}}`)
	want := pannier.InstallRequest{Slug: "acme/documents", SourceKind: "managed", Expected: pannier.DigestOf([]byte("f"))}
	if !reflect.DeepEqual(m.install, want) || m.source.UploadID != "upl_000000000000000001" {
		t.Errorf("%+v, %+v", m.install, m.source)
	}
}

// TestConflictsAreStructured tells of the skill that is in the way, and of what a scan blocks, on both surfaces.
func TestConflictsAreStructured(t *testing.T) {
	refusal := pannier.Refusal{
		Code: "install.exists", Message: "m", Hint: "h",
		Conflict: &pannier.InstallConflict{Slug: "pdf", Path: "skills/pdf", Fingerprint: pannier.DigestOf([]byte("f")), Version: "1.0.0", Managed: true},
		Findings: []pannier.Finding{{Rule: "scan.x", Severity: pannier.SeverityError, Path: "run.sh", Line: 3, Message: "m", Hint: "h", Blocking: true}},
	}
	h := newHouse()
	h.content.Installer = &mover{refusal: fmt.Errorf("install: %w", &refusal)}
	send := func(target, media, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", target, strings.NewReader(body))
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		h.handler().ServeHTTP(w, r.WithContext(service.WithCaller(r.Context(), service.Caller{})))
		return w
	}
	problem := decode[pannier.ErrorDocument](t, send("/v1/skills", "application/zip", "x"))
	if diff := cmp.Diff(refusal.Conflict, problem.Conflict); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(refusal.Findings, problem.Findings); diff != "" {
		t.Error(diff)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"skills/install","params":{"source":{"type":"uploaded_archive","upload_id":"upl_1"}}}`
	w := send("/v1/rpc", "application/json", call)
	newMethodSchemas(t).exchange(t, call, w.Body.String())
	answer := decodeLoosely[struct {
		Error struct {
			Data struct{ Details pannier.ErrorDocument }
		}
	}](t, w.Body.Bytes())
	if diff := cmp.Diff(refusal.Conflict, answer.Error.Data.Details.Conflict); diff != "" {
		t.Error(diff)
	}
}
