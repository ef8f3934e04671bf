package contents

import (
	"context"
	"fmt"
	"testing"

	"pannier"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestRestoredContents are those of each skill until its files are read, and of no skill that is removed.
func TestRestoredContents(t *testing.T) {
	w := fixture.NewWorkspace(t)
	describe := func(slug, line string) string {
		return fmt.Sprintf("mkdir -p skills/%[1]s; printf -- '---\\nname: %[1]s\\n---\\n\\n%[2]s\\n' > skills/%[1]s/SKILL.md\n", slug, line)
	}
	fixture.WriteIn(t, w, describe("a", "Is one.")+describe("b", "Is two."))
	var kept map[string]pannier.Contents
	start := func() *bench {
		return newBench(t, w, state.Memory(), func(o *Options) {
			o.Read = func(context.Context, *pannier.Skill) (pannier.Contents, error) { return pannier.Contents{}, nil } // the bench sets the loader's
			o.Restored, o.Keep = kept, func(found map[string]pannier.Contents) { kept = found }
		})
	}
	p := start()
	p.lookAt(t, "a")
	p.round(t)
	if e := p.lookAt(t, "b"); e.Description != "Is two." || len(kept) != 2 {
		t.Fatalf("described as %q, kept %v", e.Description, kept)
	}
	digest := p.o.Registry.Current().Digest

	p = start()
	for _, at := range []string{"before", "after"} {
		p.lookAt(t, "a")
		if got := p.o.Registry.Current(); got.Digest != digest || got.Version != 1 {
			t.Errorf("%s the files are read: version %d with digest %s, want 1 with %s", at, got.Version, got.Digest, digest)
		}
		p.round(t)
	}

	fixture.WriteIn(t, w, "rm -r skills/b\n"+describe("a", "Is another."))
	p = start()
	if e := p.lookAt(t, "a"); e.Description != "" {
		t.Errorf("another SKILL.md is described as %q", e.Description)
	}
	p.round(t)
	if e := p.lookAt(t, "a"); e.Description != "Is another." || len(kept) != 1 {
		t.Errorf("described as %q, kept %v", e.Description, kept)
	}
}
