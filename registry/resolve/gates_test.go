package resolve_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pannier"
	"pannier/registry/resolve"
)

func selfDisabled(e *pannier.Entry) {
	e.DisabledBy = "eligibility.enabled"
	against(pannier.ReasonDisabled)(e)
	e.State = pannier.StateDisabled
}

// fails holds a verdict of a profile against a skill, as the registry does.
func fails(e *pannier.Entry) {
	e.Blocked, e.State = []string{"agentskills_strict"}, pannier.StateIneligible
	e.Reasons = append(e.Reasons, pannier.Reason{Code: pannier.ReasonInvalid, Subject: "agentskills_strict", Remedy: "mend it"})
}

// TestEveryReason has a skill for each word, and closes all the gates behind it too.
func TestEveryReason(t *testing.T) {
	last := func(codes ...string) []func(*pannier.Entry) {
		return []func(*pannier.Entry){implicit, against(codes...)}
	}
	skills := map[string][]func(*pannier.Entry){
		pannier.RejectedUnlisted:               {fails, against(pannier.ReasonInvalid, pannier.ReasonConflict), unlisted, func(e *pannier.Entry) { e.Policy.Enabled = false }},
		pannier.RejectedDisabled:               {fails, disabled, notForUsers},
		pannier.RejectedNotUserInvocable:       {notForUsers, noModel, fails},
		pannier.RejectedStateLost:              {implicit, against(pannier.ReasonStateLost, pannier.ReasonInvalid, pannier.ReasonConflict), fails},
		pannier.RejectedValidation:             {implicit, against(pannier.ReasonInvalid, pannier.ReasonConflict), fails},
		pannier.RejectedInvalidMetadata:        last(pannier.ReasonConflict, pannier.ReasonRuntimeIncompatible, pannier.ReasonInvalid),
		pannier.RejectedRuntimeIncompatible:    last(pannier.ReasonTrustBlocked, pannier.ReasonOSUnsupported, pannier.ReasonRuntimeIncompatible),
		pannier.RejectedUnsupportedPlatform:    last(pannier.ReasonMissingEnv, pannier.ReasonTrustBlocked, pannier.ReasonOSUnsupported),
		pannier.RejectedTrustBlocked:           last(pannier.ReasonMissingEnv, pannier.ReasonSecurityBlocked, pannier.ReasonTrustBlocked),
		pannier.RejectedSecurityBlocked:        last(pannier.ReasonMissingMCP, pannier.ReasonConflict, pannier.ReasonSecurityBlocked),
		pannier.RejectedDependencyMissing:      last(pannier.ReasonConflict, pannier.ReasonMissingAPIKey),
		pannier.RejectedConflict:               last(pannier.ReasonConflict),
		pannier.RejectedShadowed:               {shadowedBy("skills/x"), unlisted, shadowedBy("skills/x"), fails, shadowedBy("skills/x")},
		pannier.RejectedDisableModelInvocation: {implicit, noModel, fails},
		pannier.RejectedNotMatched:             {fails},
	}
	asked := func(word string) bool { // of these a turn only ever hears where it asks for all
		return word != pannier.RejectedNotMatched && word != pannier.RejectedDisableModelInvocation
	}
	for word, changes := range skills {
		s := snapshot(entry("it", changes...))
		turn := pannier.Turn{Verbose: true}
		if asked(word) {
			turn.Capabilities = []pannier.Capability{{ID: "1", Slug: "it"}}
		}
		r := resolve.Resolve(s, turn)
		if len(r.Active) != 0 || len(r.Rejected) < 1 || r.Rejected[0].Reason != word || r.Rejected[0].Detail == "" {
			t.Errorf("%s: %+v", word, r)
		}
		if quiet := resolve.Resolve(s, pannier.Turn{}); len(quiet.Rejected) != 0 {
			t.Errorf("%s: nobody asked, and told %+v", word, quiet.Rejected)
		}
	}
}

func TestSkillsThatSwitchThemselvesOff(t *testing.T) {
	for _, field := range []string{"eligibility.enabled", "scope"} {
		e := entry("it", selfDisabled, func(e *pannier.Entry) { e.DisabledBy = field })
		r := resolve.Resolve(snapshot(e), pannier.Turn{Text: "$it"})
		if x := r.Rejected[0]; x.Reason != pannier.RejectedDisabled || !strings.HasSuffix(x.Detail, "("+field+")") {
			t.Errorf("%+v", x)
		}
	}
}

func TestVerbose(t *testing.T) {
	s := snapshot(slices.Concat(slices.Clone(house.Entries), []*pannier.Entry{entry("zz-tools", implicit, toolsOnly)})...)
	r := resolve.Resolve(s, pannier.Turn{Verbose: true, Text: "@skill:mac @skill:gone", Capabilities: []pannier.Capability{{ID: "z", Slug: "zeta/csv"}}})
	_, rejected := said(r)
	if !slices.ContainsFunc(r.Active, func(a pannier.ActiveSkill) bool { return a.Slug == "zz-tools" }) {
		t.Errorf("active %+v: a skill of tools only is offered too", r.Active)
	}
	want := "z=csv:shadowed mac:unsupported_platform gone:not_found broken:invalid_metadata csv:not_matched hidden-broken:not_matched " +
		"needy:not_matched no-any:not_matched no-env:not_matched other-runtime:not_matched quiet:disabled_model_invocation " +
		"unlisted:unlisted unlisted-broken:unlisted wanted:not_matched"
	if rejected != want {
		t.Errorf("got  %s\nwant %s", rejected, want)
	}
	r = resolve.Resolve(house, pannier.Turn{Verbose: true, Runtime: "else"})
	if _, rejected := said(r); !strings.Contains(rejected, "auto-narrow:runtime_incompatible") {
		t.Errorf("rejected %s", rejected)
	}
}

// draw returns a snapshot and a turn at random.
func draw(r *rand.Rand) (*pannier.Snapshot, pannier.Turn) {
	changes := []func(*pannier.Entry){
		implicit, implicit, notForUsers, noModel, unlisted, bundled, runtimes("crewai"), fails, toolsOnly, selfDisabled, disabled,
		against(pannier.ReasonConflict), against(pannier.ReasonMissingEnv), shadowedBy("x"),
		func(e *pannier.Entry) { e.Paths = []string{"src/**", "*.md"} },
		func(e *pannier.Entry) { e.AllowedTools = []string{"Read", "Bash(git:*)"} },
		func(e *pannier.Entry) { e.AllowedTools = []string{"Bash", "mcp__*"} },
		declaresTool("run", `{"kind":"shell"}`), declaresTool("get", `{"kind":"http"}`),
		func(e *pannier.Entry) { e.TrustLevel = pannier.TrustVerified },
	}
	var entries []*pannier.Entry
	for n := range 1 + r.IntN(8) {
		var some []func(*pannier.Entry)
		for _, change := range changes {
			if r.IntN(5) == 0 {
				some = append(some, change)
			}
		}
		entries = append(entries, entry(fmt.Sprintf("s%d", n), some...))
	}
	t := pannier.Turn{Runtime: []string{"", "crewai", "else"}[r.IntN(3)], Verbose: r.IntN(2) == 0}
	for range r.IntN(4) {
		slug := fmt.Sprintf("s%d", r.IntN(9))
		t.Text += []string{" @skill:" + slug, "\n/skill:" + slug + " a", " src/x.go", " b.md"}[r.IntN(4)]
		t.Capabilities = append(t.Capabilities, pannier.Capability{ID: slug, Slug: fmt.Sprintf("s%d", r.IntN(9))})
	}
	if r.IntN(2) == 0 {
		t.Tools = []string{"Bash", "Read", "mcp__a"}[:r.IntN(4)]
	}
	return snapshot(entries...), t
}

// TestProperties holds for every turn about every snapshot: what comes out is in its order, each skill is accounted for
// once, what is active can be used, and asking twice gives the same bytes.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		s, turn := draw(r)
		out := resolve.Resolve(s, turn)
		first, _ := json.Marshal(out)
		if again, _ := json.Marshal(resolve.Resolve(s, turn)); string(first) != string(again) {
			t.Fatalf("%+v: %s, then %s", turn, first, again)
		}
		checkActive(t, s, turn, out)
		if turn.Verbose {
			checkComplete(t, s, out)
		}
		checkTools(t, s, turn, out)
		checkParts(t, s, turn, out)
		if t.Failed() {
			t.Fatalf("turn %+v: %s", turn, first)
		}
	}
}

func checkActive(t *testing.T, s *pannier.Snapshot, turn pannier.Turn, out pannier.Resolution) {
	order := []string{pannier.ViaCapability, pannier.ViaReference, pannier.ViaPath, pannier.ViaImplicit}
	for i, a := range out.Active {
		e, _ := s.Lookup(a.Slug)
		rank := slices.Index(order, a.Reason)
		switch {
		case !e.Usable || turn.Runtime != "" && len(e.Runtimes) > 0 && !slices.Contains(e.Runtimes, turn.Runtime):
			t.Errorf("%s cannot be used", a.Slug)
		case rank < 0 || rank < 2 && !e.UserInvocable || rank >= 2 && !e.Automatic():
			t.Errorf("%s is active by %q", a.Slug, a.Reason)
		}
		if i == 0 {
			continue
		}
		if before := out.Active[i-1]; slices.Index(order, before.Reason) > rank || before.Reason == a.Reason && before.Slug >= a.Slug {
			t.Errorf("%s stands behind %s", a.Slug, before.Slug)
		}
	}
}

// checkComplete wants each skill among the active ones or among the rejected ones.
func checkComplete(t *testing.T, s *pannier.Snapshot, out pannier.Resolution) {
	known := map[string]bool{}
	for _, a := range out.Active {
		known[a.Slug] = true
	}
	for _, x := range out.Rejected {
		known[x.Slug] = true
	}
	for i := range s.Entries {
		if !known[s.Entries[i].Slug] {
			t.Errorf("nothing is told of %s", s.Entries[i].Slug)
		}
	}
}

// checkTools wants tools of active skills alone, and never more than the caller has.
func checkTools(t *testing.T, s *pannier.Snapshot, turn pannier.Turn, out pannier.Resolution) {
	active := map[string]bool{}
	for _, a := range out.Active {
		active[a.Slug] = true
	}
	for _, tool := range out.Tools {
		e, _ := s.Lookup(tool.Skill)
		if !active[tool.Skill] || !e.TrustLevel.AtLeast(resolve.ToolTrust(tool.Kind)) {
			t.Errorf("tool %+v", tool)
		}
	}
	for _, tool := range out.ExcludedTools {
		if !active[tool.Skill] || tool.Reason == "" || tool.Detail == "" {
			t.Errorf("excluded tool %+v", tool)
		}
	}
	for _, text := range out.AllowedTools.Effective {
		if turn.Tools != nil && !slices.ContainsFunc(turn.Tools, func(own string) bool { return resolve.Covers(own, text) }) {
			t.Errorf("the caller did not have %s", text)
		}
	}
}

// checkParts puts an answer together of what the turn names and what is automatic, as the socket does.
func checkParts(t *testing.T, s *pannier.Snapshot, turn pannier.Turn, out pannier.Resolution) {
	turn.NamedOnly, turn.Verbose = true, false
	named := resolve.Resolve(s, turn)
	automatic := resolve.Resolve(s, pannier.Turn{Runtime: turn.Runtime})
	active, tools := slices.Clone(named.Active), slices.Clone(named.Tools)
	for _, a := range automatic.Active {
		if !slices.ContainsFunc(named.Active, func(n pannier.ActiveSkill) bool { return n.Slug == a.Slug }) {
			active = append(active, a)
		}
	}
	for _, tool := range automatic.Tools {
		if !slices.ContainsFunc(named.Tools, func(n pannier.ListedTool) bool { return n.Name == tool.Name }) {
			tools = append(tools, tool)
		}
	}
	slices.SortStableFunc(tools, func(a, b pannier.ListedTool) int { return strings.Compare(a.Skill, b.Skill) })
	got, _ := json.Marshal([]any{active, tools, named.AllowedTools})
	want, _ := json.Marshal([]any{out.Active, out.Tools, out.AllowedTools})
	if string(got) != string(want) {
		t.Errorf("of parts %s\nwhole %s", got, want)
	}
}

// TestRejection has the word that a turn has which names the skill, and none where the turn can have it.
func TestRejection(t *testing.T) {
	blocked := func(code, subject string) func(*pannier.Entry) {
		return func(e *pannier.Entry) {
			e.State, e.Usable = pannier.StateIneligible, false
			e.Reasons = append(e.Reasons, pannier.Reason{Code: code, Subject: subject})
		}
	}
	for name, tt := range map[string]struct {
		changes []func(*pannier.Entry)
		want    string
	}{
		"usable":         {nil, ""},
		"a binary":       {[]func(*pannier.Entry){blocked(pannier.ReasonMissingBinary, "jq")}, pannier.RejectedDependencyMissing},
		"the system":     {[]func(*pannier.Entry){blocked(pannier.ReasonMissingBinary, "jq"), blocked(pannier.ReasonOSUnsupported, "linux")}, pannier.RejectedUnsupportedPlatform},
		"unreadable":     {[]func(*pannier.Entry){blocked(pannier.ReasonInvalid, "skill.yaml")}, pannier.RejectedInvalidMetadata},
		"a profile":      {[]func(*pannier.Entry){blocked(pannier.ReasonInvalid, "agentskills_strict"), func(e *pannier.Entry) { e.Blocked = []string{"agentskills_strict"} }}, pannier.RejectedValidation},
		"policy":         {[]func(*pannier.Entry){blocked(pannier.ReasonMissingBinary, "jq"), func(e *pannier.Entry) { e.State, e.Policy.Enabled = pannier.StateDisabled, false }}, pannier.RejectedDisabled},
		"by itself":      {[]func(*pannier.Entry){func(e *pannier.Entry) { e.State, e.DisabledBy, e.Usable = pannier.StateDisabled, "scope", false }}, pannier.RejectedDisabled},
		"another's slug": {[]func(*pannier.Entry){func(e *pannier.Entry) { e.State, e.Usable = pannier.StateShadowed, false }}, pannier.RejectedShadowed},
		"not listed":     {[]func(*pannier.Entry){func(e *pannier.Entry) { e.State, e.Usable = pannier.StateUnlisted, false }}, pannier.RejectedUnlisted},
	} {
		e := entry("it", tt.changes...)
		named := ""
		if r := resolve.Resolve(snapshot(e), pannier.Turn{Text: "$it"}); len(r.Rejected) > 0 {
			named = r.Rejected[0].Reason
		}
		if got := resolve.Rejection(e); got != tt.want || got != named {
			t.Errorf("%s: %q, and a turn says %q", name, got, named)
		}
	}
}
