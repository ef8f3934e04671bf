package admin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin"
	"pannier/admin/audit"
)

func TestOrder(t *testing.T) {
	h := newFixture(t, t.TempDir())
	if err := errors.Join(mutations[pannier.ActionSetPolicy](h.Service), mutations[pannier.ActionPutEnvironment](h.Service)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"audit intent", "put policy/workspace/pdf", "apply", "audit outcome",
		`emit policy_changed {"slug":"pdf","source_kind":"workspace","before":{},"after":{"enabled":false},"effective":{"enabled":false,"allow_implicit_invocation":true,"source":"workspace","implicit_source":"gateway"}}`,
		"audit intent", "put environment/agent", "apply", "audit outcome",
	}
	if diff := cmp.Diff(want, h.happened); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	digest := pannier.DigestOf([]byte("git")).String()
	log := strings.Join([]string{
		`1 intent of 0 policy.set pdf {"source_kind":"workspace","enabled":false} 0`,
		`2 outcome of 1 policy.set pdf {"source_kind":"workspace","before":{},"after":{"enabled":false}} 41`,
		`3 intent of 0 environment.put  {"os":"linux","arch":"","bins":{"count":1,"digest":"` + digest + `"},"env":{"count":0},"config":{"count":0},"mcp":{"count":0}} 0`,
		`4 outcome of 3 environment.put  {"changed":true} 42`,
	}, "\n")
	if diff := cmp.Diff(log, h.audited(t)); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	entries, err := h.log.Newest("", 0, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if diff := cmp.Diff(actor, e.Actor); diff != "" {
			t.Errorf("actor of %d (-want +got):\n%s", e.Seq, diff)
		}
	}
}

func TestNothingIsDoneUnaudited(t *testing.T) {
	for name, mutation := range mutations {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, t.TempDir())
			h.unaudited = pannier.AuditIntent
			if err := mutation(h.Service); !errors.Is(err, pannier.ErrNotAudited) {
				t.Errorf("got %v", err)
			}
			_, found, err := h.Environment()
			if want := []string{"audit intent"}; !slices.Equal(h.happened, want) || len(h.Policies()) > 0 || found || err != nil {
				t.Errorf("happened %q, kept %v, %v, %v", h.happened, h.Policies(), found, err)
			}
			h.unaudited = ""
			if err := mutation(h.Service); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNothingIsAppliedUnkept(t *testing.T) {
	for name, mutation := range mutations {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, t.TempDir())
			h.unkept = errors.New("no room")
			if err := mutation(h.Service); !errors.Is(err, h.unkept) {
				t.Errorf("got %v", err)
			}
			if slices.Contains(h.happened, "apply") || len(h.happened) != 3 || len(h.Policies()) > 0 {
				t.Errorf("happened %q, kept %v", h.happened, h.Policies())
			}
			if log := h.audited(t); !strings.Contains(log, "\n2 outcome of 1 "+name) || !strings.HasSuffix(log, "no room") {
				t.Errorf("audit log:\n%s", log)
			}
		})
	}
}

func TestOutcomeThatIsNotAudited(t *testing.T) {
	for name, mutation := range mutations {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, t.TempDir())
			h.unaudited = pannier.AuditOutcome
			if err := mutation(h.Service); err != nil {
				t.Errorf("it is done, and yet: %v", err)
			}
			if !slices.Contains(h.happened, "apply") {
				t.Errorf("happened %q", h.happened)
			}
			if said := h.said.String(); !strings.Contains(said, "[ERROR]") || !strings.Contains(said, name) || !strings.Contains(said, "intent=1") {
				t.Errorf("logged %q", said)
			}
		})
	}
}

func TestKillBetweenIntentAndOutcome(t *testing.T) {
	for name := range mutations {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), killVariable+"="+name, dirVariable+"="+dir)
			if err := cmd.Run(); err == nil {
				t.Fatal("the process was not killed")
			}
			h := newFixture(t, dir)
			if log := h.audited(t); !strings.HasPrefix(log, "1 intent of 0 "+name) || strings.Contains(log, "\n") {
				t.Errorf("audit log:\n%s", log)
			}
			_, found, err := h.Environment()
			if kept := len(h.Policies()) == 1 || found; !kept || err != nil {
				t.Errorf("what was stored is lost: %v", err)
			}
			if err := mutations[name](h.Service); err != nil {
				t.Fatal(err)
			}
			if report, err := audit.Verify(filepath.Join(dir, "audit"), nil); err != nil || report.Entries != 3 {
				t.Errorf("verified %+v, %v", report, err)
			}
			if last := h.happened[len(h.happened)-1]; last != "audit outcome" {
				t.Errorf("what had been stored already is news: %q", last)
			}
		})
	}
}

func TestOneAtATime(t *testing.T) {
	h := newFixture(t, t.TempDir())
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for n := range 5 {
				key := pannier.PolicyKey{Slug: fmt.Sprint("skill-", c)}
				on := n%2 == 0
				p, s, err := h.SetPolicy(t.Context(), actor, key, pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: &on}})
				if err != nil || p.Effective.Enabled != on || s.Policies.Of(p.PolicyKey, nil).Effective.Enabled != on {
					t.Errorf("%+v, %v", p, err)
				}
				env, s, err := h.PutEnvironment(t.Context(), actor, pannier.Environment{OS: "linux", Arch: key.Slug})
				if err != nil || env.Arch != key.Slug || s.Environment.Arch != key.Slug {
					t.Errorf("%+v, %v", env, err)
				}
			}
		})
	}
	callers.Wait()
	entries, err := h.log.Newest("", 0, 1000)
	if err != nil || len(entries) != 160 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for pair := range slices.Chunk(entries, 2) {
		if pair[0].Phase != pannier.AuditOutcome || pair[0].Intent != pair[1].Seq {
			t.Errorf("%+v follows %+v", pair[0], pair[1])
		}
	}
}

// A request that is canceled while it waits changes nothing; one that is canceled later does.
func TestCallersThatGoAway(t *testing.T) {
	h := newFixture(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	inside := make(chan struct{})
	h.during = func() {
		close(inside)
		<-ctx.Done()
	}
	var first sync.WaitGroup
	first.Go(func() {
		if _, _, err := h.SetPolicy(ctx, actor, pdf, off); err != nil {
			t.Errorf("under way: %v", err)
		}
	})
	<-inside
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, _, err := h.PutEnvironment(ctx, actor, pannier.Environment{OS: "linux"}); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting: %v", err)
		}
	})
	cancel()
	first.Wait()
	waiting.Wait()
	if _, _, err := h.SetPolicy(ctx, actor, pdf, off); !errors.Is(err, context.Canceled) {
		t.Errorf("gone before: %v", err)
	}
	if log := h.audited(t); strings.Count(log, "\n") != 1 {
		t.Errorf("audit log:\n%s", log)
	}
}

// TestPanicIsAudited wants an outcome for each intent, and the panic to continue.
func TestPanicIsAudited(t *testing.T) {
	h := newFixture(t, t.TempDir(), func(o *admin.Options) {
		o.SetPolicies = func(map[pannier.PolicyKey]pannier.PolicyEntry) *pannier.Snapshot { panic("a defect") }
	})
	func() {
		defer func() {
			if cause := recover(); cause != "a defect" {
				t.Errorf("recovered %v", cause)
			}
		}()
		_ = mutations[pannier.ActionSetPolicy](h.Service)
	}()
	if log := h.audited(t); !strings.Contains(log, "2 outcome of 1 "+pannier.ActionSetPolicy) || !strings.Contains(log, "panic: a defect") {
		t.Errorf("audit log:\n%s", log)
	}
	if err := mutations[pannier.ActionPutEnvironment](h.Service); err != nil {
		t.Errorf("the next change: %v", err)
	}
}
