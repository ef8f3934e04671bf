package contents

import (
	"testing"

	"pannier"
	"pannier/internal/state"
	"pannier/internal/testbench/fixture"
)

// TestWhatIsHeldBlocks: a verdict without a fingerprint blocks the skill that it was found in, over restarts, and no other.
func TestWhatIsHeldBlocks(t *testing.T) {
	w, store := fixture.NewWorkspace(t), state.Memory()
	big := "truncate -s 3G skills/tool/model.bin;"
	fixture.WriteIn(t, w, fixture.SkillScript("tool", "Has a program.")+fixture.SkillScript("other", "Has none.")+big)
	p := newBench(t, w, store)
	e := p.lookAt(t, "tool")
	v := pannier.ScanVerdict{Decision: pannier.ScanBlock, Findings: []pannier.Finding{{Rule: "scan.test", Blocking: true}}}
	if err := p.o.Verdicts.Hold(e.Skill, v); err != nil {
		t.Fatal(err)
	}
	if s := p.Apply(e.Skill, pannier.Digest{}); s == nil || p.lookAt(t, "tool").State != pannier.StateIneligible {
		t.Error("it does not block")
	}
	if got, found, err := p.Verdict(e.Skill); err != nil || !found || got.Blocking()[0] != "scan.test" {
		t.Errorf("found %+v, %t, %v", got, found, err)
	}
	for _, restart := range []bool{false, true} {
		for _, tt := range []struct {
			name, script string
			want         pannier.State
		}{
			{"the same", "", pannier.StateIneligible},
			{"a fingerprint alone clears nothing", "rm skills/tool/model.bin", pannier.StateIneligible},
			{"another SKILL.md", fixture.SkillScript("tool", "Is another one."), pannier.StateEligible},
			{"the one that was scanned", fixture.SkillScript("tool", "Has a program.") + big, pannier.StateIneligible},
			{"another _meta.json", `printf '{"version": "2"}' > skills/tool/_meta.json`, pannier.StateEligible},
			{"none again", "rm skills/tool/_meta.json", pannier.StateIneligible},
		} {
			fixture.WriteIn(t, w, tt.script)
			if restart {
				p = newBench(t, w, store)
			}
			first := p.lookAt(t, "tool").State
			p.round(t)
			if got := p.lookAt(t, "tool"); got.State != tt.want || p.lookAt(t, "other").State != pannier.StateEligible || tt.script == "" && first != tt.want {
				t.Errorf("%s, restart %t: %s at first, then %s, want %s", tt.name, restart, first, got.State, tt.want)
			}
		}
	}

	// A workspace that is gone for a while takes nothing away, a skill that is gone does.
	look := func() {
		t.Helper()
		p.load(t)
		p.round(t)
	}
	for _, tt := range []struct {
		away, back string
		want       pannier.State
	}{
		{"mv skills away", "mv away skills", pannier.StateIneligible},
		{"mv skills/tool away", "mv away skills/tool", pannier.StateEligible},
	} {
		fixture.WriteIn(t, w, tt.away)
		look()
		fixture.WriteIn(t, w, tt.back)
		look()
		if got := p.lookAt(t, "tool"); got.State != tt.want {
			t.Errorf("%s: it is %s, want %s", tt.away, got.State, tt.want)
		}
	}
}

// TestFoundOfAnotherText: what an earlier process found with another SKILL.md does not count, what this one found does for a while.
func TestFoundOfAnotherText(t *testing.T) {
	s := &pannier.Skill{Path: "skills/a", Digest: pannier.Digest{1}}
	for _, tt := range []struct {
		of       pannier.Digest
		restored bool
		want     bool
	}{{s.Digest, true, true}, {pannier.Digest{2}, true, false}, {s.Digest, false, true}, {pannier.Digest{2}, false, true}} {
		c := &Content{found: found{&pannier.Contents{Description: "found", Digest: pannier.Digest{3}, Of: tt.of}, tt.restored}}
		known := (&table{}).with(map[string]*Content{s.Path: c}).judge(false).Of(s)
		if got := known.Found != nil; got != tt.want {
			t.Errorf("%+v: it counts: %t", tt, got)
		}
	}
}
