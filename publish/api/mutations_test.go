package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/service"
)

// mutable is a house that takes changes and notes them. It implements [service.Changes].
type mutable struct {
	*house
	noted []string
	actor pannier.Actor // that put the environment
	fail  error
}

func (m *mutable) PutEnvironment(_ context.Context, actor pannier.Actor, env pannier.Environment) (pannier.Environment, *pannier.Snapshot, error) {
	note := fmt.Sprintf("environment %s by %s", env.OS, actor.Kind)
	if actor.UID != nil {
		note += fmt.Sprint(" ", *actor.UID)
	}
	m.noted = append(m.noted, note)
	env.Source, m.actor = pannier.EnvironmentAgent, actor
	m.snapshot.Environment = env
	return env, m.snapshot, m.fail
}

func (m *mutable) SetPolicy(_ context.Context, _ pannier.Actor, key pannier.PolicyKey, change pannier.PolicyChange) (pannier.Policy, *pannier.Snapshot, error) {
	m.noted = append(m.noted, fmt.Sprintf("policy %s %s enabled given %t", key.SourceKind, key.Slug, change.Enabled.Given))
	return pannier.Policies{}.Of(key, nil), m.snapshot, m.fail
}

func (m *mutable) Acknowledge(_ context.Context, actor pannier.Actor, condition string) (*pannier.Snapshot, error) {
	m.noted = append(m.noted, fmt.Sprintf("acknowledge %s by %s", condition, actor.Kind))
	return m.snapshot, m.fail
}

func (m *mutable) Scan(_ context.Context, actor pannier.Actor, s *pannier.Skill, req pannier.ScanRequest) (pannier.ScanReport, *pannier.Snapshot, error) {
	note := fmt.Sprintf("scan %s by %d", s.Path, *actor.UID)
	if req.Withdraw || len(req.Accept.Rules) > 0 {
		note += fmt.Sprintf(" %t %q %s", req.Withdraw, req.Accept.Rules, req.Accept.Reason)
	}
	m.noted = append(m.noted, note)
	return pannier.ScanReport{Slug: s.Slug, Path: s.Path, ScanVerdict: verdict, Files: 3}, m.snapshot, m.fail
}

func newMutable() *mutable {
	m := &mutable{house: newHouse()}
	m.content.Changes = m
	m.content.Audit = audited(func(slug string, _ uint64, limit int) ([]pannier.AuditEntry, error) {
		m.noted = append(m.noted, fmt.Sprintf("audit %q %d", slug, limit))
		return nil, nil
	})
	m.content.Rights.WriteUIDs = []uint32{4242}
	return m
}

// askAs sends a request as a peer would.
func askAs(h http.Handler, uid uint32, method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r = r.WithContext(service.WithCaller(r.Context(), service.Caller{UID: uid, GID: uid}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestMutations(t *testing.T) {
	for _, tt := range []struct {
		name, method, target, body string
		uid                        uint32
		fail                       error
		status                     int
		code, noted                string
	}{
		{name: "the agent puts its environment", method: "PUT", target: "/v1/environment", body: `{"os":"linux","source":"sidecar"}`, uid: 1000, status: 200, noted: "environment linux by socket 1000"},
		{name: "a field that an environment has not", method: "PUT", target: "/v1/environment", body: `{"variables":{"KEY":"secret"}}`, uid: 0, status: 400, code: "invalid_body"},
		{name: "root sets a policy", method: "PUT", target: "/v1/policy/alpha", body: `{"enabled":false}`, status: 200, noted: "policy workspace alpha enabled given true"},
		{name: "a uid that the settings name", method: "PUT", target: "/v1/policy/acme%2Falpha?source_kind=managed", body: `{"allow_implicit_invocation":null}`, uid: 4242, status: 200, noted: "policy managed acme/alpha enabled given false"},
		{name: "the sidecar's own user", method: "PUT", target: "/v1/policy/new", body: `{}`, uid: uint32(os.Geteuid()), status: 200, noted: "policy workspace new enabled given false"},
		{name: "a member of the group", method: "PUT", target: "/v1/policy/alpha", body: `{"enabled":false}`, uid: 1000, status: 403, code: "forbidden"},
		{name: "not a switch", method: "PUT", target: "/v1/policy/alpha", body: `{"enabled":"no"}`, status: 400, code: "invalid_body"},
		{name: "not a field", method: "PUT", target: "/v1/policy/alpha", body: `{"disabled":true}`, status: 400, code: "invalid_body"},
		{name: "refused below", method: "PUT", target: "/v1/policy/alpha", body: `{}`, fail: &pannier.Refusal{Code: "policy.slug", Message: "m", Hint: "h"}, status: 400, code: "policy.slug", noted: "policy workspace alpha enabled given false"},
		{name: "no audit", method: "PUT", target: "/v1/environment", body: `{}`, fail: fmt.Errorf("%w: full", pannier.ErrNotAudited), status: 503, code: "not_audited", noted: "environment  by socket 0"},
		{name: "root acknowledges a condition", method: "POST", target: "/v1/health/acknowledge", body: `{"condition":"state_lost"}`, status: 200, noted: "acknowledge state_lost by socket"},
		{name: "a member of the group does", method: "POST", target: "/v1/health/acknowledge", body: `{"condition":"state_lost"}`, uid: 1000, status: 403, code: "forbidden"},
		{name: "the audit log", method: "GET", target: "/v1/audit?slug=pdf&limit=7", uid: 1000, status: 200, noted: `audit "pdf" 7`},
		{name: "the usual part of it", method: "GET", target: "/v1/audit", uid: 1000, status: 200, noted: `audit "" 100`},
		{name: "too much of it", method: "GET", target: "/v1/audit?limit=10001", status: 400, code: "invalid_parameter.limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMutable()
			m.fail = tt.fail
			w := askAs(m.handler(), tt.uid, tt.method, tt.target, tt.body)
			if w.Code != tt.status || strings.Join(m.noted, "; ") != tt.noted {
				t.Errorf("%d %s, noted %q; want %d, %q", w.Code, w.Body, m.noted, tt.status, tt.noted)
			}
			if tt.code == "" {
				return
			}
			if e := decode[pannier.ErrorDocument](t, w); e.Code != tt.code || e.Detail == "" || e.Hint == "" {
				t.Errorf("error %+v", e)
			}
		})
	}
}

func TestNoMutationsWithoutTheirFunctions(t *testing.T) {
	h := newHouse().handler()
	for _, target := range []string{"/v1/policy/alpha", "/v1/environment"} {
		if w := askAs(h, 0, "PUT", target, `{}`); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("PUT %s: %d", target, w.Code)
		}
	}
}

func TestPolicyAndEnvironmentAreTold(t *testing.T) {
	no := false
	h := newHouse()
	h.snapshot.Environment = pannier.Environment{OS: "linux", Arch: "arm64", Bins: []string{"git"}, Env: []string{"HOME"}, Config: []string{}, MCP: []string{"files"}, Source: pannier.EnvironmentFile}
	h.snapshot.Policies = pannier.Policies{Workspace: map[pannier.PolicyKey]pannier.PolicyEntry{
		{Slug: "beta", SourceKind: pannier.SourceWorkspace}: {Switches: pannier.Switches{Enabled: &no}}, {Slug: "yet-to-come", SourceKind: pannier.SourceManaged}: {Switches: pannier.Switches{Enabled: &no}},
	}}
	if got := decode[pannier.Environment](t, ask(h.handler(), "GET", "/v1/environment", "")); !cmp.Equal(got, h.snapshot.Environment) {
		t.Errorf("environment %+v", got)
	}
	list := decode[pannier.PolicyList](t, ask(h.handler(), "GET", "/v1/policy", ""))
	var got []string
	for _, p := range list.Policies {
		got = append(got, fmt.Sprintf("%s %s %t %s", p.Slug, p.SourceKind, p.Effective.Enabled, p.Effective.Source))
	}
	want := []string{
		"alpha workspace true start", "beta workspace false workspace", "delta workspace true start", "gamma workspace true start",
		"omega workspace true start", "yet-to-come managed false workspace", "zeta workspace true start",
	}
	if diff := cmp.Diff(want, got); diff != "" || list.SnapshotVersion != 7 {
		t.Errorf("snapshot %d, policies (-want +got):\n%s", list.SnapshotVersion, diff)
	}
}
