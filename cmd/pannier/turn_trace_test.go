package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/replay"
)

const turnTraceSkills = `mkdir -p skills/forms skills/go-code
printf -- '---\nname: forms\ndescription: Fills in forms.\nallowed-tools: Read\n---\nFill it in.\n' > skills/forms/SKILL.md
printf -- '---\nname: go-code\ndescription: Writes Go.\npaths: ["**/*.go"]\n---\nWrite it.\n' > skills/go-code/SKILL.md
`

// TestFollowedSidecarEnds has a command that follows events say that the sidecar stopped, or was killed.
func TestFollowedSidecarEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*sidecarUnderTest){
		"stopped": func(s *sidecarUnderTest) { s.terminate(t) },
		"killed":  func(s *sidecarUnderTest) { s.kill() },
	} {
		w := newWorkspace(t)
		s := startSidecar(t, w)
		f := start(t, "events", "--follow", "--socket", s.socket)
		f.logs(t, "skill_catalog_updated")
		end(s)
		select {
		case <-f.done:
			f.done <- nil
		case <-time.After(patience):
			t.Fatal("the command follows a sidecar that ended")
		}
		if code := f.cmd.ProcessState.ExitCode(); code != exitNoSidecar || !strings.Contains(f.log.String(), "the sidecar ended the event stream") {
			t.Errorf("%s: exit code %d: %s", name, code, f.log)
		}
	}
}

// follower is `pannier events --follow` of some types.
func (s *sidecarUnderTest) follower(t *testing.T, types string) *lockedBuffer {
	t.Helper()
	cmd := command("events", "--follow", "--json", "--types", types, "--socket", s.socket)
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	need(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return out
}

// prints waits until the follower has printed so many lines, and returns each as "type data" without digests.
func prints(t *testing.T, out *lockedBuffer, want int) (printed []string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d events", want), func() error {
		if text := out.String(); strings.Count(text, "\n") != want {
			return fmt.Errorf("printed %s", text)
		}
		return nil
	})
	for _, e := range lines[struct {
		Type pannier.EventType
		Data map[string]any
	}](t, []byte(out.String())) {
		for _, name := range []string{"digest", "turn_digest"} {
			delete(e.Data, name)
		}
		text := must(json.Marshal(e.Data))(t)
		printed = append(printed, fmt.Sprintf("%s %s", e.Type, text))
	}
	return printed
}

// TestTurnsLeaveATrace follows the events of turns over the socket.
//
// The OpenSkills contract: "every skill load/invocation is logged as structured events"; "skill_loaded: {name, path, digest,
// frontmatter, warnings?}"; "skill_invoked: {name, args?, mode:manual|auto, effective_allowed_tools?}". Pioneer: "Turn-time
// resolution can also store dependency diagnostics."
func TestTurnsLeaveATrace(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, turnTraceSkills), "--platform-url", "off")
	out := s.follower(t, "turn_resolved,skill_loaded,skill_invoked")
	resolved, err := s.Resolve(t.Context(), pannier.Turn{Text: "/skill:forms fill in\nsecret plan @skill:none", Paths: []string{"cmd/main.go"}})
	if err != nil || resolved.Active[0].Slug != "forms" || resolved.Active[0].Relevance == nil {
		t.Fatalf("%+v, %v", resolved.Active, err)
	}
	relevance := strconv.FormatFloat(resolved.Active[0].Relevance.Score, 'f', -1, 64)
	must(s.Call(t.Context(), "skills/prompt", map[string]any{"text": "secret plan", "format": "molecule"}))(t)
	must(s.AutomaticPrompt(t.Context(), "skills_xml", nil))(t)
	loaded := map[string]string{}
	for slug, more := range map[string]string{"forms": `"allowed-tools":"Read","description":"Fills in forms.","name":"forms"`, "go-code": `"description":"Writes Go.","name":"go-code","paths":["**/*.go"]`} {
		loaded[slug] = `skill_loaded {"frontmatter":{` + more + `},"name":"` + slug + `","path":"skills/` + slug + `"}`
	}
	want := []string{
		`turn_resolved {"active":{"explicit_reference":1,"path_match":1},"bodies":1,"excluded_tools":[],"format":"compact","rejected":{"not_found":1},"skills":[` +
			`{"reason":"explicit_reference","relevance":` + relevance + `,"slug":"forms","state":"active"},{"reason":"path_match","slug":"go-code","state":"active"},` +
			`{"reason":"not_found","slug":"none","state":"rejected"}]}`,
		loaded["go-code"],
		`skill_invoked {"args":"fill in","effective_allowed_tools":["Read"],"mode":"manual","name":"forms","slug":"forms"}`,
		`skill_invoked {"mode":"auto","name":"go-code","slug":"go-code"}`,
		`turn_resolved {"active":{"implicit":2},"bodies":2,"excluded_tools":[],"format":"molecule","rejected":{},"skills":[]}`,
		loaded["forms"], loaded["go-code"],
		loaded["forms"], loaded["go-code"], // of the prompt without a turn
	}
	if diff := cmp.Diff(want, prints(t, out, len(want))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := s.metric(t, `pannier_turns_total{recorded="true"}`); n != 2 {
		t.Errorf("%v turns are recorded, want 2", n)
	}
	if s.terminate(t); strings.Contains(out.String()+s.log.String(), "secret plan") {
		t.Error("the text of a turn was recorded")
	}
}

// TestBusyTurnsAreSampled resolves more turns than are recorded: the journal keeps the first event.
func TestBusyTurnsAreSampled(t *testing.T) {
	t.Parallel()
	s := startSidecar(t, workspaceWith(t, turnTraceSkills), "--platform-url", "off", "--turn-events", "5")
	const turns = 500
	for range turns {
		must(s.Resolve(t.Context(), pannier.Turn{}))(t)
	}
	recorded := s.metric(t, `pannier_turns_total{recorded="true"}`)
	if recorded < 5 || recorded > turns/10 || recorded+s.metric(t, `pannier_turns_total{recorded="false"}`) != turns {
		t.Errorf("%v of %d turns are recorded", recorded, turns)
	}
	if events := s.all(t); events[0].Seq != 1 || events[0].Type != pannier.EventCatalogUpdated {
		t.Errorf("the first event is %+v", events[0])
	}
}

// TestTurnsReplay replays turns that were recorded with their text and without it. The OpenSkills contract: "catalog creation +
// skill load/invoke produce identical snapshots and equivalent event streams".
func TestTurnsReplay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args       []string
		again      map[pannier.EventType]int
		superseded int
	}{
		{
			[]string{"--turn-events", "replay"},
			map[pannier.EventType]int{pannier.EventCatalogUpdated: 1, pannier.EventTurnResolved: 3, pannier.EventSkillLoaded: 1, pannier.EventSkillInvoked: 3},
			0,
		},
		{nil, map[pannier.EventType]int{pannier.EventCatalogUpdated: 1, pannier.EventSkillLoaded: 1, pannier.EventSkillInvoked: 2}, 1},
		{[]string{"--turn-events", "off"}, map[pannier.EventType]int{pannier.EventCatalogUpdated: 1}, 0},
	} {
		w, state := workspaceWith(t, turnTraceSkills), t.TempDir()
		s := startSidecar(t, w, append(tt.args, "--platform-url", "off", "--state-dir", state)...)
		r := &recorded{sidecarUnderTest: s, journal: filepath.Join(state, testWorkspaceID, "journal")}
		r.settles(t)
		for _, turn := range []pannier.Turn{
			{Text: "/skill:forms fill in", Paths: []string{"cmd/main.go"}},
			{Capabilities: []pannier.Capability{{ID: "c", Slug: "forms"}}},
			{Verbose: true, Text: "@skill:none"},
		} {
			must(s.Resolve(t.Context(), turn))(t)
		}
		s.stops(t)
		report := r.replays(t, r.journal, exitYes)
		if diff := cmp.Diff(tt.again, report.Replayed); diff != "" || report.Superseded != tt.superseded || report.Verdict != replay.Equal {
			t.Errorf("%v: %s, %d superseded (-want +got):\n%s", tt.args, report.Verdict, report.Superseded, diff)
		}
		if len(tt.args) != 3 {
			continue
		}
		writeIn(t, w, "sed -i 's/[.]go/.rs/' skills/go-code/SKILL.md")
		report = r.replays(t, r.journal, exitNo) // another snapshot: its turns are not resolved again
		if report.Replayed[pannier.EventTurnResolved] != 0 || report.Superseded != 4 {
			t.Errorf("with another skill: %+v", report)
		}
	}
}
