package service_test

import (
	"slices"
	"testing"

	"pannier"
	"pannier/service"
)

// log keeps audit entries.
type log struct {
	service.AuditLog
	entries []pannier.AuditEntry
}

func (l *log) Append(e pannier.AuditEntry) (pannier.AuditEntry, error) {
	l.entries = append(l.entries, e)
	return e, nil
}

// TestRights of callers, and what a bound of their own leaves of them.
func TestRights(t *testing.T) {
	s := service.New(service.Options{Rights: service.Rights{WriteUIDs: []uint32{100}, CallUIDs: []uint32{200}}})
	for _, tt := range []struct {
		caller service.Caller
		may    []service.Scope
	}{
		{service.Caller{UID: 0}, service.Scopes()},
		{service.Caller{UID: 100}, service.Scopes()},
		{service.Caller{UID: 100, Limit: service.ScopeRead}, []service.Scope{service.ScopeRead}},
		{service.Caller{UID: 100, Limit: service.ScopeCall}, []service.Scope{service.ScopeRead, service.ScopeCall}},
		{service.Caller{UID: 200}, []service.Scope{service.ScopeRead, service.ScopeEnvironment, service.ScopeCall}},
		{service.Caller{UID: 200, Limit: service.ScopeRead}, []service.Scope{service.ScopeRead}},
		{service.Caller{UID: 300}, []service.Scope{service.ScopeRead, service.ScopeEnvironment}},
		{service.Caller{UID: 300, Limit: service.ScopeWrite}, []service.Scope{service.ScopeRead, service.ScopeEnvironment}},
		{service.Caller{Token: "t", Scope: service.ScopeRead}, []service.Scope{service.ScopeRead}},
		{service.Caller{Token: "t", UID: 200, Scope: service.ScopeRead}, []service.Scope{service.ScopeRead}},
	} {
		ctx := service.WithCaller(t.Context(), tt.caller)
		for _, scope := range service.Scopes() {
			if may := slices.Contains(tt.may, scope); s.May(ctx, scope) != may {
				t.Errorf("%+v may %s: %t", tt.caller, scope, !may)
			}
		}
	}
	if s.May(t.Context(), service.ScopeWrite) || s.May(t.Context(), service.ScopeCall) || !s.May(t.Context(), service.ScopeRead) {
		t.Error("a caller that is not known may do more than read, or not read")
	}
}

// TestDeniedChangesAreAuditedOnce: one entry for each client and request in an hour, and those that are left out are
// counted.
func TestDeniedChangesAreAuditedOnce(t *testing.T) {
	kept := &log{}
	s := service.New(service.Options{Audit: kept})
	deny := func(token, name string) {
		ctx := service.WithCaller(t.Context(), service.Caller{Token: token, Scope: service.ScopeRead})
		if s.Require(ctx, service.Request{Name: name, Slug: "acme/pdf"}, service.ScopeWrite) == nil {
			t.Fatalf("%s: not denied", name)
		}
	}
	for _, name := range []string{"a", "a", "a", "b"} {
		deny("t", name)
	}
	deny("other", "a")
	if len(kept.entries) != 3 {
		t.Fatalf("%d entries: %+v", len(kept.entries), kept.entries)
	}
	e := kept.entries[0]
	if e.Action != pannier.ActionDenied || e.Slug != "pdf" || e.Actor.Name != "t" || e.Phase != pannier.AuditOutcome {
		t.Errorf("entry %+v", e)
	}
}
