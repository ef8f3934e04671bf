package resolve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

// entry returns a usable skill of the workspace, not automatically available.
func entry(slug string, change ...func(*pannier.Entry)) *pannier.Entry {
	e := &pannier.Entry{
		Skill: &pannier.Skill{
			Slug: slug, Name: strings.ToUpper(slug), Path: "skills/" + slug, Folder: slug, PathBelowRoot: slug,
			SourceKind: pannier.SourceWorkspace, UserInvocable: true, Digest: pannier.DigestOf([]byte(slug)),
		},
		ID: slug, State: pannier.StateEligible, Reasons: []pannier.Reason{},
		Policy: pannier.EffectivePolicy{Enabled: true, Source: pannier.PolicyStart},
	}
	for _, c := range change {
		c(e)
	}
	e.Usable = e.State == pannier.StateEligible
	return e
}

func implicit(e *pannier.Entry)    { e.Policy.AllowImplicit = true }
func notForUsers(e *pannier.Entry) { e.UserInvocable = false }
func noModel(e *pannier.Entry)     { e.DisableModelInvocation = true }
func unlisted(e *pannier.Entry)    { e.State = pannier.StateUnlisted }

func managed(e *pannier.Entry) { e.SourceKind = pannier.SourceManaged }

func owner(name string) func(*pannier.Entry) {
	return func(e *pannier.Entry) { e.Owner = name }
}

func runtimes(names ...string) func(*pannier.Entry) {
	return func(e *pannier.Entry) { e.Runtimes = names }
}

func against(codes ...string) func(*pannier.Entry) {
	return func(e *pannier.Entry) {
		e.State = pannier.StateIneligible
		for _, code := range codes {
			e.Reasons = append(e.Reasons, pannier.Reason{Code: code, Subject: "it", Remedy: "mend " + code})
		}
	}
}

func shadowedBy(path string) func(*pannier.Entry) {
	return func(e *pannier.Entry) {
		e.State, e.ShadowedBy, e.Path = pannier.StateShadowed, path, "elsewhere/"+e.Slug
	}
}

// house is ordered by slug, as every snapshot is.
var house = &pannier.Snapshot{
	Version: 3, Digest: pannier.DigestOf([]byte("house")),
	Entries: []*pannier.Entry{
		entry("auto", implicit),
		entry("auto-narrow", implicit, runtimes("crewai")),
		entry("broken", implicit, against(pannier.ReasonInvalid, pannier.ReasonMissingEnv)),
		entry("csv", owner("acme")),
		entry("csv", shadowedBy("skills/csv"), managed, owner("zeta")),
		entry("hidden", notForUsers, implicit),
		entry("hidden-broken", notForUsers, against(pannier.ReasonInvalid)),
		entry("mac", against(pannier.ReasonOSUnsupported, pannier.ReasonMissingBinary)),
		entry("needy", runtimes("crewai"), against(pannier.ReasonMissingBinary)),
		entry("no-any", against(pannier.ReasonMissingAnyBinary)),
		entry("no-env", against(pannier.ReasonMissingEnv)),
		entry("other-runtime", runtimes("crewai"), against(pannier.ReasonRuntimeIncompatible)),
		entry("pdf", implicit),
		entry("quiet", implicit, noModel),
		entry("unlisted", unlisted, implicit),
		entry("unlisted-broken", unlisted, against(pannier.ReasonInvalid), unlisted),
		entry("wanted"),
	},
}

// said returns a resolution in short: slug:way(arguments) of each active skill but for implicit ones, and slug:reason of
// each rejected one.
func said(r pannier.Resolution) (active, rejected string) {
	var a, x []string
	for _, s := range r.Active {
		if s.Reason == pannier.ViaImplicit {
			continue
		}
		line := s.Slug + ":" + strings.TrimPrefix(s.Reason, "explicit_")
		if s.Arguments != "" {
			line += "(" + s.Arguments + ")"
		}
		a = append(a, line)
	}
	for _, s := range r.Rejected {
		line := s.Slug + ":" + s.Reason
		if s.ID != "" {
			line = s.ID + "=" + line
		}
		x = append(x, line)
	}
	return strings.Join(a, " "), strings.Join(x, " ")
}

func TestCapabilities(t *testing.T) {
	for _, test := range []struct {
		name             string
		chosen           []pannier.Capability
		runtime          string
		active, rejected string
	}{
		{"slug", []pannier.Capability{{Slug: "wanted"}}, "", "wanted:capability", ""},
		{"any writing of it", []pannier.Capability{{Slug: " WANTED "}}, "", "wanted:capability", ""},
		{"owner", []pannier.Capability{{Slug: "acme/csv"}}, "", "csv:capability", ""},
		{"wrong owner", []pannier.Capability{{ID: "1", Slug: "else/csv"}}, "", "", "1=csv:not_found"},
		{"owner of the shadowed one", []pannier.Capability{{ID: "1", Slug: "zeta/csv"}}, "", "", "1=csv:shadowed"},
		{"kind", []pannier.Capability{{Slug: "csv", SourceKind: pannier.SourceWorkspace}}, "", "csv:capability", ""},
		{"kind of the shadowed one", []pannier.Capability{{Slug: "csv", SourceKind: pannier.SourceManaged}}, "", "", "csv:shadowed"},
		{"kind of the shadowed one, owner of another", []pannier.Capability{{Slug: "acme/csv", SourceKind: pannier.SourceManaged}}, "", "", "csv:not_found"},
		{"kind of nobody", []pannier.Capability{{Slug: "csv", SourceKind: pannier.SourceExtra}}, "", "", "csv:not_found"},
		{"unknown", []pannier.Capability{{ID: "x", Slug: "Nobody Here"}}, "", "", "x=nobody-here:not_found"},
		{"nothing", []pannier.Capability{{ID: "x"}, {ID: "y", Slug: "技能"}, {ID: "z", Slug: "/"}}, "", "", "x=:not_found y=技能:not_found z=/:not_found"},
		{"unlisted", []pannier.Capability{{Slug: "unlisted"}}, "", "", "unlisted:unlisted"},
		{"unlisted comes before the reasons", []pannier.Capability{{Slug: "unlisted-broken"}}, "", "", "unlisted-broken:unlisted"},
		{"not for users", []pannier.Capability{{Slug: "hidden"}}, "", "", "hidden:not_user_invocable"},
		{"not for users comes before the reasons", []pannier.Capability{{Slug: "hidden-broken"}}, "", "", "hidden-broken:not_user_invocable"},
		{"not for the model is for people", []pannier.Capability{{Slug: "quiet"}}, "", "quiet:capability", ""},
		{"invalid", []pannier.Capability{{Slug: "broken"}}, "", "", "broken:invalid_metadata"},
		{"runtime of the workspace", []pannier.Capability{{Slug: "other-runtime"}}, "crewai", "", "other-runtime:runtime_incompatible"},
		{"system", []pannier.Capability{{Slug: "mac"}}, "", "", "mac:unsupported_platform"},
		{"dependencies", []pannier.Capability{{Slug: "needy"}, {Slug: "no-any"}, {Slug: "no-env"}}, "", "", "needy:dependency_missing no-any:dependency_missing no-env:dependency_missing"},
		{"runtime of the turn comes before dependencies", []pannier.Capability{{Slug: "needy"}}, "other", "", "needy:runtime_incompatible"},
		{"runtime of the turn fits", []pannier.Capability{{Slug: "auto-narrow"}, {Slug: "pdf"}}, "crewai", "auto-narrow:capability pdf:capability", ""},
		{"runtime of the turn does not", []pannier.Capability{{Slug: "auto-narrow"}, {Slug: "pdf"}}, "CrewAI", "pdf:capability", "auto-narrow:runtime_incompatible"},
		{"twice, and by slug", []pannier.Capability{{ID: "1", Slug: "wanted"}, {ID: "2", Slug: "pdf"}, {ID: "3", Slug: "wanted"}}, "", "pdf:capability wanted:capability", ""},
		{"each that is rejected has an answer", []pannier.Capability{{ID: "1", Slug: "no"}, {ID: "2", Slug: "no"}}, "", "", "1=no:not_found 2=no:not_found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := resolve.Resolve(house, pannier.Turn{Capabilities: test.chosen, Runtime: test.runtime})
			if active, rejected := said(r); active != test.active || rejected != test.rejected {
				t.Errorf("active %q, rejected %q; want %q, %q", active, rejected, test.active, test.rejected)
			}
			for _, x := range r.Rejected {
				if x.Detail == "" || x.Diagnostics == nil {
					t.Errorf("%+v", x)
				}
			}
		})
	}
}

func TestDiagnosticsTellEveryReason(t *testing.T) {
	for slug, want := range map[string]string{
		"broken": "invalid missing_env", "needy": "runtime_incompatible missing_binary", "auto-narrow": "runtime_incompatible",
		"other-runtime": "runtime_incompatible", "nobody": "", "hidden-broken": "invalid",
	} {
		r := resolve.Resolve(house, pannier.Turn{Runtime: "else", Capabilities: []pannier.Capability{{Slug: slug}}})
		var codes []string
		for _, d := range r.Rejected[0].Diagnostics {
			codes = append(codes, d.Code)
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: %q, want %q", slug, got, want)
		}
	}
	if e, _ := house.Lookup("needy"); len(e.Reasons) != 1 {
		t.Errorf("the snapshot was written to: %v", e.Reasons)
	}
}

func TestImplicit(t *testing.T) {
	for runtime, want := range map[string]string{"": "auto auto-narrow hidden pdf", "crewai": "auto auto-narrow hidden pdf", "else": "auto hidden pdf"} {
		r := resolve.Resolve(house, pannier.Turn{Runtime: runtime})
		var slugs []string
		for _, a := range r.Active {
			slugs = append(slugs, a.Slug)
			if a.Reason != pannier.ViaImplicit {
				t.Errorf("%+v", a)
			}
		}
		if got := strings.Join(slugs, " "); got != want || len(r.Rejected) != 0 {
			t.Errorf("runtime %q: %s, want %s; rejected %v", runtime, got, want, r.Rejected)
		}
	}
}

func TestOrderIsByWayThenSlug(t *testing.T) {
	r := resolve.Resolve(house, pannier.Turn{
		Text:         "use $quiet and $auto\n/skill:wanted x",
		Capabilities: []pannier.Capability{{Slug: "pdf"}, {Slug: "csv"}},
	})
	var got []string
	for _, a := range r.Active {
		got = append(got, a.Slug+":"+a.Reason)
	}
	want := "csv:explicit_capability pdf:explicit_capability auto:explicit_reference quiet:explicit_reference wanted:explicit_reference " +
		"auto-narrow:implicit hidden:implicit"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestNothingGivesLists(t *testing.T) {
	text, err := json.Marshal(resolve.Resolve(&pannier.Snapshot{}, pannier.Turn{}))
	if want := `{"snapshot_version":0,"digest":"","active":[],"rejected":[],"tools":[],"excluded_tools":[],"allowed_tools":{"effective":[],"narrowed_by":[]}}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
	text, err = json.Marshal(resolve.Resolve(house, pannier.Turn{Capabilities: []pannier.Capability{{Slug: "gone"}}, Text: "@skill:mac"}))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestSameTurnSameBytes(t *testing.T) {
	copied := *house
	copied.Entries = nil
	for _, e := range house.Entries {
		skill := *e.Skill
		e.Skill = &skill
		copied.Entries = append(copied.Entries, e)
	}
	turn := pannier.Turn{Runtime: "crewai", Text: "/skill:csv a b\n@skill:gone $mac $pdf", Capabilities: []pannier.Capability{{ID: "1", Slug: "zeta/csv"}, {ID: "2", Slug: "quiet"}}}
	want, err := json.Marshal(resolve.Resolve(house, turn))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		got, err := json.Marshal(resolve.Resolve(&copied, turn))
		if err != nil || string(got) != string(want) {
			t.Fatalf("got\n%s\nwant\n%s (%v)", got, want, err)
		}
	}
}

// A text can name one slug a thousand times; that is one answer.
func TestRepeatedRejectionsAreToldOnce(t *testing.T) {
	r := resolve.Resolve(house, pannier.Turn{Text: strings.Repeat("@skill:gone @skill:mac ", 1000)})
	if _, rejected := said(r); rejected != "gone:not_found mac:unsupported_platform" {
		t.Errorf("rejected %.200s", rejected)
	}
}

func BenchmarkResolve10k(b *testing.B) {
	s := &pannier.Snapshot{}
	for i := range 10_000 {
		s.Entries = append(s.Entries, entry(fmt.Sprintf("skill-%05d", i), implicit))
	}
	turn := pannier.Turn{Text: "use $skill-00042, then @skill:skill-09999"}
	for b.Loop() {
		if r := resolve.Resolve(s, turn); len(r.Active) != 10_000 {
			b.Fatal(len(r.Active))
		}
	}
}
