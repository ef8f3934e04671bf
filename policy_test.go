package pannier_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pannier"
)

var yes, no = true, false

func TestPolicyLayers(t *testing.T) {
	set := func(enabled, implicit *bool) pannier.Switches {
		return pannier.Switches{Enabled: enabled, AllowImplicit: implicit}
	}
	for _, tt := range []struct {
		name               string
		gateway, workspace pannier.Switches
		rootImplicit       bool
		want               pannier.EffectivePolicy
	}{
		{"nobody says anything", set(nil, nil), set(nil, nil), false, pannier.EffectivePolicy{Enabled: true, Source: pannier.PolicyStart, ImplicitSource: pannier.PolicyStart}},
		{"the root allows implicit use", set(nil, nil), set(nil, nil), true, pannier.EffectivePolicy{Enabled: true, AllowImplicit: true, Source: pannier.PolicyStart, ImplicitSource: pannier.PolicyGateway}},
		{"the settings speak of the slug over its root", set(nil, &no), set(nil, nil), true, pannier.EffectivePolicy{Enabled: true, Source: pannier.PolicyStart, ImplicitSource: pannier.PolicyGateway}},
		{"the settings disable", set(&no, nil), set(nil, nil), true, pannier.EffectivePolicy{AllowImplicit: true, Source: pannier.PolicyGateway, ImplicitSource: pannier.PolicyGateway}},
		{"a client enables again", set(&no, nil), set(&yes, nil), true, pannier.EffectivePolicy{Enabled: true, AllowImplicit: true, Source: pannier.PolicyWorkspace, ImplicitSource: pannier.PolicyGateway}},
		{"each switch by itself", set(&no, &yes), set(nil, &no), false, pannier.EffectivePolicy{Source: pannier.PolicyGateway, ImplicitSource: pannier.PolicyWorkspace}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &pannier.Skill{Slug: "pdf", SourceKind: pannier.SourceWorkspace, Implicit: tt.rootImplicit}
			p := pannier.Policies{
				Gateway:   map[string]pannier.Switches{"pdf": tt.gateway},
				Workspace: map[pannier.PolicyKey]pannier.PolicyEntry{{Slug: "pdf", SourceKind: pannier.SourceWorkspace}: {Switches: tt.workspace}, {Slug: "pdf", SourceKind: pannier.SourceManaged}: {Switches: set(&no, &no)}},
			}
			if got := p.Layers(s).Effective(); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestPolicyChange(t *testing.T) {
	for _, tt := range []struct{ before, change, want string }{
		{`{}`, `{}`, `{}`},
		{`{"enabled":false}`, `{"allow_implicit_invocation":true}`, `{"enabled":false,"allow_implicit_invocation":true}`},
		{`{"enabled":false,"allow_implicit_invocation":true}`, `{"enabled":null}`, `{"allow_implicit_invocation":true}`},
		{`{"enabled":true}`, `{"enabled":false}`, `{"enabled":false}`},
	} {
		var before pannier.Switches
		var change pannier.PolicyChange
		for text, value := range map[string]any{tt.before: &before, tt.change: &change} {
			if err := json.Unmarshal([]byte(text), value); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := json.Marshal(change.Apply(before)); err != nil || string(got) != tt.want {
			t.Errorf("%s on %s: %s (%v), want %s", tt.change, tt.before, got, err, tt.want)
		}
		if back, err := json.Marshal(change); err != nil || string(back) != tt.change {
			t.Errorf("%s written again: %s (%v)", tt.change, back, err)
		}
	}
	var change pannier.PolicyChange
	if err := json.Unmarshal([]byte(`{"enabled":"no"}`), &change); err == nil {
		t.Error("a text is taken for a switch")
	}
}

// TestGrantsHoldForAPath checks every pair of an entry and a skill: a grant holds for the path that it was given for, a
// refusal for the slug and for the path.
func TestGrantsHoldForAPath(t *testing.T) {
	grant := pannier.PolicyEntry{Switches: pannier.Switches{Enabled: &yes, AllowImplicit: &yes}, Path: "skills/pdf"}
	refusal := pannier.PolicyEntry{Switches: pannier.Switches{Enabled: &no, AllowImplicit: &no}, Path: "skills/pdf"}
	at := func(slug string) pannier.PolicyKey {
		return pannier.PolicyKey{Slug: slug, SourceKind: pannier.SourceWorkspace}
	}
	const granted, refused, silent = "enabled implicit", "", "implicit by default"
	for _, tt := range []struct {
		name       string
		set        map[pannier.PolicyKey]pannier.PolicyEntry
		slug, path string
		want       string
	}{
		{"grant, its skill", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): grant}, "pdf", "skills/pdf", granted},
		{"grant, a stranger of the slug", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): grant}, "pdf", "skills/aaa", silent},
		{"grant, the path with another slug", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): grant}, "other", "skills/pdf", silent},
		{"refusal, its skill", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): refusal}, "pdf", "skills/pdf", refused},
		{"refusal, a stranger of the slug", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): refusal}, "pdf", "skills/aaa", refused},
		{"refusal, the path with another slug", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): refusal}, "other", "skills/pdf", refused},
		{"refusal, another skill", map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): refusal}, "other", "skills/other", silent},
		{
			"granted anew with its new slug",
			map[pannier.PolicyKey]pannier.PolicyEntry{at("pdf"): refusal, at("other"): grant},
			"other", "skills/pdf", granted,
		},
		{
			"refused by path, and a grant of the slug for another path",
			map[pannier.PolicyKey]pannier.PolicyEntry{at("aaa"): {Switches: refusal.Switches, Path: "skills/aaa"}, at("pdf"): grant},
			"pdf", "skills/aaa", refused,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			off := false // the settings switch every skill off, so that enabled is a grant
			p := pannier.Policies{Gateway: map[string]pannier.Switches{tt.slug: {Enabled: &off}}, Workspace: tt.set}.Indexed()
			e := p.Layers(&pannier.Skill{Slug: tt.slug, Path: tt.path, SourceKind: pannier.SourceWorkspace, Implicit: true}).Effective()
			got := silent
			switch {
			case e.Enabled && e.AllowImplicit && e.Source == pannier.PolicyWorkspace:
				got = granted
			case !e.Enabled && !e.AllowImplicit && e.Source == pannier.PolicyWorkspace && e.ImplicitSource == pannier.PolicyWorkspace:
				got = refused
			}
			if got != tt.want {
				t.Errorf("got %q, want %q: %+v", got, tt.want, e)
			}
		})
	}
}

// TestEntryMovesToAnotherPath checks what a change keeps of an entry that was made for another skill.
func TestEntryMovesToAnotherPath(t *testing.T) {
	for _, tt := range []struct{ before, change, path, want string }{
		{`{}`, `{"enabled":true}`, "b", `{"enabled":true,"path":"b"}`},
		{`{"enabled":true,"path":"a"}`, `{"allow_implicit_invocation":true}`, "b", `{"allow_implicit_invocation":true,"path":"b"}`},
		{`{"enabled":true,"path":"a"}`, `{"enabled":true}`, "b", `{"enabled":true,"path":"b"}`},
		{`{"enabled":false,"path":"a"}`, `{"allow_implicit_invocation":true}`, "b", `{"enabled":false,"allow_implicit_invocation":true,"path":"b"}`},
		{`{"enabled":true,"path":"a"}`, `{}`, "b", `{}`},
		{`{"enabled":false,"path":"a"}`, `{"enabled":null}`, "a", `{}`},
	} {
		var before pannier.PolicyEntry
		var change pannier.PolicyChange
		if err := json.Unmarshal([]byte(tt.before), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.change), &change); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(before.Change(change, tt.path)); err != nil || string(got) != tt.want {
			t.Errorf("%s on %s: %s (%v), want %s", tt.change, tt.before, got, err, tt.want)
		}
	}
}

// TestEverySwitch checks that no function on switches leaves one out.
func TestEverySwitch(t *testing.T) {
	at := func(slug string) pannier.PolicyKey {
		return pannier.PolicyKey{Slug: slug, SourceKind: pannier.SourceWorkspace}
	}
	kind := reflect.TypeFor[pannier.Switches]()
	only := func(i int, on bool) (s pannier.Switches) {
		reflect.ValueOf(&s).Elem().Field(i).Set(reflect.ValueOf(&on))
		return s
	}
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		t.Run(name, func(t *testing.T) {
			for _, on := range []bool{true, false} {
				s := only(i, on)
				if s.IsZero() || s.Equal(pannier.Switches{}) || s.Equal(only(i, !on)) || !s.Equal(only(i, on)) {
					t.Errorf("%t: IsZero or Equal leaves it out", on)
				}
				var set, remove pannier.PolicyChange
				err := json.Unmarshal(fmt.Appendf(nil, `{%q:%t}`, name, on), &set)
				if err = errors.Join(err, json.Unmarshal(fmt.Appendf(nil, `{%q:null}`, name), &remove)); err != nil {
					t.Fatal(err)
				}
				if got := set.Apply(pannier.Switches{}); !got.Equal(s) || !set.Apply(only(i, !on)).Equal(s) || !remove.Apply(s).IsZero() {
					t.Errorf("%t: Apply gives %+v", on, got)
				}
				e := pannier.PolicyEntry{Switches: s, Path: "a"}
				moved := e.Change(pannier.PolicyChange{}, "b")
				if e.Grants() != on || moved.IsZero() != on || !on && !moved.Switches.Equal(s) {
					t.Errorf("%t: grants: %t, at another path %+v", on, e.Grants(), moved)
				}
			}
			effective := func(gateway, workspace pannier.Switches) pannier.EffectivePolicy {
				return pannier.PolicyLayers{Start: pannier.StartSwitches(), Gateway: gateway, Workspace: workspace}.Effective()
			}
			on, off := only(i, true), only(i, false)
			if effective(on, pannier.Switches{}) == effective(off, pannier.Switches{}) || effective(pannier.Switches{}, on) == effective(pannier.Switches{}, off) {
				t.Error("Effective leaves it out")
			}
			for j := range kind.NumField() {
				another := only(j, false)
				p := pannier.Policies{Workspace: map[pannier.PolicyKey]pannier.PolicyEntry{
					at("a"): {Switches: off, Path: "a"}, at("b"): {Switches: another, Path: "a"},
				}}.Indexed()
				said := p.Layers(&pannier.Skill{Slug: "c", SourceKind: pannier.SourceWorkspace, Path: "a"}).Workspace
				value := reflect.ValueOf(said)
				if value.Field(i).IsNil() || value.Field(j).IsNil() {
					t.Errorf("the refusals of one path are %+v", said)
				}
			}
		})
	}
}
