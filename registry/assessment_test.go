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
		in.Scans = map[string][]string{d.one(places...): d.some("rule.a", "rule.b")}
	case 1:
		in.Scanned = nil
	case 2:
		in.Scanned = map[string]pannier.Digest{}
		for _, s := range in.Catalog.Skills {
			if d.IntN(2) == 0 {
				in.Scanned[s.Path] = s.Sum
			}
		}
	case 3:
		in.Contents = map[string]pannier.Contents{d.one(places...): {Description: "found", Digest: pannier.DigestOf([]byte(d.one("x", "y")))}}
	case 4:
		in.Lost = nil
	case 5:
		in.Lost = &registry.Lost{Why: "it burnt", Released: map[string]pannier.Digest{}}
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
	judged := 0
	for _, e := range after.Entries {
		if !slices.Contains(before.Entries, e) {
			judged++
		}
	}
	if judged != 1 {
		t.Errorf("%d entries are new, want 1", judged)
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
