package registry_test

import (
	"testing"

	"pannier"
	"pannier/registry"
)

// What is known before the first look counts in the first snapshot, and makes none by itself.
func TestPrepare(t *testing.T) {
	off := false
	r := registry.New(registry.Options{})
	r.Prepare(func(in *registry.Inputs) {
		in.Policies.Workspace = map[pannier.PolicyKey]pannier.PolicyEntry{{Slug: "a", SourceKind: pannier.SourceWorkspace}: {Switches: pannier.Switches{Enabled: &off}}}
	})
	if s := r.Current(); s != nil {
		t.Fatalf("there is a snapshot: %+v", s)
	}
	s := r.Update(func(in *registry.Inputs) { in.Catalog.Skills = skillsAt("skills/a") })
	if state := s.Entries[0].State; state != pannier.StateDisabled {
		t.Errorf("it is %s", state)
	}
}
