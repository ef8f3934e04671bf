package admin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin"
	"pannier/admin/policy"
	"pannier/internal/state"
)

func change(t *testing.T, text string) (c pannier.PolicyChange) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSetPolicy(t *testing.T) {
	dir := t.TempDir()
	h := newFixture(t, dir)
	for _, tt := range []struct {
		name, slug string
		kind       pannier.SourceKind
		change     string
		want       string
		event      bool
	}{
		{"a skill", "pdf", pannier.SourceWorkspace, `{"enabled":false}`, "workspace pdf enabled false implicit true by workspace", true},
		{"the same again", "pdf", pannier.SourceWorkspace, `{"enabled":false}`, "workspace pdf enabled false implicit true by workspace", false},
		{"nothing", "pdf", "", `{}`, "workspace pdf enabled false implicit true by workspace", false},
		{"an owner, and no slug yet", "acme/PDF", "", `{"allow_implicit_invocation":false}`, "workspace pdf enabled false implicit false by workspace", true},
		{"another kind", "pdf", pannier.SourceManaged, `{"allow_implicit_invocation":true}`, "managed pdf enabled true implicit true by start", true},
		{"no such skill", "To Come", pannier.SourceExtra, `{"enabled":false}`, "extra to-come enabled false implicit false by workspace", true},
		{"taken back", "pdf", "", `{"enabled":null,"allow_implicit_invocation":null}`, "workspace pdf enabled true implicit true by start", true},
		{"taken back again", "pdf", "", `{"enabled":null}`, "workspace pdf enabled true implicit true by start", false},
	} {
		h.happened = nil
		p, s, err := h.SetPolicy(t.Context(), actor, pannier.PolicyKey{Slug: tt.slug, SourceKind: tt.kind}, change(t, tt.change))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := told(p); got != tt.want || s.Version != h.registry.Version {
			t.Errorf("%s: got %s of %d, want %s of %d", tt.name, got, s.Version, tt.want, h.registry.Version)
		}
		last := h.happened[len(h.happened)-1]
		if strings.HasPrefix(last, "emit policy_changed") != tt.event || h.happened[0] != "audit intent" {
			t.Errorf("%s: happened %q", tt.name, h.happened)
		}
	}
	rows, err := policy.Open(h.store)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.Policies(), rows.All()); diff != "" || len(rows.All()) != 2 {
		t.Errorf("after a restart (-live +kept):\n%s", diff)
	}
}

// told says in words how a policy stands.
func told(p pannier.Policy) string {
	enabled, implicit := "false", "false"
	if p.Effective.Enabled {
		enabled = "true"
	}
	if p.Effective.AllowImplicit {
		implicit = "true"
	}
	return strings.Join([]string{string(p.SourceKind), p.Slug, "enabled", enabled, "implicit", implicit, "by", string(p.Effective.Source)}, " ")
}

func TestPoliciesThatAreRefused(t *testing.T) {
	h := newFixture(t, t.TempDir())
	for _, tt := range []struct {
		key  pannier.PolicyKey
		code string
	}{
		{pannier.PolicyKey{}, "policy.slug"},
		{pannier.PolicyKey{Slug: "acme/"}, "policy.slug"},
		{pannier.PolicyKey{Slug: "../..//"}, "policy.slug"},
		{pannier.PolicyKey{Slug: strings.Repeat("a", 1025)}, "policy.slug"},
		{pannier.PolicyKey{Slug: "pdf", SourceKind: "Workspace"}, "policy.source_kind"},
		{pannier.PolicyKey{Slug: "pdf", SourceKind: "workspace/pdf"}, "policy.source_kind"},
	} {
		_, s, err := h.SetPolicy(t.Context(), actor, tt.key, off)
		if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != tt.code || r.Message == "" || r.Hint == "" || s != nil {
			t.Errorf("%+v: %v, want %s", tt.key, err, tt.code)
		}
	}
	if len(h.happened) > 0 {
		t.Errorf("happened %q", h.happened)
	}
}

func TestTooManyPolicies(t *testing.T) {
	h := newFixture(t, t.TempDir())
	full := state.Memory()
	for n := range policy.MaxRows {
		if err := full.Put("policy", fmt.Sprint("workspace/skill-", n), pannier.StartSwitches()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := policy.Open(full)
	if err != nil {
		t.Fatal(err)
	}
	d := admin.New(admin.Options{Audit: h, Policy: rows})
	_, _, err = d.SetPolicy(t.Context(), actor, pdf, off)
	if r, ok := errors.AsType[*pannier.Refusal](err); !ok || r.Code != "policy.too_many" || !strings.Contains(h.audited(t), "2 outcome of 1 policy.set pdf null 0 there are") {
		t.Errorf("%v, audit log:\n%s", err, h.audited(t))
	}
}
