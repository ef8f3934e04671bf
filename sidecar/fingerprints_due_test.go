package sidecar

import (
	"path/filepath"
	"slices"
	"testing"

	"pannier"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestNewsLosesNoHint: skills in hints are read though there is news while they are, and none of them keeps others from their turn.
func TestNewsLosesNoHint(t *testing.T) {
	w := fixture.NewWorkspace(t)
	var dirs []string
	for _, name := range []string{"a", "b", "c"} {
		fixture.WriteIn(t, w, fixture.SkillScript(name, "Is one."))
		dirs = append(dirs, filepath.Join(w, "skills", name))
	}
	p := newEngineWithFingerprints(t, w, state.Memory())
	was := p.lookAt(t, "b").Skill
	p.round(t)
	before := p.of(was)
	fixture.WriteIn(t, w, "echo x > skills/b/x")
	p.hints.add(dirs)
	p.request()
	p.computeDue(t.Context(), nil)
	p.computeDue(t.Context(), nil)
	if now := p.of(was); now == before {
		t.Error("the hint was lost")
	}
	p.hints.addAll()
	for range 3 { // one skill changes all the time
		p.hints.add(dirs[:1])
		p.request()
		p.computeDue(t.Context(), nil)
	}
	for path, d := range p.directories {
		if d.ticket < p.fingerprints.round {
			t.Errorf("%s had no turn", path)
		}
	}
}

// TestShadowedSkillIsReadAgain: what was computed of a skill while it was shadowed does not count once it is not.
func TestShadowedSkillIsReadAgain(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it.")+"mkdir -p skills/a; cp -r skills/pdf skills/a/pdf")
	p := newEngineWithFingerprints(t, w, state.Memory())
	s := p.lookAt(t, "pdf")
	p.round(t)
	at := slices.IndexFunc(p.engine.registry.Current().Entries, func(e *pannier.Entry) bool { return e.Path != s.Path })
	shadowed := p.engine.registry.Current().Entries[at].Skill
	before, err := p.now(t.Context(), shadowed)
	if err != nil {
		t.Fatal(err)
	}
	p.computeDue(t.Context(), nil)
	fixture.WriteIn(t, w, "echo x > skills/a/pdf/x; rm -r skills/pdf")
	if _, _, err := p.reload(t.Context(), pannier.Batch{Full: true}); err != nil {
		t.Fatal(err)
	}
	p.computeDue(t.Context(), nil)
	if now := p.of(shadowed); now.IsZero() || now == before {
		t.Errorf("the fingerprint is %s, before it was %s", now, before)
	}
}

// TestRootsReplaced replaces a root by one in which all SKILL.md are the same.
func TestRootsReplaced(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it."))
	p := newEngineWithFingerprints(t, w, state.Memory())
	for _, tt := range []struct {
		script string
		want   bool
	}{
		{"true", false},
		{"mkdir skills/other", false},
		{"cp -a skills new; mv skills old; mv new skills", true},
		{"true", false},
		{"mv skills new; ln -s old skills", true},
	} {
		fixture.WriteIn(t, w, tt.script)
		if got := p.rootsReplaced(); got != tt.want {
			t.Errorf("%s: %t", tt.script, got)
		}
	}
}
