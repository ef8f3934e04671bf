package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pannier"
	"pannier/replay"
)

// recorded is a run of the built binary that has ended, with its events.
type recorded struct {
	*sidecarUnderTest
	journal string
	digest  pannier.Digest
	events  []pannier.Event
}

// record runs a sidecar on a workspace of its own, with some edits, loads and invocations, and ends it.
func record(t *testing.T) *recorded {
	t.Helper()
	w, state := newWorkspace(t), t.TempDir()
	writeIn(t, w, skillScript("first", "Is there before.")+skillScript("second", "Is edited.")+skillScript("third", "Goes away.")+
		"mkdir skills/second/refs; printf 'a reference\n' > skills/second/refs/a.md")
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", state)
	r := &recorded{sidecarUnderTest: s, journal: filepath.Join(state, testWorkspaceID, "journal")}
	r.settles(t)
	r.load(t, "first")
	r.load(t, "second")
	r.edit(t, "printf 'another\n' > skills/second/refs/a.md; sed s/edited/changed/ skills/second/SKILL.md > .new; mv .new skills/second/SKILL.md")
	r.edit(t, "mv skills/third .gone")
	must(s.SetPolicy(t.Context(), "first", "", pannier.PolicyChange{AllowImplicit: pannier.Toggle{Given: true, To: new(false)}}))(t)
	r.settles(t)
	r.edit(t, "mkdir .new; sed s/first/fourth/ skills/first/SKILL.md > .new/SKILL.md; mv .new skills/fourth")
	r.hasEvent(t, pannier.EventSkillStateChanged, `"slug":"fourth"`)
	r.load(t, "first")
	r.load(t, "second")
	must(s.RunCommand(t.Context(), "fourth", "now <&>"))(t)
	if text, digest, err := s.File(t.Context(), "second", "refs/a.md"); err != nil || string(text) != "another\n" || digest != pannier.DigestOf(text) {
		t.Fatalf("%q %s %v", text, digest, err)
	}
	r.events = s.all(t)
	s.stops(t)
	return r
}

func (r *recorded) load(t *testing.T, slug string) {
	t.Helper()
	must(r.Content(t.Context(), slug))(t)
}

// edit changes the workspace by a script whose last step is all that shows in the catalog.
func (r *recorded) edit(t *testing.T, script string) {
	t.Helper()
	r.write(t, script)
	r.settles(t)
}

// settles waits until what is on the disk is served and has been told.
func (r *recorded) settles(t *testing.T) {
	t.Helper()
	need(t, r.Rescan(t.Context()))
	list := must(r.Skills(t.Context(), "", false))(t)
	r.digest = list.Digest
	r.hasEvent(t, pannier.EventCatalogUpdated, r.digest.String())
}

// replay runs `pannier replay` with the settings of the sidecar in a file: its variables would be part of the environment.
func (r *recorded) replay(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	need(t, os.WriteFile(settings, []byte("workspace: "+r.workspace+"\nenvironment:\n  own: block\n"), 0o600))
	cmd := command(append([]string{"replay", "--config", settings}, args...)...)
	text, _ := cmd.CombinedOutput()
	return string(text), cmd.ProcessState.ExitCode()
}

// replays runs `pannier replay` and returns what it prints.
func (r *recorded) replays(t *testing.T, journal string, want int) (report replay.Report) {
	t.Helper()
	out, code := r.replay(t, journal, "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != want {
		t.Fatalf("exit code %d, want %d: %s (%v)", code, want, out, err)
	}
	return report
}

// TestReplay records a run and replays it: to the same snapshot and the same events, until a byte is another one.
func TestReplay(t *testing.T) {
	t.Parallel()
	r := record(t)
	report := r.replays(t, r.journal, exitYes)
	again := map[pannier.EventType]int{pannier.EventCatalogUpdated: 1, pannier.EventSkillLoaded: 3, pannier.EventSkillInvoked: 1, pannier.EventSkillFileRead: 1}
	if report.Verdict != replay.Equal || report.Digest != r.digest || report.RecordedDigest != r.digest || report.Superseded != 2 || !cmp.Equal(again, report.Replayed) {
		t.Errorf("%+v, want digest %s", report, r.digest)
	}

	printed := filepath.Join(t.TempDir(), "events")
	r.print(t, printed, r.events)
	if got := r.replays(t, printed, exitYes); got.Verdict != replay.Equal || got.Events != len(r.events) {
		t.Errorf("the events as they are printed: %+v", got)
	}

	for what, change := range map[string]struct {
		script string
		fields []string
	}{
		"a body":     {"sed -i s/Do/Go/ skills/second/SKILL.md", []string{"skill_catalog_updated catalog digest", "skill_loaded skills/second digest"}},
		"a file":     {"printf 'anothes\n' > skills/second/refs/a.md", []string{"skill_file_read second/refs/a.md digest"}},
		"a new one":  {skillScript("fifth", "Is new."), []string{"skill_catalog_updated catalog count", "skill_catalog_updated catalog digest", "skill_catalog_updated catalog skills"}},
		"a lost one": {"rm -r skills/fourth; cp -r skills/first skills/sixth; sed -i s/first/sixth/ skills/sixth/SKILL.md", []string{"skill_catalog_updated catalog digest", "skill_catalog_updated catalog skills", "skill_invoked fourth ", "skill_loaded skills/fourth "}},
	} {
		writeIn(t, r.workspace, "cp -r skills .kept")
		writeIn(t, r.workspace, change.script)
		report := r.replays(t, r.journal, exitNo)
		var fields []string
		for _, d := range report.Differences {
			fields = append(fields, fmt.Sprintf("%s %s %s", d.Type, d.Subject, d.Field))
		}
		slices.Sort(fields)
		if diff := cmp.Diff(change.fields, fields); diff != "" || report.Verdict != replay.Differs {
			t.Errorf("%s: %s (-want +got):\n%s", what, report.Verdict, diff)
		}
		writeIn(t, r.workspace, "rm -r skills; mv .kept skills")
	}
	if out, code := r.replay(t, r.journal); code != exitYes || !strings.HasPrefix(out, "equal: ") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestReplayOfResources compares the links and examples that a prompt showed. They count for the digest of the catalog too.
func TestReplayOfResources(t *testing.T) {
	t.Parallel()
	w, state := workspaceWith(t, skillScript("first", "Has examples.")+"mkdir skills/first/examples; printf 'one\n' > skills/first/examples/one.md"), t.TempDir()
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", state)
	r := &recorded{sidecarUnderTest: s, journal: filepath.Join(state, testWorkspaceID, "journal")}
	eventually(t, "the recorded digest covers the examples", func() error {
		if out, code := r.replay(t, r.journal); code != exitYes {
			return errors.New(out)
		}
		return nil
	})
	must(s.Prompt(t.Context(), pannier.Turn{Format: "molecule"}))(t)
	r.hasEvent(t, pannier.EventSkillLoaded, `"path":"examples/one.md"`)
	s.stops(t)
	if report := r.replays(t, r.journal, exitYes); report.Verdict != replay.Equal {
		t.Errorf("%+v", report)
	}
	for _, script := range []string{"printf 'two\n' > skills/first/examples/one.md", "rm -r skills/first/examples"} {
		writeIn(t, w, script)
		report := r.replays(t, r.journal, exitNo)
		var fields []string
		for _, d := range report.Differences {
			fields = append(fields, string(d.Type)+" "+d.Field)
		}
		slices.Sort(fields)
		if !slices.Equal(fields, []string{"skill_catalog_updated digest", "skill_loaded resources"}) { // the catalog covers what prompts show
			t.Errorf("%s: %+v", script, report.Differences)
		}
	}
}

// TestRunsAreEquivalent: doing the same twice tells the same events with the same data, but for numbers and times.
func TestRunsAreEquivalent(t *testing.T) {
	t.Parallel()
	a, b := record(t), record(t)
	for _, kinds := range [][]pannier.EventType{ // each in its order; what is asked for and what is seen go side by side
		{pannier.EventCatalogUpdated, pannier.EventSkillStateChanged, pannier.EventSkillWarning},
		{pannier.EventSkillLoaded, pannier.EventSkillInvoked, pannier.EventSkillFileRead, pannier.EventPolicyChanged},
	} {
		if diff := cmp.Diff(told(t, a.events, kinds), told(t, b.events, kinds)); diff != "" {
			t.Errorf("-first +second:\n%s", diff)
		}
	}
	if len(a.events) != len(b.events) || a.digest != b.digest {
		t.Errorf("%d and %d events, %s and %s", len(a.events), len(b.events), a.digest, b.digest)
	}
}

// told returns the types and the data of events.
func told(t *testing.T, events []pannier.Event, kinds []pannier.EventType) []string {
	t.Helper()
	var all []string
	for _, e := range events {
		if slices.Contains(kinds, e.Type) {
			all = append(all, fmt.Sprintf("%s %s", e.Type, e.Data))
		}
	}
	return all
}

// print writes events as `pannier events --json` does.
func (r *recorded) print(t *testing.T, path string, events []pannier.Event) {
	t.Helper()
	var text []byte
	for _, e := range events {
		line := must(compactJSON(e))(t)
		text = append(append(text, line...), '\n')
	}
	need(t, os.WriteFile(path, text, 0o644))
}

// TestReplayOfParts: what the events do not tell is not taken for a difference, nor for none.
func TestReplayOfParts(t *testing.T) {
	t.Parallel()
	r := record(t)
	dir := t.TempDir()
	part := func(name string, events []pannier.Event) string {
		path := filepath.Join(dir, name)
		r.print(t, path, events)
		return path
	}
	catalog := slices.IndexFunc(r.events, func(e pannier.Event) bool { return e.Type == pannier.EventPolicyChanged }) + 1
	late := r.replays(t, part("late", r.events[catalog:]), exitUnknown)
	if late.Verdict != replay.Unknown || len(late.Unknown) != 1 || len(late.Differences) > 0 {
		t.Errorf("without the policy: %+v", late)
	}
	for name, text := range map[string]string{
		"empty": "", "text": "hello\n", "none": `{"seq":1,"time":"2026-01-01T00:00:00Z","type":"skill_loaded","workspace_id":"","snapshot_version":1,"data":{}}` + "\n",
		"array": `{"seq":1,"type":"skill_catalog_updated","data":[]}` + "\n",
	} {
		path := filepath.Join(dir, name)
		need(t, os.WriteFile(path, []byte(text), 0o644))
		r.runs(t, exitUnknown, "hint: ", "replay", path)
	}
	torn := filepath.Join(dir, "journal")
	writeIn(t, dir, "mkdir journal; cp "+r.journal+"/*.jsonl journal; printf '{\"seq\":99' >> journal/00000000000000000001.jsonl")
	before, _ := os.ReadFile(torn + "/00000000000000000001.jsonl")
	if got := r.replays(t, torn, exitYes); got.Verdict != replay.Equal {
		t.Errorf("a journal that is written to: %+v", got)
	}
	if after, _ := os.ReadFile(torn + "/00000000000000000001.jsonl"); string(after) != string(before) {
		t.Error("the journal was changed")
	}
	for _, missing := range []string{torn + "/none", dir + "/.", r.workspace} {
		if _, code := r.run("replay", missing); code != exitUnknown {
			t.Errorf("%s: exit code %d", missing, code)
		}
	}
}

// TestReplayCalls records a call of a tool and decides it again: the same, until tools are off, or its script changed. The tool is
// never run.
func TestReplayCalls(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	w, state := reportWorkspace(t), t.TempDir()
	ran := filepath.Join(w, "ran")
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	enable := func(enabled string) {
		t.Helper()
		text := "workspace: " + w + "\nenvironment:\n  own: block\ntools:\n  enabled: " + enabled + "\n"
		need(t, os.WriteFile(settings, []byte(text), 0o600))
	}
	s := startSidecar(t, w, "--tools-enabled", "--tools-runner=self", "--scan=report", "--state-dir", state, "--platform-url", "off")
	s.refusedBy(t, pannier.ToolNotAllowed)
	s.runs(t, exitYes, "sha256:", "tool", "allow", "repo-review")
	s.runs(t, exitYes, "report\n{}\n", "tool", "call", reportTool)
	s.hasEvent(t, pannier.EventSkillToolCalled, reportTool)
	s.stops(t)
	journal := filepath.Join(state, testWorkspaceID, "journal")
	differs := func(want string) {
		t.Helper()
		cmd := command("replay", "--config", settings, "--json", journal)
		out, _ := cmd.Output()
		var report replay.Report
		if err := json.Unmarshal(out, &report); err != nil || report.Replayed[pannier.EventSkillToolCalled] != 1 {
			t.Fatalf("%v: %s", err, out)
		}
		var found []string
		for _, d := range report.Differences {
			if d.Type == pannier.EventSkillToolCalled {
				found = append(found, fmt.Sprintf("%s: %s was %s, is %s", d.Detail, d.Field, d.Recorded, d.Now))
			}
		}
		if got := strings.Join(found, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	enable("true")
	differs("")
	enable("false")
	differs("not offered any more: " + pannier.ToolsDisabled)
	enable("true")
	writeReport(t, w, "touch "+ran+"\n")
	differs("fingerprint was")
	if _, err := os.Stat(ran); err == nil {
		t.Error("a replay ran the tool")
	}
}

// TestReplayExplainsATool records a turn in which a tool is not offered and a skill lacks a dependency: the event says why, and a replay
// with other settings names the tool.
func TestReplayExplainsATool(t *testing.T) {
	t.Parallel()
	w, state := newWorkspace(t), t.TempDir()
	writeIn(t, w, toolFile("skills/calc/tools/calc.py", "add")+`mkdir skills/needy; printf -- '---\nname: needy\ndescription: Needs it.\ndependencies: {api_keys: [NEEDY_KEY]}\n---\nDo it.\n' > skills/needy/SKILL.md`)
	s := startSidecar(t, w, "--platform-url", "off", "--state-dir", state, "--turn-events", "replay")
	s.offers(t, "skill.calc.add")
	must(s.Resolve(t.Context(), pannier.Turn{Text: "/skill:needy"}))(t)
	s.hasEvent(t, pannier.EventTurnResolved, `"skills":[{"slug":"needy","state":"rejected","reason":"dependency_missing","codes":["missing_api_key"],"subjects":["NEEDY_KEY"]}],`+
		`"excluded_tools":[{"name":"skill.calc.add","reason":"`+pannier.ToolsDisabled+`"}]`)
	s.stops(t)
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	for enabled, want := range map[string]string{"false": "", "true": `: excluded_tools.skill.calc.add was [{"name":"skill.calc.add","reason":"` + pannier.ToolsDisabled + `"}], is null`} {
		need(t, os.WriteFile(settings, []byte("environment:\n  own: block\ntools:\n  enabled: "+enabled+"\n"), 0o600))
		out, code := runCommand(t, cleanEnviron(), "replay", "--workspace", w, "--config", settings, filepath.Join(state, testWorkspaceID, "journal"))
		if !strings.Contains(out, want) || want == "" && strings.Contains(out, "excluded_tools") {
			t.Errorf("tools.enabled: %s: exit code %d: %s", enabled, code, out)
		}
	}
}
