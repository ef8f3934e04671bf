package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"pannier"
)

// TestRemedyNamesTheField checks that a skill that disables itself is told which field to change.
func TestRemedyNamesTheField(t *testing.T) {
	for field, want := range map[string]string{"eligibility.enabled": "set `eligibility.enabled` to true", "scope": "remove `scope: disabled`"} {
		s := build(t, of(pannier.Workspace{}, skillAt("skills/pdf", func(s *pannier.Skill) { s.DisabledBy = field })))
		e, _ := s.Lookup("pdf")
		if r := e.Reasons[0]; e.State != pannier.StateDisabled || r.Subject != field || !strings.Contains(r.Remedy, want) {
			t.Errorf("%s: %s, %+v", field, e.State, r)
		}
	}
}

// TestEveryReason has a skill that everything stands against, and takes the obstacles away one by one.
func TestEveryReason(t *testing.T) {
	no := false
	in := of(pannier.Workspace{Runtime: "crewai"}, skillAt("skills/all", func(s *pannier.Skill) {
		s.DisabledBy, s.Blocked, s.Broken = "eligibility.enabled", []string{"agentskills_strict"}, true
		s.Problems = []pannier.Problem{{Code: "skill.x", Severity: pannier.SeverityError, Hint: "mend it"}}
		s.Runtimes, s.Conflicts, s.TrustLevel = []string{"langgraph"}, []string{"aaa"}, pannier.TrustCommunity
		s.Requirements = pannier.Requirements{
			OS: []string{"darwin"}, Bins: []string{"jq"}, AnyBins: []string{"node"}, Env: []string{"HOST"}, APIKeys: []string{"KEY"},
			Config: []string{"agent.name", "keys/id.pem"}, MCP: []string{"files"},
		}
	}), skillAt("skills/aaa"))
	in.Policies.Gateway = map[string]pannier.Switches{"all": {Enabled: &no}}
	in.MinimumTrust = pannier.TrustVerified
	in.Catalog.Skills[1].TrustLevel = pannier.TrustInternal
	against := func(codes ...string) {
		in.Judges = known{reasons: map[string][]pannier.Reason{"skills/all": reasons(codes...)}}.judges()
	}
	against("of_a_module x", "security_blocked scan.elf", "state_lost state")
	find := func() (reasons, problems string) {
		s := build(t, in)
		e, ok := s.Lookup("all")
		if !ok {
			t.Fatal("it is gone")
		}
		for _, r := range e.Reasons {
			reasons += fmt.Sprintf("%s(%s) ", r.Code, r.Subject)
			if r.Remedy == "" {
				t.Errorf("%s has no remedy", r.Code)
			}
		}
		for _, p := range e.Problems[len(e.Skill.Problems):] {
			problems += p.Code + " "
		}
		return reasons, problems
	}
	const all = "disabled(gateway policy) disabled(eligibility.enabled) state_lost(state) invalid(agentskills_strict) invalid(skill.x) runtime_incompatible(crewai) " +
		"os_unsupported(linux) missing_binary(jq) missing_any_binary(node) missing_env(HOST) missing_api_key(KEY) missing_mcp(files) " +
		"conflict(aaa) trust_blocked(community) security_blocked(scan.elf) of_a_module(x) "
	if reasons, problems := find(); reasons != all || problems != "missing_config missing_config " {
		t.Errorf("reasons  %s\nwant     %s\nproblems %s", reasons, all, problems)
	}
	for _, step := range []struct {
		name string
		do   func(*pannier.Skill)
		gone []string
	}{
		{"enabled", func(*pannier.Skill) { in.Policies.Gateway = nil }, []string{"disabled(gateway policy)"}},
		{"enabled by itself", func(s *pannier.Skill) { s.DisabledBy = "" }, []string{"disabled(eligibility.enabled)"}},
		{"recovered", func(*pannier.Skill) { against("of_a_module x", "security_blocked scan.elf") }, []string{"state_lost(state)"}},
		{"mended", func(s *pannier.Skill) { s.Blocked, s.Broken = nil, false }, []string{"invalid(agentskills_strict)", "invalid(skill.x)"}},
		{"always", func(s *pannier.Skill) { s.Requirements.Always = true }, []string{"missing_binary(jq)", "missing_any_binary(node)", "missing_env(HOST)", "missing_api_key(KEY)", "missing_mcp(files)"}},
		{"the other is off", func(*pannier.Skill) {
			in.Policies.Gateway = map[string]pannier.Switches{"aaa": {Enabled: &no}}
		}, []string{"conflict(aaa)"}},
		{"less trust is asked for", func(*pannier.Skill) { in.MinimumTrust = pannier.TrustCommunity }, []string{"trust_blocked(community)"}},
		{"the file is gone", func(*pannier.Skill) { in.Judges = nil }, []string{"security_blocked(scan.elf)", "of_a_module(x)"}},
		{"another runtime", func(*pannier.Skill) { in.Workspace.Runtime = "langgraph" }, []string{"runtime_incompatible(crewai)"}},
		{"another system", func(*pannier.Skill) { in.Environment.OS = "darwin" }, []string{"os_unsupported(linux)"}},
	} {
		before, _ := find()
		s := *in.Catalog.Skills[0]
		step.do(&s)
		in.Catalog.Skills[0] = seal(&s)
		want := before
		for _, reason := range step.gone {
			if !strings.Contains(before, reason) {
				t.Fatalf("%s: %s was not there", step.name, reason)
			}
			want = strings.ReplaceAll(want, reason+" ", "")
		}
		if got, _ := find(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", step.name, got, want)
		}
	}
	if e, _ := build(t, in).Lookup("all"); e.State != pannier.StateEligible || !e.Usable {
		t.Errorf("nothing stands against it, and it is %s because of %v", e.State, e.Reasons)
	}
}

func TestRequirementsThatAreMet(t *testing.T) {
	in := of(pannier.Workspace{}, skillAt("skills/a", func(s *pannier.Skill) {
		s.Requirements = pannier.Requirements{APIKeys: []string{"KEY"}, Config: []string{"agent.name", "a.json"}, MCP: []string{"files"}}
	}))
	in.Environment.Env, in.Environment.MCP, in.Environment.Config = []string{"KEY"}, []string{"files"}, []string{"agent.name"}
	in.Config = []string{"a.json"}
	if e := build(t, in).Entries[0]; !e.Usable || len(e.Problems) > 0 {
		t.Errorf("%+v %+v", e.Reasons, e.Problems)
	}
	in.Environment = pannier.Environment{OS: "linux", Lenient: true}
	if e := build(t, in).Entries[0]; !e.Usable || len(e.Problems) != 3 {
		t.Errorf("by a container that is not the agent's: %+v %+v", e.Reasons, e.Problems)
	}
}

func TestConflicts(t *testing.T) {
	names := func(slugs ...string) func(*pannier.Skill) {
		return func(s *pannier.Skill) { s.Conflicts = slugs }
	}
	owned := func(owner string) func(*pannier.Skill) { return func(s *pannier.Skill) { s.Owner = owner } }
	for _, tt := range []struct {
		name   string
		skills []*pannier.Skill
		w      pannier.Workspace
		want   string // what is usable
	}{
		{"the first names the second", []*pannier.Skill{skillAt("skills/a", names("b")), skillAt("skills/b")}, pannier.Workspace{}, "a"},
		{"the second names the first", []*pannier.Skill{skillAt("skills/a"), skillAt("skills/b", names("a"))}, pannier.Workspace{}, "a"},
		{"both name each other", []*pannier.Skill{skillAt("skills/a", names("b")), skillAt("skills/b", names("a"))}, pannier.Workspace{}, "a"},
		{"the earlier root comes first", []*pannier.Skill{skillAt("skills/z", names("a")), skillAt("managed/a")}, pannier.Workspace{}, "z"},
		{"the shallower path comes first", []*pannier.Skill{skillAt("skills/x/a"), skillAt("skills/z", names("a"))}, pannier.Workspace{}, "z"},
		{"one that is not usable blocks nobody", []*pannier.Skill{skillAt("skills/a", names("b"), broken), skillAt("skills/b")}, pannier.Workspace{}, "b"},
		{"one that is blocked itself blocks nobody", []*pannier.Skill{skillAt("skills/a", names("b")), skillAt("skills/b", names("c")), skillAt("skills/c")}, pannier.Workspace{}, "a c"},
		{"one that is not listed blocks nobody", []*pannier.Skill{skillAt("skills/a", names("b")), skillAt("skills/b")}, listing("b"), "b"},
		{"the owner that is named", []*pannier.Skill{skillAt("skills/a", names("acme/b")), skillAt("skills/b", owned("acme"))}, pannier.Workspace{}, "a"},
		{"another owner", []*pannier.Skill{skillAt("skills/a", names("acme/b")), skillAt("skills/b", owned("zeta"))}, pannier.Workspace{}, "a b"},
		{"an owner is named, and there is none", []*pannier.Skill{skillAt("skills/a", names("acme/b")), skillAt("skills/b")}, pannier.Workspace{}, "a b"},
		{"no owner is named, and there is one", []*pannier.Skill{skillAt("skills/a", names("b")), skillAt("skills/b", owned("acme"))}, pannier.Workspace{}, "a"},
		{"the second names the first by its owner", []*pannier.Skill{skillAt("skills/a", owned("acme")), skillAt("skills/b", names("acme/a"))}, pannier.Workspace{}, "a"},
		{"the second names the first by another owner", []*pannier.Skill{skillAt("skills/a", owned("acme")), skillAt("skills/b", names("zeta/a"))}, pannier.Workspace{}, "a b"},
		{"of one slug, with an owner and without", []*pannier.Skill{skillAt("skills/a", names("b", "zeta/b")), skillAt("skills/b", owned("acme"))}, pannier.Workspace{}, "a"},
		{"itself, and one that is not there", []*pannier.Skill{skillAt("skills/a", names("a", "gone"))}, pannier.Workspace{}, "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := build(t, of(tt.w, tt.skills...))
			var got []string
			for _, e := range s.Entries {
				if e.Usable {
					got = append(got, e.Slug)
				} else if e.State == pannier.StateIneligible && !e.Broken && (len(e.Reasons) != 1 || e.Reasons[0].Code != pannier.ReasonConflict) {
					t.Errorf("%s: %+v", e.Slug, e.Reasons)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("usable are %v, want %s", got, tt.want)
			}
		})
	}
}
