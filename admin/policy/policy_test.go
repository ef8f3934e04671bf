package policy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/admin/policy"
	"pannier/internal/state"
)

var pdf = pannier.PolicyKey{Slug: "pdf", SourceKind: pannier.SourceWorkspace}

func open(t *testing.T, rows policy.Rows) *policy.Store {
	t.Helper()
	s, err := policy.Open(rows)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// change returns a change as a client writes it.
func change(t *testing.T, text string) (c pannier.PolicyChange) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func set(t *testing.T, s *policy.Store, key pannier.PolicyKey, text string) {
	t.Helper()
	if _, _, err := s.Set(key, "skills/pdf", change(t, text)); err != nil {
		t.Fatal(err)
	}
}

// said returns what a store says, as text.
func said(s *policy.Store) map[string]string {
	rows := map[string]string{}
	for key, switches := range s.All() {
		text, _ := json.Marshal(switches)
		rows[string(key.SourceKind)+" "+key.Slug] = string(text)
	}
	return rows
}

func TestSet(t *testing.T) {
	rows := state.Memory()
	s := open(t, rows)
	managed := pannier.PolicyKey{Slug: "pdf", SourceKind: pannier.SourceManaged}
	for _, step := range []struct {
		key    pannier.PolicyKey
		change string
		want   map[string]string
	}{
		{pdf, `{}`, map[string]string{}},
		{pdf, `{"enabled":null}`, map[string]string{}},
		{pdf, `{"enabled":false}`, map[string]string{"workspace pdf": `{"enabled":false,"path":"skills/pdf"}`}},
		{pdf, `{"allow_implicit_invocation":true}`, map[string]string{"workspace pdf": `{"enabled":false,"allow_implicit_invocation":true,"path":"skills/pdf"}`}},
		{managed, `{"enabled":true}`, map[string]string{"workspace pdf": `{"enabled":false,"allow_implicit_invocation":true,"path":"skills/pdf"}`, "managed pdf": `{"enabled":true,"path":"skills/pdf"}`}},
		{pdf, `{"enabled":null}`, map[string]string{"workspace pdf": `{"allow_implicit_invocation":true,"path":"skills/pdf"}`, "managed pdf": `{"enabled":true,"path":"skills/pdf"}`}},
		{pdf, `{"enabled":null,"allow_implicit_invocation":null}`, map[string]string{"managed pdf": `{"enabled":true,"path":"skills/pdf"}`}},
		{managed, `{"enabled":null}`, map[string]string{}},
	} {
		held := s.All()
		copied := maps.Clone(held)
		set(t, s, step.key, step.change)
		if diff := cmp.Diff(step.want, said(s)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.change, diff)
		}
		if diff := cmp.Diff(said(s), said(open(t, rows))); diff != "" {
			t.Errorf("opened again after %s (-want +got):\n%s", step.change, diff)
		}
		if !cmp.Equal(held, copied) {
			t.Errorf("%s changed a map that was handed out", step.change)
		}
	}
}

func TestBeforeAndAfter(t *testing.T) {
	s := open(t, state.Memory())
	c := change(t, `{"enabled":false}`)
	before, after, err := s.Set(pdf, "skills/pdf", c)
	if err != nil || !before.IsZero() || *after.Enabled {
		t.Errorf("%+v, %+v, %v", before, after, err)
	}
	*c.Enabled.To = true // the caller's own
	before, after, err = s.Set(pdf, "skills/pdf", change(t, `{"enabled":false}`))
	if err != nil || *before.Enabled || !before.Equal(after) {
		t.Errorf("%+v, %+v, %v", before, after, err)
	}
}

// failing is a state store that refuses to write while it is told to.
type failing struct {
	*state.Store
	err error
}

func (f *failing) Put(bucket, key string, value any) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.Put(bucket, key, value)
}

func (f *failing) Delete(bucket, key string) error {
	if f.err != nil {
		return f.err
	}
	return f.Store.Delete(bucket, key)
}

func TestFailure(t *testing.T) {
	rows := &failing{Store: state.Memory()}
	s := open(t, rows)
	set(t, s, pdf, `{"enabled":false}`)
	want := said(s)
	rows.err = errors.New("disk full")
	for _, text := range []string{`{"enabled":true}`, `{"enabled":null}`} {
		before, after, err := s.Set(pdf, "skills/pdf", change(t, text))
		if !errors.Is(err, rows.err) || !before.Equal(after) {
			t.Errorf("%s: %+v, %+v, %v", text, before, after, err)
		}
	}
	if diff := cmp.Diff(want, said(s)) + cmp.Diff(want, said(open(t, rows))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	set(t, s, pdf, `{"enabled":false}`) // changes nothing, so needs no disk
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Open(rows); !errors.Is(err, state.ErrClosed) {
		t.Errorf("a store that can not be read: %v", err)
	}
}

func TestRowsThatMakeNoSense(t *testing.T) {
	for name, value := range map[string]any{"workspace/pdf": "text", "workspace": map[string]bool{}, "managed/a": map[string]int{"enabled": 1}} {
		rows := state.Memory()
		if err := rows.Put("policy", name, value); err != nil {
			t.Fatal(err)
		}
		if _, err := policy.Open(rows); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFull(t *testing.T) {
	rows := state.Memory()
	for n := range policy.MaxRows {
		if err := rows.Put("policy", fmt.Sprint("workspace/skill-", n), pannier.StartSwitches()); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, rows)
	if _, _, err := s.Set(pdf, "skills/pdf", change(t, `{"enabled":false}`)); !errors.Is(err, policy.ErrFull) {
		t.Errorf("got %v", err)
	}
	set(t, s, pannier.PolicyKey{Slug: "skill-7", SourceKind: pannier.SourceWorkspace}, `{"enabled":null,"allow_implicit_invocation":null}`)
	set(t, s, pdf, `{"enabled":false}`)
}

func TestManyCallers(t *testing.T) {
	rows := state.Memory()
	s := open(t, rows)
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			for n := range 50 {
				key := pannier.PolicyKey{Slug: fmt.Sprint("s", n%10), SourceKind: pannier.SourceWorkspace}
				on := c%2 == 0
				_, after, err := s.Set(key, "skills/pdf", pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: &on}})
				if err != nil || *after.Enabled != on || len(s.All()) == 0 {
					t.Errorf("%+v, %v", after, err)
				}
			}
		})
	}
	callers.Wait()
	if diff := cmp.Diff(said(s), said(open(t, rows))); diff != "" || len(s.All()) != 10 {
		t.Errorf("kept %d (-live +kept):\n%s", len(s.All()), diff)
	}
}
