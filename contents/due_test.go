package contents

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
	p := newBench(t, w, state.Memory())
	was := p.lookAt(t, "b").Skill
	p.round(t)
	before := p.Fingerprint(was)
	fixture.WriteIn(t, w, "echo x > skills/b/x")
	p.Hint(dirs)
	p.Request()
	p.readDue(t.Context(), nil)
	p.readDue(t.Context(), nil)
	if now := p.Fingerprint(was); now == before {
		t.Error("the hint was lost")
	}
	p.HintAll()
	for range 3 { // one skill changes all the time
		p.Hint(dirs[:1])
		p.Request()
		p.readDue(t.Context(), nil)
	}
	for path, d := range p.known() {
		if d.ticket < p.reads.round {
			t.Errorf("%s had no turn", path)
		}
	}
}

// TestShadowedSkillIsReadAgain: what was computed of a skill while it was shadowed does not count once it is not.
func TestShadowedSkillIsReadAgain(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it.")+"mkdir -p skills/a; cp -r skills/pdf skills/a/pdf")
	p := newBench(t, w, state.Memory())
	s := p.lookAt(t, "pdf")
	p.round(t)
	at := slices.IndexFunc(p.o.Registry.Current().Entries, func(e *pannier.Entry) bool { return e.Path != s.Path })
	shadowed := p.o.Registry.Current().Entries[at].Skill
	before, err := p.Compute(t.Context(), shadowed)
	if err != nil {
		t.Fatal(err)
	}
	p.readDue(t.Context(), nil)
	fixture.WriteIn(t, w, "echo x > skills/a/pdf/x; rm -r skills/pdf")
	p.load(t)
	p.readDue(t.Context(), nil)
	if now := p.Fingerprint(shadowed); now.IsZero() || now == before {
		t.Errorf("the fingerprint is %s, before it was %s", now, before)
	}
}

// TestRootsReplaced replaces a root by one in which all SKILL.md are the same.
func TestRootsReplaced(t *testing.T) {
	w := fixture.NewWorkspace(t)
	fixture.WriteIn(t, w, fixture.SkillScript("pdf", "Reads it."))
	p := newBench(t, w, state.Memory())
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
