package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pannier"
	"pannier/publish/client"
)

// causes are what leads to each type of event, in an order in which each is possible.
var causes = []struct {
	kind  pannier.EventType
	cause func(context.Context, *sidecarUnderTest) error
}{
	{pannier.EventCatalogUpdated, nil}, // the start is enough
	{pannier.EventCardPushed, nil},
	{pannier.EventSkillLoaded, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Content(ctx, "pdf")
		return err
	}},
	{pannier.EventSkillFileRead, func(ctx context.Context, s *sidecarUnderTest) error {
		_, _, err := s.File(ctx, "pdf", "a.md")
		return err
	}},
	{pannier.EventSkillInvoked, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.RunCommand(ctx, "pdf", "a \"b\" <c>")
		return err
	}},
	{pannier.EventTurnResolved, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Resolve(ctx, pannier.Turn{Text: "/skill:pdf fill in"})
		return err
	}},
	{pannier.EventSkillOverride, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Resolve(ctx, pannier.Turn{Text: "/skill:chooser help"})
		return err
	}},
	{pannier.EventSkillScanned, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Scan(ctx, "pdf", "", pannier.ScanRequest{})
		return err
	}},
	{pannier.EventPolicyChanged, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.SetPolicy(ctx, "pdf", "", pannier.PolicyChange{Enabled: pannier.Toggle{Given: true, To: new(false)}})
		return err
	}},
	{pannier.EventSkillStateChanged, nil}, // with the policy
	{pannier.EventEnvironmentChanged, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.PutEnvironment(ctx, pannier.Environment{OS: "linux", Arch: "amd64", Bins: []string{"qpdf"}})
		return err
	}},
	{pannier.EventInstallAdded, func(ctx context.Context, s *sidecarUnderTest) error { return s.installs(ctx, "", "one") }},
	{pannier.EventInstallReplaced, func(ctx context.Context, s *sidecarUnderTest) error { return s.installs(ctx, "csv", "two") }},
	{pannier.EventInstallRolledBack, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Rollback(ctx, pannier.RemoveRequest{Slug: "csv"})
		return err
	}},
	{pannier.EventInstallRemoved, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Uninstall(ctx, pannier.RemoveRequest{Slug: "csv"})
		return err
	}},
	{pannier.EventSkillPromotion, func(ctx context.Context, s *sidecarUnderTest) error {
		_, err := s.Promote(ctx, json.RawMessage(`{"promote_to_skill": true, "repetition_signal": "five times this week"}`))
		return err
	}},
	{pannier.EventMCPSession, func(ctx context.Context, s *sidecarUnderTest) error {
		host := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
		session, err := host.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: "http://pannier/mcp", HTTPClient: socketClient(s.socket)}, nil)
		if err != nil {
			return err
		}
		return session.Close()
	}},
	{pannier.EventSkillToolCalled, func(ctx context.Context, s *sidecarUnderTest) error {
		if _, err := s.Scan(ctx, "proxy", "", pannier.ScanRequest{}); err != nil {
			return err
		}
		_, err := s.CallTool(ctx, "skill.proxy.read", pannier.ToolCall{})
		return err
	}},
	{pannier.EventSkillWarning, func(ctx context.Context, s *sidecarUnderTest) error {
		return os.WriteFile(filepath.Join(s.workspace, "skills", "pdf", "SKILL.md"), []byte("---\nname: [\n---\n"), 0o644)
	}},
	{pannier.EventWorkspaceChanged, func(ctx context.Context, s *sidecarUnderTest) error {
		return os.WriteFile(filepath.Join(s.workspace, "config.yaml"), []byte("name: Refused desk\nruntime: langgraph\n"), 0o644)
	}},
	{pannier.EventCardRejected, nil}, // of the card with that name
}

// proxySkill has a tool that stands for one of the agent, so that calls of it start no program.
const proxySkill = "mkdir -p skills/proxy; printf -- '---\\nname: proxy\\ndescription: Reads.\\nruntime: {tools: [{tool_slug: read, kind: function_proxy, config: {target_tool: read_file}}]}\\n---\\nDo it.\\n' > skills/proxy/SKILL.md\n"

// TestEventsAreTheSameEverywhere causes an event of each type, and compares what the event stream, the command, the journal,
// the log and the WebSocket tell of it.
func TestEventsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	w, state := workspaceWith(t, skillScript("pdf", "Reads it.")+"printf a > skills/pdf/a.md\n"+overridesSkill), t.TempDir()
	s := startSidecar(t, w, "--tools-enabled", "--policy-overrides", "suggest", "--platform-url", choosyPlatform(t), "--platform-token-file", tokenFile(t), "--platform-follow=off", "--state-dir", state, "--log-format", "json")
	told := versionsTold(t, s.socket)
	for _, c := range causes {
		if c.cause != nil {
			if err := c.cause(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", c.kind, err)
			}
		}
		eventually(t, string(c.kind), func() error { return s.has(t, c.kind) })
	}
	allCaused(t)
	events := s.envelopes(t)
	for i, e := range events {
		if e.Seq != uint64(i+1) || e.WorkspaceID != testWorkspaceID || e.Time.IsZero() || e.SnapshotVersion == 0 && e.Type != pannier.EventCardPushed {
			t.Errorf("envelope %+v", e)
		}
	}
	same(t, "the command", events, lines[pannier.Event](t, s.command(t, "events", "--json")))
	s.terminate(t)
	same(t, "the journal", events, journalOf(t, filepath.Join(state, testWorkspaceID)))
	logged(t, events, s.log.String())
	versions := map[uint64]bool{}
	for _, e := range events {
		if e.Type == pannier.EventCatalogUpdated {
			versions[e.SnapshotVersion] = true
		}
	}
	for _, version := range <-told {
		if !versions[version] {
			t.Errorf("skills/changed tells of %d, and no event does", version)
		}
	}
}

// TestSecretsInArguments gives a secret to a turn and to a command. The log never has arguments; events have them with secrets
// masked, and in full with turn_events: replay.
func TestSecretsInArguments(t *testing.T) {
	t.Parallel()
	secret := strings.Join([]string{"sk-ant", "api03", "q7Zp3Lk9Xw2Vb8Nc4Mt6Rj1Hd5Gs0FyAe"}, "-")
	for kept, text := range map[string]bool{"all": false, "replay": true} {
		w, state := workspaceWith(t, skillScript("seo", "Ranks pages.")), t.TempDir()
		s := startSidecar(t, w, "--state-dir", state, "--turn-events", kept, "--log-level", "trace")
		must(s.Resolve(t.Context(), pannier.Turn{Text: "/skill:seo canary token=" + secret}))(t)
		must(s.RunCommand(t.Context(), "seo", "canary use "+secret))(t)
		events := string(s.command(t, "events", "--json"))
		s.terminate(t)
		if n := strings.Count(events, `"args":"canary `); n != 2 || strings.Contains(events, secret) != text {
			t.Errorf("turn_events %s: %d arguments in the events\n%s", kept, n, events)
		}
		if log := s.log.String(); strings.Contains(log, secret) || strings.Contains(log, "canary") || !strings.Contains(log, "skill_invoked") {
			t.Errorf("turn_events %s: the log\n%s", kept, log)
		}
	}
}

// allCaused fails where there is a type without a cause.
func allCaused(t *testing.T) {
	t.Helper()
	for _, kind := range pannier.EventTypes() {
		caused := false
		for _, c := range causes {
			caused = caused || c.kind == kind
		}
		if !caused {
			t.Errorf("nothing here causes %s", kind)
		}
	}
}

// installs has the sidecar install the skill csv from an archive, or replace it.
func (s *sidecarUnderTest) installs(ctx context.Context, slug, body string) error {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	file, err := w.Create("csv/SKILL.md")
	if err != nil {
		return err
	}
	fmt.Fprintf(file, "---\nname: csv\ndescription: Reads tables.\n---\nVersion %s.\n", body)
	if err := w.Close(); err != nil {
		return err
	}
	_, err = s.Install(ctx, pannier.InstallRequest{Slug: slug}, pannier.InstallSource{Body: &archive, Name: "csv.zip", Format: pannier.Zip})
	return err
}

// has reports whether there is an event of a type.
func (s *sidecarUnderTest) has(t *testing.T, kind pannier.EventType) error {
	for _, e := range s.envelopes(t) {
		if e.Type == kind {
			return nil
		}
	}
	return fmt.Errorf("there is none")
}

// envelopes returns the events as the stream tells them.
func (s *sidecarUnderTest) envelopes(t *testing.T) (events []pannier.Event) {
	t.Helper()
	err := s.Events(t.Context(), client.EventQuery{}, func(e pannier.Event) error {
		events = append(events, e)
		return nil
	})
	need(t, err)
	return events
}

// command runs a command against the sidecar and returns what it prints.
func (s *sidecarUnderTest) command(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := command(append(args, "--socket", s.socket, "--workspace", s.workspace)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pannier %v: %v", args, err)
	}
	return out
}

// choosyPlatform takes every card but one with a certain name.
func choosyPlatform(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Card json.RawMessage `json:"agent_card"`
		}
		if json.NewDecoder(r.Body).Decode(&sent) == nil && strings.Contains(string(sent.Card), "Refused desk") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		fmt.Fprint(w, `{"status":"updated"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// versionsTold collects what skills/changed tells until the connection ends.
func versionsTold(t *testing.T, socket string) <-chan []uint64 {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://pannier/v1/rpc", &websocket.DialOptions{HTTPClient: &http.Client{Transport: overSocket(socket)}})
	need(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	told := make(chan []uint64, 1)
	go func() {
		var versions []uint64
		for {
			_, text, err := conn.Read(context.Background())
			if err != nil {
				told <- versions
				return
			}
			var n struct {
				Params struct {
					WorkspaceID     string `json:"workspace_id"`
					SnapshotVersion uint64 `json:"snapshot_version"`
				}
			}
			if json.Unmarshal(text, &n) == nil && n.Params.WorkspaceID == testWorkspaceID {
				versions = append(versions, n.Params.SnapshotVersion)
			}
		}
	}()
	return told
}

// lines reads JSON values.
func lines[T any](t *testing.T, text []byte) (values []T) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		var value T
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		values = append(values, value)
	}
	return values
}

func journalOf(t *testing.T, dir string) (events []pannier.Event) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "journal", "*.jsonl"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no journal in %s, %v", dir, err)
	}
	for _, segment := range segments {
		text := must(os.ReadFile(segment))(t)
		events = append(events, lines[pannier.Event](t, text)...)
	}
	return events
}

// same compares events with those of another surface, which may have later ones.
func same(t *testing.T, surface string, events, others []pannier.Event) {
	t.Helper()
	if len(others) < len(events) {
		t.Fatalf("%s has %d of %d events", surface, len(others), len(events))
	}
	for i := range events {
		if got, want := wireValue(t, others[i]), wireValue(t, events[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", surface, got, want)
		}
	}
}

// wireValue returns a value as it is on the wire.
func wireValue(t *testing.T, value any) (wire any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &wire)
	}
	need(t, err)
	return wire
}

// logged looks for each event in the log, with its number, its version and what its data says; an object there is a text.
func logged(t *testing.T, events []pannier.Event, log string) {
	t.Helper()
	told := map[float64]map[string]any{}
	for line := range strings.Lines(log) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["@module"] == "pannier.event" {
			told[entry["seq"].(float64)] = entry
		}
	}
	for _, e := range events {
		entry := told[float64(e.Seq)]
		if entry["@message"] != string(e.Type) || entry["snapshot_version"] != float64(e.SnapshotVersion) {
			t.Errorf("the log has %v of event %d, %s", entry, e.Seq, e.Type)
		}
		for name, want := range wireValue(t, e.Data).(map[string]any) {
			got := entry[name]
			if e.Type == pannier.EventSkillInvoked && name == "args" { // which the log never has
				want = nil
			}
			if text, ok := got.(string); ok && want != nil && reflect.TypeOf(want).Kind() == reflect.Map {
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Errorf("%s of event %d: %v", name, e.Seq, err)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s of event %d, %s, is %v in the log, want %v", name, e.Seq, e.Type, got, want)
			}
		}
	}
}
