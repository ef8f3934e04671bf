package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"pannier"
	"pannier/publish/turn"
	"pannier/registry/resolve"
	"pannier/service"
)

// recordingTurns is a workshop that records the events of turns as "type data".
func recordingTurns(o turn.Events) (*house, *[]string) {
	h, events := workshop(), &[]string{}
	o.Emit = func(kind pannier.EventType, data any) bool {
		text, _ := json.Marshal(data)
		*events = append(*events, fmt.Sprintf("%s %s", kind, text))
		return true
	}
	h.turns.Events = o
	return h, events
}

func digestOf(text string) string { return pannier.DigestOf([]byte(text)).String() }

// TestTurnsAreRecorded resolves one turn by each entry point: the events are the same.
//
// The OpenSkills contract: "skill_loaded: {name, path, digest, frontmatter, warnings?}", "skill_invoked: {name, args?,
// mode:manual|auto, effective_allowed_tools?}", and "every skill load/invocation is logged as structured events".
func TestTurnsAreRecorded(t *testing.T) {
	const asked = `{"text":"/skill:alpha fill in\n$beta @skill:none","paths":["src/a.go"],"format":"compact"}`
	digest := digestOf(asked)
	want := []string{
		`turn_resolved {"digest":"` + digestOf("s") + `","turn_digest":"` + digest + `","format":"compact",` +
			`"active":{"explicit_reference":1,"implicit":2,"path_match":1},"rejected":{"dependency_missing":1,"not_found":1},"skills":[` +
			`{"slug":"alpha","state":"active","reason":"explicit_reference","relevance":SCORE},{"slug":"go-tools","state":"active","reason":"path_match"},` +
			`{"slug":"beta","state":"rejected","reason":"dependency_missing","codes":["missing_binary"],"subjects":["jq"]},` +
			`{"slug":"none","state":"rejected","reason":"not_found"}],"excluded_tools":[],"bodies":1}`,
		`skill_loaded {"name":"go-tools","path":"skills/go-tools","digest":"` + digestOf("go-tools") +
			`","frontmatter":{"name":"go-tools","z":1,"a":[true]},"turn_digest":"` + digest + `"}`,
		`skill_invoked {"name":"alpha","slug":"alpha","args":"fill in","mode":"manual","effective_allowed_tools":["Read"],"turn_digest":"` + digest + `"}`,
		`skill_invoked {"name":"go-tools","slug":"go-tools","mode":"auto","effective_allowed_tools":["Read","Bash(go:*)"],"turn_digest":"` + digest + `"}`,
	}
	for _, way := range [][]string{{"/v1/resolve", asked}, {"/v1/prompt", asked}, {"/v1/rpc", call("skills/resolve", asked)}, {"/v1/rpc", call("skills/prompt", asked)}} {
		h, events := recordingTurns(turn.Events{PerMinute: 100})
		handler := h.handler()
		for range 2 { // from the disk, then from memory
			*events = nil
			if w := ask(handler, "POST", way[0], way[1]); w.Code != 200 {
				t.Fatalf("%s: %d %s", way[0], w.Code, w.Body)
			}
			(*events)[0] = score.ReplaceAllString((*events)[0], `"relevance":SCORE`)
			if diff := cmp.Diff(want, *events); diff != "" {
				t.Errorf("%s (-want +got):\n%s", way, diff)
			}
		}
	}
}

// score is that of a skill that a text is about. Package rank has tests of its value.
var score = regexp.MustCompile(`"relevance":[0-9.]+`)

func call(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// TestBodiesInPromptsAreLoaded emits skill_loaded for the bodies that a prompt shows, and for no other.
func TestBodiesInPromptsAreLoaded(t *testing.T) {
	for _, format := range []string{"molecule", "skills_xml"} {
		h, events := recordingTurns(turn.Events{PerMinute: 100})
		h.turns.Resources = func(context.Context, *pannier.Skill) (pannier.Resources, error) {
			return pannier.Resources{Incomplete: true}, nil // so each skill counts as omitted
		}
		handler := h.handler()
		loaded := func() (names []string) {
			for _, e := range *events {
				if data, ok := strings.CutPrefix(e, "skill_loaded "); ok {
					names = append(names, decodeText[pannier.SkillLoaded](t, data).Name)
				}
			}
			*events = nil
			return names
		}
		all := []string{"alpha", "go-tools", "omega"} // gamma has no readable text
		w := ask(handler, "GET", "/v1/prompt?format="+format, "")
		if diff := cmp.Diff(all, loaded()); diff != "" {
			t.Errorf("%s by GET: %s", format, diff)
		}
		ask(handler, "GET", "/v1/prompt?format="+format, "", "If-None-Match", w.Header().Get("ETag"))
		ask(handler, "HEAD", "/v1/prompt?format="+format, "")
		if got := loaded(); got != nil {
			t.Errorf("%s: answers without a prompt load %s", format, got)
		}
		ask(handler, "POST", "/v1/prompt", `{"format":"`+format+`"}`)
		if diff := cmp.Diff(all, loaded()); diff != "" {
			t.Errorf("%s by POST: %s", format, diff)
		}
		ask(handler, "POST", "/v1/resolve", `{"format":"`+format+`","limits":{"max_bodies":1}}`)
		if diff := cmp.Diff(all[:1], loaded()); diff != "" {
			t.Errorf("%s with one body: %s", format, diff)
		}
		ask(handler, "POST", "/v1/resolve", `{"format":"`+format+`","limits":{"max_chars":1}}`)
		if got := loaded(); got != nil {
			t.Errorf("%s without room loads %s", format, got)
		}
	}
}

// TestSkillWithoutABodyIsNotCounted limits the bodies to one, with a skill of tools only that comes first.
func TestSkillWithoutABodyIsNotCounted(t *testing.T) {
	h, events := recordingTurns(turn.Events{PerMinute: math.MaxInt})
	tools := entry("aa-tools", pannier.StateEligible)
	tools.ToolsOnly = true
	h.snapshot.Entries = append([]*pannier.Entry{tools}, h.snapshot.Entries...)
	ask(h.handler(), "POST", "/v1/resolve", `{"format":"molecule","limits":{"max_bodies":1}}`)
	turn := decodeText[pannier.TurnResolved](t, strings.TrimPrefix((*events)[0], "turn_resolved "))
	if turn.Bodies != 1 {
		t.Errorf("%d bodies, want that of the first skill that has one", turn.Bodies)
	}
}

// TestOmittedBodiesAreNotLoaded renders prompts of every size with a skill that has tools and no body: no skill_loaded is
// about a body that the prompt omits, and bodies counts the others.
func TestOmittedBodiesAreNotLoaded(t *testing.T) {
	for _, format := range []string{"molecule", "skills_xml"} {
		h, events := recordingTurns(turn.Events{PerMinute: math.MaxInt})
		tools := entry("tools", pannier.StateEligible)
		tools.ToolsOnly = true
		h.snapshot.Entries = append(h.snapshot.Entries, tools)
		slices.SortStableFunc(h.snapshot.Entries, func(a, b *pannier.Entry) int { return strings.Compare(a.Slug, b.Slug) })
		long := documents()
		long.read = func(s *pannier.Skill) (pannier.Document, error) {
			doc, err := documents().read(s)
			doc.Body = strings.Repeat("text ", 100) // so that a skill without its body is shorter
			return doc, err
		}
		h.content.Texts = long
		handler := h.handler()
		for limit := 100; limit < 3000; limit += 10 {
			*events = nil
			w := ask(handler, "POST", "/v1/resolve", fmt.Sprintf(`{"format":%q,"limits":{"max_chars":%d}}`, format, limit))
			omitted := decodeText[pannier.Resolution](t, w.Body.String()).Prompt.Omitted
			loaded := 0
			for _, e := range *events {
				if data, ok := strings.CutPrefix(e, "skill_loaded "); ok {
					loaded++
					if name := decodeText[pannier.SkillLoaded](t, data).Name; slices.Contains(omitted, name) {
						t.Errorf("%s of %d characters: %s is loaded and omitted", format, limit, name)
					}
				}
			}
			turn := decodeText[pannier.TurnResolved](t, strings.TrimPrefix((*events)[0], "turn_resolved "))
			if turn.Bodies != loaded {
				t.Errorf("%s of %d characters: %d bodies, %d loaded", format, limit, turn.Bodies, loaded)
			}
		}
	}
}

func decodeText[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestResourcesInPromptsAreRecorded wants the digests of the links and examples that a prompt shows.
func TestResourcesInPromptsAreRecorded(t *testing.T) {
	h, events := recordingTurns(turn.Events{PerMinute: 100})
	links := pannier.DigestOf([]byte("links"))
	h.turns.Resources = func(context.Context, *pannier.Skill) (pannier.Resources, error) {
		return pannier.Resources{
			Links: []pannier.Link{{URL: "https://a.example/"}}, LinksDigest: links,
			Examples: []pannier.ExampleFile{{Path: "examples/one.md", Text: "one"}},
		}, nil
	}
	ask(h.handler(), "GET", "/v1/prompt?format=molecule", "")
	if len(*events) == 0 {
		t.Fatal("no event")
	}
	loaded := decodeText[pannier.SkillLoaded](t, strings.TrimPrefix((*events)[0], "skill_loaded "))
	want := []pannier.LoadedFile{{Path: "links.yaml", Digest: links}, {Path: "examples/one.md", Digest: pannier.DigestOf([]byte("one"))}}
	if !slices.Equal(loaded.Resources, want) {
		t.Errorf("resources %+v", loaded.Resources)
	}
}

// TestTextOfATurn is recorded only if the settings allow it, and only up to a bound.
func TestTextOfATurn(t *testing.T) {
	for _, tt := range []struct {
		text     bool
		turn     string
		recorded bool
	}{{false, "secret plan", false}, {true, "secret plan", true}, {true, strings.Repeat("x", 16<<10), false}} {
		h, events := recordingTurns(turn.Events{PerMinute: 100, Text: tt.text})
		ask(h.handler(), "POST", "/v1/resolve", `{"text":"`+tt.turn+`"}`)
		if len(*events) != 1 || strings.Contains((*events)[0], tt.turn) != tt.recorded {
			t.Errorf("text %t, %.20s: %.200q", tt.text, tt.turn, *events)
		}
	}
}

// TestArgumentsAreMasked masks the arguments of turns and commands in their events, unless the text of turns is recorded.
func TestArgumentsAreMasked(t *testing.T) {
	for text, want := range map[bool]string{false: "use [masked]", true: "use hunter2"} {
		h, events := recordingTurns(turn.Events{
			PerMinute: 100, Text: text,
			Mask: func(args string) string { return strings.ReplaceAll(args, "hunter2", "[masked]") },
		})
		h.content.Commands = service.Commands{List: resolve.Commands, Find: resolve.Command}
		h.content.Emit = func(kind pannier.EventType, data any) { h.turns.Events.Emit(kind, data) }
		handler := h.handler()
		ask(handler, "POST", "/v1/resolve", `{"text":"/skill:alpha use hunter2"}`)
		ask(handler, "POST", "/v1/commands/alpha", `{"args":"use hunter2"}`)
		var args []string
		for _, e := range *events {
			if data, ok := strings.CutPrefix(e, "skill_invoked "); ok {
				args = append(args, decodeText[pannier.SkillInvoked](t, data).Args)
			}
		}
		if diff := cmp.Diff([]string{want, want}, args); diff != "" {
			t.Errorf("text %t: %s", text, diff)
		}
	}
}

// TestTurnsAreSampled asks 50 times a second for two minutes: what is recorded is the setting, and each event tells how many turns
// came between.
func TestTurnsAreSampled(t *testing.T) {
	for _, tt := range []struct {
		perMinute, least, most int
		body                   string
	}{
		{0, 0, 0, `{}`},
		{30, 85, 90, `{}`}, // one minute at the start, then two
		{30, 84, 93, `{"text":"$alpha $go-tools"}`},      // three events a turn
		{1, 3, 6, `{"text":"$alpha $go-tools"}`},         // whole turns, if there is room for one event
		{math.MaxInt, 6000, 6000, `{}`},                  // all
		{math.MaxInt, 12000, 12000, `{"text":"$alpha"}`}, // all
	} {
		synctest.Test(t, func(t *testing.T) {
			h, events := recordingTurns(turn.Events{PerMinute: tt.perMinute})
			handler := h.handler()
			for range 6000 {
				ask(handler, "POST", "/v1/resolve", tt.body)
				time.Sleep(20 * time.Millisecond)
			}
			got, turns := len(*events), 0
			for _, e := range *events {
				if data, ok := strings.CutPrefix(e, "turn_resolved "); ok {
					turns += 1 + int(decodeText[pannier.TurnResolved](t, data).Unrecorded)
				}
			}
			if got < tt.least || got > tt.most || turns > 6000 || tt.perMinute == 30 && turns < 5800 {
				t.Errorf("%d a minute, %s: %d events, want %d to %d; they tell of %d turns", tt.perMinute, tt.body, got, tt.least, tt.most, turns)
			}
		})
	}
}

// TestRefusedTurnEvents counts a turn whose events find no room in the event that finds room again.
func TestRefusedTurnEvents(t *testing.T) {
	h, events := recordingTurns(turn.Events{PerMinute: 100})
	take, full := h.turns.Events.Emit, true
	h.turns.Events.Emit = func(kind pannier.EventType, data any) bool { return !full && take(kind, data) }
	handler := h.handler()
	for range 3 {
		ask(handler, "POST", "/v1/resolve", `{"text":"$alpha"}`)
	}
	full = false
	ask(handler, "POST", "/v1/resolve", `{}`)
	if len(*events) != 1 || !strings.Contains((*events)[0], `"unrecorded":3`) {
		t.Errorf("%q", *events)
	}
}

// TestWideningTurnsAreSampled resolves fifty turns in which a skill adds tools: their warnings are limited with the other events.
func TestWideningTurnsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, events := recordingTurns(turn.Events{PerMinute: 10})
		h.turns.Resolve = resolve.Rules{Profile: pannier.ProfileFullAuto}.Resolve
		h.content.Emit = func(kind pannier.EventType, data any) { h.turns.Events.Emit(kind, data) }
		handler := h.handler()
		for range 50 {
			ask(handler, "POST", "/v1/resolve", `{"text":"$go-tools","tools":[]}`)
		}
		warnings := 0
		for _, e := range *events {
			if strings.HasPrefix(e, "skill_warning ") {
				warnings++
			}
		}
		if warnings == 0 || len(*events) > 12 {
			t.Errorf("%d events, %d of them warnings", len(*events), warnings)
		}
	})
}

// TestUnrecordedTurns counts the turns that were not recorded, and no GET of a prompt, as the metric does.
func TestUnrecordedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, events := recordingTurns(turn.Events{PerMinute: 1})
		registry := prometheus.NewRegistry()
		h.options.Registerer = registry
		handler := h.handler()
		for range 3 {
			ask(handler, "POST", "/v1/resolve", `{"text":"$alpha"}`)
			for range 8 {
				ask(handler, "GET", "/v1/prompt?format=molecule", "")
			}
		}
		time.Sleep(time.Hour)
		ask(handler, "POST", "/v1/resolve", `{}`)
		last := (*events)[len(*events)-1]
		if got := decodeText[pannier.TurnResolved](t, strings.TrimPrefix(last, "turn_resolved ")).Unrecorded; got != 2 {
			t.Errorf("%d unrecorded turns, want 2: %s", got, last)
		}
		const metric = `# HELP pannier_turns_total Turns that were answered, by whether their events were recorded.
# TYPE pannier_turns_total counter
pannier_turns_total{recorded="false"} 2
pannier_turns_total{recorded="true"} 2
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(metric), "pannier_turns_total"); err != nil {
			t.Error(err)
		}
	})
}

// TestEventsOfATurnAreBounded resolves a turn that names more than an event lists.
func TestEventsOfATurnAreBounded(t *testing.T) {
	h, events := recordingTurns(turn.Events{PerMinute: 1000})
	handler := h.handler()
	long := strings.Repeat("x", 5000)
	capabilities := strings.Repeat(`{"id":"c","slug":"`+long+`"},`, 100) + `{"id":"d","slug":"alpha"}`
	if w := ask(handler, "POST", "/v1/resolve", `{"capabilities":[`+capabilities+`],"text":"/skill:alpha `+long+`"}`); w.Code != 200 {
		t.Fatal(w.Body)
	}
	turn := decodeText[pannier.TurnResolved](t, strings.TrimPrefix((*events)[0], "turn_resolved "))
	if len(turn.Skills) != pannier.MaxTurnSkills || !turn.Truncated || turn.Rejected[pannier.RejectedNotFound] != 100 || len(turn.Skills[1].Slug) != pannier.MaxTurnSlugBytes {
		t.Errorf("%d skills, %t, %v, a slug of %d bytes", len(turn.Skills), turn.Truncated, turn.Rejected, len(turn.Skills[1].Slug))
	}
	run := decodeText[pannier.SkillInvoked](t, strings.TrimPrefix((*events)[1], "skill_invoked "))
	if len(*events) != 2 || len(run.Args) != 4<<10 {
		t.Errorf("%d events, arguments of %d bytes", len(*events), len(run.Args))
	}
}

// TestLoadsTellWarnings has the problems of a skill in each skill_loaded ("skill_loaded: {name, path, digest, frontmatter,
// warnings?}", OpenSkills contract), but for those of level info, and not more than their bound.
func TestLoadsTellWarnings(t *testing.T) {
	h, events := recordingTurns(turn.Events{PerMinute: 100})
	h.content.Commands = service.Commands{List: resolve.Commands, Find: resolve.Command}
	h.content.Emit = func(kind pannier.EventType, data any) { h.turns.Events.Emit(kind, data) }
	alpha, _ := h.snapshot.Lookup("alpha")
	add := func(severity pannier.Severity, message string) {
		alpha.Problems = append(alpha.Problems, pannier.Problem{Code: "skill.x", Severity: severity, Path: "skills/alpha/SKILL.md", Line: 2, Message: message})
	}
	alpha.Problems = nil
	add(pannier.SeverityInfo, "said")
	add(pannier.SeverityWarning, "wrong")
	handler := h.handler()
	loads := func(want func([]pannier.SkillWarning) bool) {
		t.Helper()
		for _, way := range [][]string{
			{"GET", "/v1/skills/alpha/content", ""},
			{"POST", "/v1/commands/alpha", ""},
			{"POST", "/v1/rpc", call("skills/read", `{"slug":"alpha"}`)},
			{"GET", "/v1/prompt?format=molecule", ""},
		} {
			*events = nil
			ask(handler, way[0], way[1], way[2])
			if len(*events) == 0 || !strings.HasPrefix((*events)[0], "skill_loaded ") {
				t.Errorf("%s: %q", way, *events)
				continue
			}
			loaded := decodeText[pannier.SkillLoaded](t, strings.TrimPrefix((*events)[0], "skill_loaded "))
			if loaded.Name != "alpha" || !want(loaded.Warnings) {
				t.Errorf("%s: %s", way, (*events)[0])
			}
		}
	}
	loads(func(got []pannier.SkillWarning) bool {
		return slices.Equal(got, []pannier.SkillWarning{{Kind: "skill.x", Detail: "skills/alpha/SKILL.md:2: wrong"}})
	})
	for range 20 {
		add(pannier.SeverityError, strings.Repeat("long", 1000))
	}
	loads(func(got []pannier.SkillWarning) bool {
		return len(got) == pannier.MaxLoadWarnings && len(got[9].Detail) == 512
	})
}
