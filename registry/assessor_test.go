package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/registry"
)

// assessOne returns the reasons and the added problems of one skill, and its state.
func assessOne(t *testing.T, in registry.Inputs) (reasons, problems string, state pannier.State) {
	t.Helper()
	e := build(t, in).Entries[0]
	if e.Usable != (e.State == pannier.StateEligible) {
		t.Errorf("state %s, usable %t", e.State, e.Usable)
	}
	var r, p []string
	for _, reason := range e.Reasons {
		r = append(r, reason.Code+" "+reason.Subject)
		if reason.Remedy == "" {
			t.Errorf("%s has no remedy", reason.Code)
		}
	}
	for _, problem := range e.Problems[len(e.Skill.Problems):] {
		p = append(p, problem.Code+": "+problem.Message)
		if problem.Severity != pannier.SeverityWarning || problem.Path != e.FilePath() || problem.Hint == "" {
			t.Errorf("problem %+v", problem)
		}
	}
	return strings.Join(r, ", "), strings.Join(p, "\n"), e.State
}

func TestReasons(t *testing.T) {
	everything := pannier.Requirements{
		Bins: []string{"curl", "jq"}, AnyBins: []string{"node", "deno"}, Env: []string{"KEY", "TOKEN"}, OS: []string{"darwin", "windows"},
	}
	for _, test := range []struct {
		name      string
		needs     pannier.Requirements
		runtimes  []string
		broken    bool
		runtime   string // that of config.yaml
		bins, env []string
		os        string
		want      string
	}{
		{name: "nothing needed", os: "linux"},
		{name: "all there", needs: everything, os: "darwin", bins: []string{"curl", "deno", "jq"}, env: []string{"KEY", "TOKEN"}},
		{
			name: "all reasons, in order", needs: everything, runtimes: []string{"langgraph"}, broken: true, runtime: "crewai", os: "linux",
			want: "invalid skill.frontmatter.missing, runtime_incompatible crewai, os_unsupported linux, missing_binary curl, missing_binary jq, missing_any_binary node, deno, missing_env KEY, missing_env TOKEN",
		},
		{name: "one of two is there", needs: everything, os: "windows", bins: []string{"jq", "node"}, env: []string{"TOKEN"}, want: "missing_binary curl, missing_env KEY"},
		{
			name: "always", needs: pannier.Requirements{Always: true, Bins: []string{"x"}, AnyBins: []string{"x"}, Env: []string{"X"}, OS: []string{"darwin"}},
			runtimes: []string{"a"}, broken: true, runtime: "b", os: "linux",
			want: "invalid skill.frontmatter.missing, runtime_incompatible b, os_unsupported linux",
		},
		{name: "no runtime known", runtimes: []string{"a"}, os: "linux"},
		{name: "fits", runtimes: []string{"a", "b"}, runtime: "b"},
		{name: "case counts", runtimes: []string{"B"}, runtime: "b", want: "runtime_incompatible b"},
		{name: "fits all", runtime: "b"},
		{name: "no system known", needs: pannier.Requirements{OS: []string{"darwin"}}},
		{name: "empty list of alternatives", needs: pannier.Requirements{AnyBins: []string{}}},
		{name: "names are exact", needs: pannier.Requirements{Bins: []string{"git"}, Env: []string{"Key"}}, bins: []string{"git-lfs", "gitk"}, env: []string{"KEY"}, want: "missing_binary git, missing_env Key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			skill := skillAt("skills/a", func(s *pannier.Skill) {
				s.Requirements, s.Runtimes = test.needs, test.runtimes
				if test.broken {
					broken(s)
				}
			})
			in := of(pannier.Workspace{Runtime: test.runtime}, skill)
			in.Environment = pannier.Environment{OS: test.os, Bins: test.bins, Env: test.env}
			got, problems, state := assessOne(t, in)
			if got != test.want || problems != "" {
				t.Errorf("reasons %q, want %q; problems %q", got, test.want, problems)
			}
			if want := map[bool]pannier.State{true: pannier.StateEligible, false: pannier.StateIneligible}[test.want == ""]; state != want {
				t.Errorf("state %s, want %s", state, want)
			}
		})
	}
}

func TestLenientEnvironment(t *testing.T) {
	const lacks = ", which the sidecar's own container does not have; the agent's may"
	skill := skillAt("skills/a", func(s *pannier.Skill) {
		s.Requirements = pannier.Requirements{Bins: []string{"jq"}, AnyBins: []string{"node", "deno"}, Env: []string{"KEY"}, OS: []string{"darwin"}}
		s.Problems = []pannier.Problem{{Code: "own", Severity: pannier.SeverityInfo}}
	})
	in := of(pannier.Workspace{}, skill)
	in.Environment.Lenient = true
	reasons, problems, state := assessOne(t, in)
	want := "unverified.os_unsupported: the skill needs darwin" + lacks + "\n" +
		"unverified.missing_binary: the skill needs jq" + lacks + "\n" +
		"unverified.missing_any_binary: the skill needs one of node, deno" + lacks + "\n" +
		"unverified.missing_env: the skill needs KEY" + lacks
	if reasons != "" || problems != want || state != pannier.StateEligible {
		t.Errorf("state %s, reasons %q, problems\n%s\nwant\n%s", state, reasons, problems, want)
	}
	var subjects []string
	for _, p := range build(t, in).Entries[0].Problems[1:] {
		subjects = append(subjects, p.Subject)
	}
	if want := []string{in.Environment.OS, "jq", "node, deno", "KEY"}; !slices.Equal(subjects, want) {
		t.Errorf("subjects %q, want %q", subjects, want)
	}
	if len(skill.Problems) != 1 {
		t.Error("the skill was written to")
	}
	in.Workspace.Runtime = "x"
	in.Catalog.Skills = []*pannier.Skill{skillAt("skills/a", broken, func(s *pannier.Skill) { s.Runtimes = []string{"y"} })}
	if reasons, _, state := assessOne(t, in); state != pannier.StateIneligible || reasons != "invalid skill.frontmatter.missing, runtime_incompatible x" {
		t.Errorf("leniency took away %s: %s", state, reasons)
	}
}

// Problems that judging adds never end up in the room behind the skill's own, which two snapshots share.
func TestProblemsAreNotShared(t *testing.T) {
	own := make([]pannier.Problem, 1, 8)
	skill := skillAt("skills/a", func(s *pannier.Skill) { s.Requirements.Bins, s.Problems = []string{"a", "b"}, own })
	in := of(pannier.Workspace{}, skill)
	in.Environment.Lenient = true
	build(t, in)
	for i, p := range own[:cap(own)] {
		if p.Code != "" {
			t.Errorf("room %d was taken by %s", i, p.Code)
		}
	}
}

func TestRuntimeOfConfig(t *testing.T) {
	skill := skillAt("skills/a", func(s *pannier.Skill) { s.Runtimes = []string{"claude-code"} })
	for runtime, want := range map[string]pannier.State{"crewai": pannier.StateIneligible, "claude-code": pannier.StateEligible} {
		if _, _, state := assessOne(t, of(pannier.Workspace{Runtime: runtime}, skill)); state != want {
			t.Errorf("config.yaml says %q: %s, want %s", runtime, state, want)
		}
	}
}

func TestInvalidWithoutErrorStillHasAReason(t *testing.T) {
	skill := skillAt("skills/a", func(s *pannier.Skill) { s.Broken = true })
	if reasons, _, state := assessOne(t, of(pannier.Workspace{}, skill)); reasons != "invalid skills/a/SKILL.md" || state != pannier.StateIneligible {
		t.Errorf("%s: %s", state, reasons)
	}
}

// The first state that fits counts, and reasons are collected whatever the state.
func TestStates(t *testing.T) {
	in := of(listing("a"), skillAt("skills/a"), skillAt("skills/x/a", broken), skillAt("skills/b", broken))
	s := build(t, in)
	var got []string
	for _, e := range s.Entries {
		got = append(got, fmt.Sprintf("%s %s %d", e.Path, e.State, len(e.Reasons)))
		if e.Reasons == nil {
			t.Errorf("%s has null for reasons", e.Path)
		}
	}
	if want := "skills/a eligible 0, skills/x/a shadowed 1, skills/b unlisted 1"; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
