package registry_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pannier"
	"pannier/registry"
)

// changedMore changes also what is found apart from a scan of the workspace.
func (d draw) changedMore(in registry.Inputs) registry.Inputs {
	switch d.IntN(16) {
	case 0:
		in.Judges = nil
	case 1:
		in.Judges = known{reasons: map[string][]pannier.Reason{d.one(places...): reasons(d.some("security_blocked a", "security_blocked b", "of.a.module")...)}}.judges()
	case 2:
		in.Judges = known{all: reasons("security_pending")}.judges()
	case 3:
		found := &pannier.Contents{Description: "found", Digest: pannier.DigestOf([]byte(d.one("x", "y")))}
		in.Judges = known{found: map[string]*pannier.Contents{d.one(places...): found}}.judges()
	case 4:
		in.Judges = slices.Concat(in.Judges, known{all: reasons("state_lost")}.judges())
	case 5:
		in.Judges = known{problem: d.one("a", "b")}.judges()
	case 6:
		in.Config = d.some("a.b", "tools.key")
	case 7:
		in.MinimumTrust = pannier.Trust(d.one("", string(pannier.TrustCommunity), string(pannier.TrustInternal)))
	default:
		return d.changed(in)
	}
	return in
}

// TestSharedEntriesAreThoseOfANewRegistry holds the snapshots of one registry, whose entries are shared, against those of a registry
// that judges everything.
func TestSharedEntriesAreThoseOfANewRegistry(t *testing.T) {
	d := draw{rand.New(rand.NewPCG(5, 6))}
	shared := 0
	for range 200 {
		in := d.inputs()
		reg := registry.New(registry.Options{})
		for range 30 {
			before := reg.Current()
			got := reg.Update(func(to *registry.Inputs) { *to = in })
			if want := build(t, in); got.Digest != want.Digest || show(t, got) != show(t, want) {
				t.Fatalf("got\n%s\nwant\n%s", show(t, got), show(t, want))
			}
			if before != nil && before != got {
				for _, e := range got.Entries {
					if slices.Contains(before.Entries, e) {
						shared++
					}
				}
			}
			in = d.changedMore(in)
		}
	}
	if shared < 1000 {
		t.Errorf("only %d entries were shared", shared)
	}
}

// TestOneChangeJudgesOneSkill counts what a change among 1,000 skills judges anew.
func TestOneChangeJudgesOneSkill(t *testing.T) {
	skills, _ := many(1000, false)
	in := of(pannier.Workspace{}, skills...)
	reg := registry.New(registry.Options{Inputs: in})
	before := reg.Update(put(1, skills...))
	next := slices.Clone(skills)
	one := *skills[500]
	one.Description = "It is another."
	next[500] = seal(&one)
	after := reg.Update(put(2, next...))
	renewed := 0
	for _, e := range after.Entries {
		if !slices.Contains(before.Entries, e) {
			renewed++
		}
	}
	if renewed != 1 {
		t.Errorf("%d entries are new, want 1", renewed)
	}
	if reg.Update(put(3, slices.Clone(next)...)) != after {
		t.Error("a snapshot was made although nothing changed")
	}
}

func TestUpdateWithoutAChangeMakesNothing(t *testing.T) {
	skills, _ := many(1000, true)
	reg := registry.New(registry.Options{Inputs: of(pannier.Workspace{}, skills...)})
	reg.Update(put(1, skills...))
	if n := testing.AllocsPerRun(20, func() { reg.Update(put(2, skills...)) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
}
