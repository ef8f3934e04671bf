package sidecar

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"pannier"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestContentsStore keeps what was found in skills at paths of any bytes, within its bound.
func TestContentsStore(t *testing.T) {
	rows := &store{Store: state.Memory(), log: hclog.NewNullLogger()}
	c := newContentsStore(rows, hclog.NewNullLogger())
	if got := c.read(); len(got) > 0 {
		t.Errorf("an empty store has %v", got)
	}
	one := pannier.Contents{Description: "d", Tools: []pannier.Tool{{Name: "t", Kind: pannier.RuntimePython}}, Digest: pannier.Digest{1}, Of: pannier.Digest{2}}
	c.writer.Put(map[string]pannier.Contents{"skills/\xff": one})
	if err := c.writer.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := newContentsStore(rows, hclog.NewNullLogger()).read()["skills/\xff"]
	if got.Description != "d" || len(got.Tools) != 1 || got.Tools[0].Name != "t" || got.Digest != one.Digest || got.Of != one.Of {
		t.Errorf("read %+v", got)
	}

	many, large := map[string]pannier.Contents{}, pannier.Contents{Description: strings.Repeat("x", 1<<20), Digest: pannier.Digest{1}}
	for i := range 20 {
		many[fmt.Sprintf("skills/s%02d", i)] = large
	}
	c.write(many)
	if got := c.read(); len(got) != 7 || got["skills/s00"].Digest.IsZero() {
		t.Errorf("%d of 20 skills are kept, want 7 of 1 MiB each", len(got))
	}
	if err := rows.Put(bucketSnapshot, keyContents, "damaged"); err != nil {
		t.Fatal(err)
	}
	if got := c.read(); len(got) > 0 {
		t.Errorf("a damaged row gives %v", got)
	}
}

// TestRestoredContents are those of each skill until its files are read, and of no skill that is removed.
func TestRestoredContents(t *testing.T) {
	w := fixture.NewWorkspace(t)
	describe := func(slug, line string) string {
		return fmt.Sprintf("mkdir -p skills/%[1]s; printf -- '---\\nname: %[1]s\\n---\\n\\n%[2]s\\n' > skills/%[1]s/SKILL.md\n", slug, line)
	}
	fixture.WriteIn(t, w, describe("a", "Is one.")+describe("b", "Is two."))
	var kept map[string]pannier.Contents
	start := func() *engineWithFingerprints {
		p := newEngineWithFingerprints(t, w, state.Memory())
		p.contents, p.keepContents = p.loader.Contents, func(found map[string]pannier.Contents) { kept = found }
		p.restore(maps.Clone(kept))
		return p
	}
	p := start()
	p.lookAt(t, "a")
	p.round(t)
	if e := p.lookAt(t, "b"); e.Description != "Is two." || len(kept) != 2 {
		t.Fatalf("described as %q, kept %v", e.Description, kept)
	}
	digest := p.engine.registry.Current().Digest

	p = start()
	for _, at := range []string{"before", "after"} {
		p.lookAt(t, "a")
		if got := p.engine.registry.Current(); got.Digest != digest || got.Version != 1 {
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
