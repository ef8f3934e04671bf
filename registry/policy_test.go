package registry_test

import (
	"reflect"
	"testing"

	"pannier"
	"pannier/registry"
)

// TestPolicy judges a skill under both layers. What the workspace layer says of another kind of root does not count.
func TestPolicy(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name      string
		path      string
		gateway   pannier.Switches
		workspace pannier.Switches
		state     pannier.State
		automatic bool
		reasons   string
	}{
		{name: "as shipped, in the workspace", path: "skills/pdf", state: pannier.StateEligible, automatic: true},
		{name: "as shipped, uploaded", path: "managed/pdf", state: pannier.StateEligible},
		{name: "implicit use allowed", path: "managed/pdf", workspace: pannier.Switches{AllowImplicit: &yes}, state: pannier.StateEligible, automatic: true},
		{name: "disabled by the settings", path: "skills/pdf", gateway: pannier.Switches{Enabled: &no}, state: pannier.StateDisabled, reasons: "disabled gateway policy"},
		{name: "disabled by a client", path: "skills/pdf", gateway: pannier.Switches{Enabled: &yes}, workspace: pannier.Switches{Enabled: &no}, state: pannier.StateDisabled, reasons: "disabled workspace policy"},
		{name: "enabled again", path: "skills/pdf", gateway: pannier.Switches{Enabled: &no}, workspace: pannier.Switches{Enabled: &yes}, state: pannier.StateEligible, automatic: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			skill := skillAt(tt.path)
			in := of(pannier.Workspace{}, skill)
			in.Policies = pannier.Policies{
				Gateway: map[string]pannier.Switches{"pdf": tt.gateway},
				Workspace: map[pannier.PolicyKey]pannier.PolicyEntry{
					{Slug: "pdf", SourceKind: skill.SourceKind}:      {Switches: tt.workspace, Path: tt.path},
					{Slug: "pdf", SourceKind: pannier.SourceBundled}: {Switches: pannier.Switches{Enabled: &no}}, // another skill's
				},
			}
			reasons, _, state := assessOne(t, in)
			if state != tt.state || reasons != tt.reasons {
				t.Errorf("%s because of %q, want %s because of %q", state, reasons, tt.state, tt.reasons)
			}
			s := build(t, in)
			if got := s.Entries[0].Automatic(); got != tt.automatic {
				t.Errorf("automatic: %t", got)
			}
		})
	}
}

func TestDisabledComesBeforeIneligible(t *testing.T) {
	no := false
	in := of(pannier.Workspace{}, skillAt("skills/pdf", broken))
	in.Policies.Gateway = map[string]pannier.Switches{"pdf": {Enabled: &no}}
	if reasons, _, state := assessOne(t, in); state != pannier.StateDisabled || reasons != "disabled gateway policy, invalid skill.frontmatter.missing" {
		t.Errorf("%s because of %s", state, reasons)
	}
	in.Workspace = listing("other")
	if _, _, state := assessOne(t, in); state != pannier.StateUnlisted {
		t.Errorf("a skill that is not listed is %s", state)
	}
}

func TestTransitions(t *testing.T) {
	no := false
	in := of(pannier.Workspace{}, skillAt("skills/a"), skillAt("skills/b"), skillAt("skills/same"), skillAt("managed/same"))
	before := build(t, in)
	in.Catalog.Skills = []*pannier.Skill{skillAt("skills/b"), skillAt("skills/c", broken), skillAt("managed/same")}
	in.Policies.Workspace = map[pannier.PolicyKey]pannier.PolicyEntry{{Slug: "b", SourceKind: pannier.SourceWorkspace}: {Switches: pannier.Switches{Enabled: &no}}}
	after := build(t, in)
	const kind = pannier.SourceWorkspace
	want := []pannier.SkillStateChanged{
		{Slug: "a", SourceKind: kind, Path: "skills/a", From: pannier.StateEligible, Cause: "it is gone"},
		{Slug: "b", SourceKind: kind, Path: "skills/b", From: pannier.StateEligible, To: pannier.StateDisabled, Cause: "disabled: workspace policy"},
		{Slug: "c", SourceKind: kind, Path: "skills/c", To: pannier.StateIneligible, Cause: "invalid: skill.frontmatter.missing"},
		{Slug: "same", SourceKind: pannier.SourceManaged, Path: "managed/same", From: pannier.StateShadowed, To: pannier.StateEligible, Cause: "nothing stands against it"},
		{Slug: "same", SourceKind: kind, Path: "skills/same", From: pannier.StateEligible, Cause: "it is gone"},
	}
	got := registry.Transitions(before, after)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got  %+v\nwant %+v", got[i], want[i])
		}
	}
	if again := registry.Transitions(after, after); len(again) != 0 {
		t.Errorf("nothing changed, and %+v", again)
	}
	if first := registry.Transitions(nil, after); len(first) != 0 {
		t.Errorf("the first snapshot has no change of state, and %+v", first)
	}
}

// TestDigestCoversEverySwitch checks each switch where clients set it, and where the settings do.
func TestDigestCoversEverySwitch(t *testing.T) {
	for i := range reflect.TypeFor[pannier.Switches]().NumField() {
		only := func(on bool) (s pannier.Switches) {
			reflect.ValueOf(&s).Elem().Field(i).Set(reflect.ValueOf(&on))
			return s
		}
		digest := func(gateway, workspace pannier.Switches) pannier.Digest {
			in := of(pannier.Workspace{}, skillAt("skills/pdf"))
			key := pannier.PolicyKey{Slug: "gone", SourceKind: pannier.SourceWorkspace} // no entry shows it
			in.Policies.Gateway = map[string]pannier.Switches{"pdf": gateway}
			in.Policies.Workspace = map[pannier.PolicyKey]pannier.PolicyEntry{key: {Switches: workspace, Path: "skills/gone"}}
			return build(t, in).Digest
		}
		var none pannier.Switches
		name := reflect.TypeFor[pannier.Switches]().Field(i).Name
		if digest(only(true), none) == digest(only(false), none) {
			t.Errorf("the digest of an entry leaves %s out", name)
		}
		if on, off := digest(none, only(true)), digest(none, only(false)); on == off || on == digest(none, none) {
			t.Errorf("the digest of the policies leaves %s out", name)
		}
	}
}
