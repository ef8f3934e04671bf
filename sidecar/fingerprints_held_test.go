package sidecar

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
	p := newEngineWithFingerprints(t, w, store)
	e := p.lookAt(t, "tool")
	v := pannier.ScanVerdict{Decision: pannier.ScanBlock, Findings: []pannier.Finding{{Rule: "scan.test", Blocking: true}}}
	if err := p.verdicts.Hold(e.Skill, v); err != nil {
		t.Fatal(err)
	}
	if s := p.apply(e.Skill, pannier.Digest{}); s == nil || p.lookAt(t, "tool").State != pannier.StateIneligible {
		t.Error("it does not block")
	}
	if got, found, err := p.verdictOf(e.Skill); err != nil || !found || got.Blocking()[0] != "scan.test" {
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
				p = newEngineWithFingerprints(t, w, store)
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
		if _, _, err := p.reload(t.Context(), pannier.Batch{Full: true}); err != nil {
			t.Fatal(err)
		}
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
