package registry_test

import (
	"testing"

	"pannier"
	"pannier/registry"
)

// TestContents shows what was found in the files of a skill, where the skill does not say it itself.
func TestContents(t *testing.T) {
	own := skillAt("skills/a")
	silent := skillAt("skills/b", func(s *pannier.Skill) { s.Description = "" })
	in := of(pannier.Workspace{}, own, silent)
	before := build(t, in)
	tools := []pannier.Tool{{Name: "add", Kind: pannier.RuntimePython, Path: "tools/t.py"}}
	found := map[string]*pannier.Contents{}
	for _, path := range []string{"skills/a", "skills/b", "skills/gone"} {
		found[path] = &pannier.Contents{Description: "found", Tools: tools, Digest: pannier.DigestOf([]byte("x"))}
	}
	in.Judges = known{found: found}.judges()
	after := build(t, in)
	for slug, want := range map[string]string{"a": "what it does", "b": "found"} {
		e, ok := after.Lookup(slug)
		if !ok || e.Description != want || len(e.FileTools) != 1 {
			t.Errorf("%s: %+v", slug, e)
		}
	}
	if silent.Description != "" {
		t.Error("the skill of the catalog was changed")
	}
	if d := registry.Diff(before, after, pannier.DiscoveryRules{}); before.Digest == after.Digest || len(d.Changed) != 2 {
		t.Errorf("digest %s after %s, changed %v", after.Digest, before.Digest, d.Changed)
	}
	if again := build(t, in); again.Digest != after.Digest {
		t.Errorf("digest %s after %s", again.Digest, after.Digest)
	}
}
