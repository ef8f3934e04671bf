package registry_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pannier"
	"pannier/registry"
)

// policyLines are what JSON cannot have as a map.
func policyLines(set map[pannier.PolicyKey]pannier.PolicyEntry) []string {
	var lines []string
	for key, says := range set {
		text, _ := json.Marshal(says)
		lines = append(lines, fmt.Sprintf("%v %s", key, text))
	}
	slices.Sort(lines)
	return lines
}

// show returns everything that a snapshot shows anywhere, but for digest, version and time.
func show(t testing.TB, s *pannier.Snapshot) string {
	t.Helper()
	w := s.Workspace
	shown := []any{
		s.TreeDigest(), s.Environment, policyLines(s.Policies.Workspace), w.Prompts, s.Problems, s.Held(),
		w.Name, w.Description, w.Version, w.Runtime, w.Streaming, w.PushNotifications, w.LastGood,
	}
	for _, e := range s.Entries {
		shown = append(shown, e, fmt.Sprintf("%+v", *e.Skill))
	}
	for _, e := range s.Ranked() {
		shown = append(shown, e.Path, e.ID)
	}
	text, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// draw makes random inputs, small enough for everything to collide with everything.
type draw struct{ *rand.Rand }

func (d draw) one(of ...string) string { return of[d.IntN(len(of))] }

func (d draw) some(of ...string) []string {
	var kept []string
	for _, s := range of {
		if d.IntN(3) == 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

func (d draw) skill(where string) *pannier.Skill {
	return skillAt(where, func(s *pannier.Skill) {
		s.Slug = d.one(s.Slug, "a", "b", "c")
		d.mutate(s)
	})
}

func (d draw) mutate(s *pannier.Skill) {
	for _, change := range []func(){
		func() { s.Owner = d.one("", "acme") },
		func() { s.Description = d.one("one", "two") },
		func() { s.Runtimes = d.some("x", "y") },
		func() { s.Requirements.Bins = d.some("jq", "git") },
		func() { s.Requirements.OS = d.some("linux", "darwin") },
		func() { s.Requirements.Always = !s.Requirements.Always },
		func() { s.Broken = !s.Broken },
		func() { s.LastGood = !s.LastGood },
		func() { s.UserInvocable = !s.UserInvocable },
		func() { s.DisableModelInvocation = !s.DisableModelInvocation },
		func() { s.FileDigest = pannier.DigestOf([]byte(d.one("p", "q"))) },
		func() {
			s.Problems = []pannier.Problem{{Code: d.one("p", "q"), Severity: pannier.SeverityWarning, Line: d.IntN(2)}}
		},
	} {
		if d.IntN(4) == 0 {
			change()
		}
	}
}

func (d draw) workspace() pannier.Workspace {
	w := pannier.Workspace{Name: d.one("", "agent"), Runtime: d.one("", "x", "y"), Listed: d.IntN(2) == 0}
	for range d.IntN(6) {
		w.Skills = append(w.Skills, d.one("a", "b", "c", "x/a", "x/b", "gone"))
	}
	return w
}

func (d draw) environment() pannier.Environment {
	return pannier.Environment{
		OS: d.one("linux", "darwin"), Arch: d.one("amd64", "arm64"), Bins: d.some("awk", "git", "jq"), Lenient: d.IntN(2) == 0,
		Source: pannier.EnvironmentSidecar,
	}
}

func (d draw) policies() pannier.Policies {
	p := pannier.Policies{Gateway: map[string]pannier.Switches{}, Workspace: map[pannier.PolicyKey]pannier.PolicyEntry{}}
	for _, slug := range d.some("a", "b", "gone") {
		on, off := d.IntN(2) == 0, d.IntN(2) == 0
		p.Workspace[pannier.PolicyKey{Slug: slug, SourceKind: pannier.SourceWorkspace}] = pannier.PolicyEntry{Switches: pannier.Switches{Enabled: &on}}
		p.Gateway[slug] = pannier.Switches{AllowImplicit: &off}
	}
	return p
}

var places = []string{"skills/a", "skills/b", "skills/x/a", "skills/x/b", "skills/y/c", "managed/a", "managed/x/b"}

func (d draw) inputs() registry.Inputs {
	in := registry.Inputs{Workspace: d.workspace(), Environment: d.environment(), Policies: d.policies()}
	for _, where := range d.some(places...) {
		in.Catalog.Skills = append(in.Catalog.Skills, d.skill(where))
	}
	return in
}

// changed returns the inputs with one thing changed, which may show or not.
func (d draw) changed(in registry.Inputs) registry.Inputs {
	in.Catalog.Skills = slices.Clone(in.Catalog.Skills)
	in.Workspace.Skills = slices.Clone(in.Workspace.Skills)
	skills := in.Catalog.Skills
	switch d.IntN(11) {
	case 0:
		d.Shuffle(len(skills), func(i, j int) { skills[i], skills[j] = skills[j], skills[i] })
	case 1:
		d.Shuffle(len(in.Workspace.Skills), func(i, j int) {
			in.Workspace.Skills[i], in.Workspace.Skills[j] = in.Workspace.Skills[j], in.Workspace.Skills[i]
		})
	case 2:
		in.Workspace.Skills = append(in.Workspace.Skills, d.one("a", "b", "x/a", "gone"))
	case 3:
		in.Workspace.Listed = !in.Workspace.Listed
	case 4:
		in.Environment = d.environment()
	case 5:
		in.Workspace.Runtime = d.one("", "x", "y")
	case 6:
		in.Catalog.Problems = []pannier.Problem{{Code: "p", Field: d.one("f", "g"), Message: "m"}}
	case 7:
		in.Policies = d.policies()
	case 8:
		in.Workspace.Prompts = []pannier.PromptFile{{Path: d.one("a.md", "b.md"), Digest: pannier.DigestOf([]byte(d.one("p", "q")))}}
	case 9:
		in.Catalog.Seq++
		in.Catalog.Watch.Version++
	default:
		if len(skills) > 0 {
			i := d.IntN(len(skills))
			s := *skills[i]
			d.mutate(&s)
			skills[i] = seal(&s)
		}
	}
	return in
}

// Two snapshots have one digest exactly when they show the same.
func TestDigestCoversWhatShowsAndNothingElse(t *testing.T) {
	d := draw{rand.New(rand.NewPCG(1, 2))}
	same, other := 0, 0
	for range 3000 {
		in := d.inputs()
		next := d.changed(in)
		a, b := build(t, in), build(t, next)
		shows := show(t, a) != show(t, b)
		if changed := a.Digest != b.Digest; changed != shows {
			t.Fatalf("digest changed: %t, what shows changed: %t\n%s\n%s", changed, shows, show(t, a), show(t, b))
		}
		if shows {
			other++
		} else {
			same++
		}
	}
	if same < 500 || other < 500 {
		t.Errorf("%d equal and %d different pairs are no proof", same, other)
	}
}

func TestOrderOfDiscoveryDoesNotMatter(t *testing.T) {
	d := draw{rand.New(rand.NewPCG(3, 4))}
	for range 500 {
		in := d.inputs()
		before := build(t, in)
		shuffled := slices.Clone(in.Catalog.Skills)
		d.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		in.Catalog.Skills = shuffled
		after := build(t, in)
		if before.Digest != after.Digest || before.TreeDigest() != after.TreeDigest() || show(t, before) != show(t, after) {
			t.Fatalf("%s\n%s", show(t, before), show(t, after))
		}
	}
}

func TestSnapshotsKeepTheirPromises(t *testing.T) {
	d := draw{rand.New(rand.NewPCG(5, 6))}
	for range 2000 {
		s := build(t, d.inputs())
		ids := map[string]bool{}
		for _, e := range s.Ranked() {
			if ids[e.ID] {
				t.Fatalf("two usable skills have the id %s:\n%s", e.ID, states(s))
			}
			ids[e.ID] = true
		}
		for i := range s.Entries {
			e := s.Entries[i]
			owner, ok := s.Lookup(e.Slug)
			if !ok || (owner == e) != (e.State != pannier.StateShadowed) || owner != e && e.ShadowedBy != owner.Path {
				t.Fatalf("%s is %s, and the slug belongs to %+v", e.Path, e.State, owner)
			}
			if found, ok := s.LookupPath(e.Qualified(), e.Path); !ok || found != e {
				t.Fatalf("%s is not found at its path", e.Path)
			}
		}
	}
}

// Texts that run into one another are told apart.
func TestDigestFraming(t *testing.T) {
	seen := map[pannier.Digest]string{}
	for _, w := range []pannier.Workspace{
		{Name: "ab", Description: "c"},
		{Name: "a", Description: "bc"},
		{Name: "abc"},
		{Description: "abc"},
		{Name: "a\x00bc"},
		{Problems: []pannier.Problem{{Code: "a", Message: "b"}}},
		{Problems: []pannier.Problem{{Code: "ab"}}},
		{Problems: []pannier.Problem{{Path: "a:1"}}},
		{Problems: []pannier.Problem{{Path: "a", Line: 1}}},
		{Problems: []pannier.Problem{{}, {}}},
		{Problems: []pannier.Problem{{}}},
		{},
	} {
		digest := build(t, registry.Inputs{Workspace: w}).Digest
		if other, ok := seen[digest]; ok {
			t.Errorf("%+v and %s have one digest", w, other)
		}
		seen[digest] = fmt.Sprintf("%+v", w)
	}
}
