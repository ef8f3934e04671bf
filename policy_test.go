package pannier_test

import (
	"encoding/json"
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
				Workspace: map[pannier.PolicyKey]pannier.Switches{{Slug: "pdf", SourceKind: pannier.SourceWorkspace}: tt.workspace, {Slug: "pdf", SourceKind: pannier.SourceManaged}: set(&no, &no)},
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
